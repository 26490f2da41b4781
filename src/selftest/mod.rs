//! Tests on the target, printed as KTAP.
#![deny(unsafe_code)]

mod mc;
mod protection;
mod sandbox;
mod uaccess;

pub use mc::{STORM, storm};

use crate::println;
use alloc::string::String;

/// How a test ended.
enum Outcome {
    /// With what it did, for the curious.
    Pass(String),
    /// What was wrong.
    Fail(String),
}

/// One test.
struct Test {
    suite: &'static str,
    name: &'static str,
    run: fn() -> Result<String, String>,
}

fn tests() -> impl Iterator<Item = &'static Test> {
    uaccess::TESTS.iter().chain(protection::TESTS).chain(mc::TESTS)
}

/// Runs the tests of a suite, or all; returns 0 if all passed, 1 if one failed, 2 for a suite that does not exist.
pub fn run(suite: Option<&str>) -> i32 {
    let chosen = || tests().filter(|test| suite.is_none_or(|suite| suite == test.suite));
    let count = chosen().count();
    if count == 0 {
        println!(
            "selftest: suite {} does not exist: accepted are uaccess, protection, mc",
            suite.unwrap_or("")
        );
        return 2;
    }
    println!("KTAP version 1");
    println!("1..{count}");
    let mut failed = 0;
    for (number, test) in (1..).zip(chosen()) {
        let outcome = match (test.run)() {
            Ok(text) => Outcome::Pass(text),
            Err(text) => Outcome::Fail(text),
        };
        match outcome {
            Outcome::Pass(text) => println!("ok {number} - {}: {} # {text}", test.suite, test.name),
            Outcome::Fail(text) => {
                failed += 1;
                println!("not ok {number} - {}: {} # {text}", test.suite, test.name);
            }
        }
    }
    println!("# pass:{} fail:{failed} skip:0 total:{count}", count - failed);
    i32::from(failed > 0)
}

/// Ends a test with a message unless the condition holds.
#[macro_export]
macro_rules! check {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(alloc::format!($($message)*));
        }
    };
}
