//! Talking to a machine, with a shell script in its place: what counts as an end, and what is said about a bad one.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use zeronull_image::error::{Error, STATUS_NO_VERDICT, STATUS_TIME_OUT};
use zeronull_image::session::{PROMPT, Session};
use zeronull_image::start::Initrd;

const LIMIT: Duration = Duration::from_secs(20);

fn machine(script: &str) -> Session {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let initrd = Initrd::kept(PathBuf::from("/dev/null"));
    Session::start(command, "the script".into(), initrd).expect("every system has a shell")
}

#[track_caller]
fn assert_error(error: &Error, status: u8, parts: &[&str]) {
    assert_eq!(error.status, status, "{error}");
    for part in parts {
        assert!(error.message.contains(part), "no {part:?} in: {error}");
    }
}

#[test]
fn end_with_the_verdict_gives_status_and_text() {
    let script = r"printf 'hello\r\nzeronull: done, status 42\r\n'; exit 9";
    let transcript = machine(script).finish(LIMIT).expect("a verdict");
    assert_eq!(transcript.status, 42);
    assert_eq!(transcript.console, "hello\nzeronull: done, status 42\n");
    assert_eq!(transcript.raw, b"hello\r\nzeronull: done, status 42\r\n");
    assert_eq!(transcript.lines().next(), Some("hello"));
}

#[test]
fn end_without_the_verdict_shows_both_streams() {
    let script = "echo some output; echo cannot do that >&2; exit 3";
    let error = machine(script).finish(LIMIT).expect_err("no verdict");
    let parts = [
        "the script ended without the last line `zeronull: done, status N`",
        "exit status: 3",
    ];
    assert_error(&error, STATUS_NO_VERDICT, &parts);
    assert_error(
        &error,
        STATUS_NO_VERDICT,
        &["says:\ncannot do that", "ends with:\n  some output"],
    );
}

#[test]
fn output_after_the_verdict_voids_it() {
    let error = machine("echo zeronull: done, status 0; echo more")
        .finish(LIMIT)
        .expect_err("no last line");
    assert_error(&error, STATUS_NO_VERDICT, &["  zeronull: done, status 0\n  more"]);
}

#[test]
fn hanging_machine_is_ended_at_its_limit_and_shows_its_last_lines() {
    let script = "i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done; exec sleep 100";
    let started = Instant::now();
    let error = machine(script).finish(Duration::from_secs(1)).expect_err("it hangs");
    assert!(started.elapsed() < LIMIT);
    assert_error(
        &error,
        STATUS_TIME_OUT,
        &["the script did not end within 1 s", "  line 75\n", "  line 99"],
    );
    assert!(!error.message.contains("line 74\n"), "more than the tail: {error}");
}

#[test]
fn machine_that_stays_on_after_its_verdict_is_a_time_out() {
    let error = machine("echo zeronull: done, status 0; exec sleep 100")
        .finish(LIMIT)
        .expect_err("it stays on");
    assert_error(
        &error,
        STATUS_TIME_OUT,
        &["did not power off within 5 s of its verdict"],
    );
}

#[test]
fn machine_at_its_prompt_is_not_waited_for_to_the_limit() {
    let started = Instant::now();
    let error = machine(&format!("printf '{PROMPT}'; exec sleep 100"))
        .finish(LIMIT)
        .expect_err("it waits");
    assert!(started.elapsed() < LIMIT);
    assert_error(&error, STATUS_TIME_OUT, &["waits at its prompt"]);
}

#[test]
fn silent_machine_is_reported_as_such() {
    let error = machine("exec sleep 100")
        .finish(Duration::from_secs(1))
        .expect_err("it is silent");
    assert_error(&error, STATUS_TIME_OUT, &["did not end within 1 s", "(no output)"]);
}

#[test]
fn commands_give_their_output_without_echo_and_prompt() {
    let shell = format!(
        r#"stdbuf -o0 tr '\r' '\n' | while printf '{PROMPT}' && read -r line; do
               printf '%s\r\n' "$line"
               [ "$line" != poweroff ] || break
               printf 'output of %s\r\n' "$line"
           done; echo zeronull: done, status 0"#
    );
    let mut session = machine(&shell);
    session.expect(PROMPT, LIMIT).expect("the first prompt");
    assert_eq!(session.command("one", LIMIT), Ok("output of one\n".into()));
    assert_eq!(session.command("two", LIMIT), Ok("output of two\n".into()));
    session.send("poweroff\r").expect("it listens");
    assert_eq!(session.finish(LIMIT).expect("a verdict").status, 0);
}

#[test]
fn text_that_does_not_come_is_named() {
    let error = machine("echo other; exec sleep 100").expect("wanted", Duration::from_millis(300));
    let parts = ["did not send \"wanted\" within 0.3 s", "  other"];
    assert_error(&error.expect_err("it never comes"), STATUS_TIME_OUT, &parts);

    let error = machine("echo other")
        .expect("wanted", LIMIT)
        .expect_err("it never comes");
    assert_error(
        &error,
        STATUS_NO_VERDICT,
        &["ended without sending \"wanted\" (exit status: 0)", "  other"],
    );
}

#[test]
fn text_split_over_several_writes_is_found_once() {
    let mut session = machine("printf ab; sleep 0.2; printf 'cab'; sleep 0.2; printf c; exec sleep 100");
    assert_eq!(session.expect("abc", LIMIT), Ok("abc".into()));
    assert_eq!(session.expect("abc", LIMIT), Ok("abc".into()));
    assert!(session.expect("abc", Duration::from_millis(100)).is_err());
}

#[test]
fn dropped_session_ends_its_machine() {
    let mut session = machine("echo pid $$; exec sleep 100");
    session.expect("pid ", LIMIT).expect("a number follows");
    let pid = session.expect("\n", LIMIT).expect("a number").trim().to_owned();
    let is_running = || std::path::Path::new("/proc").join(&pid).exists();
    assert!(is_running());
    drop(session);
    assert!(!is_running());
}

#[test]
fn machine_that_cannot_be_started_is_named() {
    let command = Command::new("/nonexistent/program");
    let initrd = Initrd::kept(PathBuf::from("/dev/null"));
    let error = Session::start(command, "the board".into(), initrd).expect_err("no such program");
    assert_eq!(
        error.message,
        "cannot start the board: No such file or directory (os error 2)"
    );
}
