//! Dialogues from a file.

use crate::guest::{Run, directory, go};

fn play(name: &str, script: &str, options: &[&str]) -> Run {
    let path = directory(&format!("script-{name}")).join("script");
    std::fs::write(&path, script).expect("the script can be written");
    let mut arguments = vec![
        "--script",
        path.to_str().expect("the path is UTF-8"),
        "--max-seconds",
        "100",
    ];
    arguments.extend(options);
    go("e", &arguments)
}

#[test]
fn dialogue_passes_and_the_guest_says_the_status() {
    let script = "# talks\nexpect \"> \"\nsend \"ab\"\nexpect \"ab\"\nwait 0.5\nbreak\nexpect \"B\"\nsend \"q\"\n";
    let run = play("good", script, &[]).ends_with(3);
    assert_eq!(run.stdout, "> abB\nzeronull: done, status 3\n");
    assert_eq!(
        play("finish", "expect \"> \"\nsend \"q\"\nfinish 1\n", &[])
            .ends_with(3)
            .status,
        3
    );
}

#[test]
fn script_that_has_passed_ends_a_guest_that_goes_on() {
    play("passed", "expect \"> \"\nsend \"ab\"\nexpect \"ab\"\n", &[]).ends_with(0);
}

#[test]
fn expectation_that_fails_shows_line_and_console() {
    let run = play("late", "expect \"> \"\nsend \"abc\"\nexpect \"abd\" 0.25\n", &[]).ends_with(1);
    assert!(
        run.stderr
            .contains("line 3: \"abd\" did not come within 0.25 s; the console ends with:\n  > abc"),
        "{}",
        run.stderr
    );
    let run = play("ended", "expect \"> \"\nsend \"q\"\nexpect \"more\"\n", &[]).ends_with(1);
    assert!(
        run.stderr.contains("line 3: the guest ended (endless halt"),
        "{}",
        run.stderr
    );
    let run = play("wrong", "expect \"> \"\nhope\n", &[]).ends_with(1);
    assert!(run.stderr.contains("line 2: `hope`"), "{}", run.stderr);
}

#[test]
fn dialogue_repeats_to_the_clock() {
    let script = "expect \"> \"\ngarbage 40\nwait 0.1\nsend \"q\"\n";
    let first = play("noise", script, &["--json"]);
    let second = play("noise-again", script, &["--json"]);
    assert_eq!((first.stdout, first.stderr), (second.stdout, second.stderr));
}
