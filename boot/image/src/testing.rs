//! What integration tests share: the list of machines, the programs they compare with, and the form of a skipped case.

use std::path::PathBuf;
use std::process::Command;

use crate::machine::{Machine, Qemu, Simulator};
use crate::workspace;

/// The machines on which every test of a running firmware is done.
pub fn machines() -> Vec<Box<dyn Machine>> {
    vec![Box::new(Qemu::default()), Box::new(Simulator::default())]
}

/// The same machines, each with a clock that follows its instructions and not the host: times repeat, however busy the
/// host is.
pub fn machines_with_exact_clocks() -> Vec<Box<dyn Machine>> {
    vec![
        Box::new(Qemu {
            icount: Some(0),
            ..Qemu::default()
        }),
        Box::new(Simulator::default()),
    ]
}

/// Says that a case is not checked. `tests/run` prints these lines and counts the test as skipped, not as passed.
pub fn skipped(case: &str, reason: &str) {
    println!("skipped: {case}: {reason}");
}

/// A program from the distribution.
///
/// # Panics
/// It is not in `PATH`: a test that compares with it must not pass without it.
pub fn program(name: &str) -> Command {
    let path = workspace::find_program(name);
    Command::new(path.unwrap_or_else(|| panic!("{name} not found in PATH: ./tests/run installs what the tests need")))
}

/// Runs a program that must succeed; gives its standard output.
///
/// # Panics
/// It cannot be run or fails.
pub fn output(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|cause| panic!("cannot run {command:?}: {cause}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?} failed ({}): {said}",
        output.status
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// An empty directory below `target` for the files of one test.
///
/// # Panics
/// It cannot be made.
pub fn empty_directory(test: &str) -> PathBuf {
    let directory = workspace::root().join("target").join("tests").join(test);
    if directory.exists() {
        std::fs::remove_dir_all(&directory).unwrap_or_else(|cause| panic!("cannot empty {directory:?}: {cause}"));
    }
    std::fs::create_dir_all(&directory).unwrap_or_else(|cause| panic!("cannot create {directory:?}: {cause}"));
    directory
}
