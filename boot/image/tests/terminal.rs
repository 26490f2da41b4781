//! The program on a terminal, which `script` provides.

use std::path::PathBuf;
use std::time::Duration;

use zeronull_image::session::{PROMPT, Session};
use zeronull_image::start::Initrd;
use zeronull_image::testing::program;

const LIMIT: Duration = Duration::from_secs(10);
/// For building the image and for the default benchmark.
const BENCHMARK_LIMIT: Duration = Duration::from_secs(300);

#[test]
fn terminal_gets_the_benchmark_then_the_prompt_and_its_settings_back() {
    let tool = env!("CARGO_BIN_EXE_zeronull-image");
    let commands = format!("echo before $(stty -g); '{tool}' qemu; echo ended $?; echo after $(stty -g)");
    let mut script = program("script");
    script.args(["--quiet", "--flush", "--command", &commands, "/dev/null"]);
    let initrd = Initrd::kept(PathBuf::from("/dev/null"));
    let mut session = Session::start(script, "the terminal".into(), initrd).expect("script runs");
    let mut after = |text: &str, limit| {
        session.expect(text, limit).unwrap_or_else(|error| panic!("{error}"));
        session
            .expect("\n", limit)
            .unwrap_or_else(|error| panic!("{error}"))
            .trim()
            .to_owned()
    };

    let before = after("before ", LIMIT);
    let records = after("1048576+0 records out", BENCHMARK_LIMIT);
    assert_eq!(records, "");
    assert!(after("real", LIMIT).starts_with("0m "));
    session.expect(PROMPT, LIMIT).expect("the prompt");
    let help = session.command("help", LIMIT).unwrap_or_else(|error| panic!("{error}"));
    assert!(help.contains("poweroff"), "{help}");
    // ^C must reach the firmware and end neither QEMU nor the program around it.
    session.send("abc\x03").expect("it listens");
    session.expect(PROMPT, LIMIT).expect("a new prompt after ^C");
    session.send("poweroff 5\r").expect("it listens");
    let mut after = |text: &str| {
        session.expect(text, LIMIT).unwrap_or_else(|error| panic!("{error}"));
        session
            .expect("\n", LIMIT)
            .unwrap_or_else(|error| panic!("{error}"))
            .trim()
            .to_owned()
    };
    assert_eq!(after("ended "), "5");
    assert_eq!(after("after "), before, "the terminal's settings changed");
}
