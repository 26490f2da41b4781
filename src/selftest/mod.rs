//! Tests on the target, printed as KTAP.
#![deny(unsafe_code)]

mod mc;
pub mod sandbox;
mod uaccess;

pub use mc::{STORM, storm};

use crate::lkdtm;
use crate::println;
use alloc::string::String;

/// How a test ended.
enum Outcome {
    /// With what it did, for the curious.
    Pass(String),
    /// What was wrong.
    Fail(String),
    /// Why it was not done.
    Skip(&'static str),
}

/// One test.
#[derive(Clone, Copy)]
struct Test {
    suite: &'static str,
    name: &'static str,
    run: fn() -> Result<String, String>,
}

impl Test {
    fn outcome(&self) -> Outcome {
        match (self.run)() {
            Ok(text) => Outcome::Pass(text),
            Err(text) => Outcome::Fail(text),
        }
    }
}

/// The tests of the user-access core, then what the machine must stop; those with a reason are not done.
fn tests() -> impl Iterator<Item = (Test, Option<&'static str>)> {
    let protection = lkdtm::PROVOCATIONS.iter().map(|provocation| {
        let test = Test {
            suite: "protection",
            name: provocation.name,
            run: provocation.run,
        };
        (test, provocation.excuse())
    });
    let plain = uaccess::TESTS.iter().chain(mc::TESTS).map(|test| (*test, None));
    plain.chain(protection)
}

/// Runs the tests of a suite, or all; returns 0 if all passed, 1 if one failed, 2 for a suite that does not exist.
pub fn run(suite: Option<&str>) -> i32 {
    let chosen = || tests().filter(|(test, _)| suite.is_none_or(|suite| suite == test.suite));
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
    let (mut failed, mut skipped) = (0, 0);
    for (number, (test, reason)) in (1..).zip(chosen()) {
        let Test { suite, name, .. } = test;
        match reason.map_or_else(|| test.outcome(), Outcome::Skip) {
            Outcome::Pass(text) => println!("ok {number} - {suite}: {name} # {text}"),
            Outcome::Fail(text) => {
                failed += 1;
                println!("not ok {number} - {suite}: {name} # {text}");
            }
            Outcome::Skip(reason) => {
                skipped += 1;
                println!("ok {number} - {suite}: {name} # SKIP {reason}");
            }
        }
    }
    let passed = count - failed - skipped;
    println!("# pass:{passed} fail:{failed} skip:{skipped} total:{count}");
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
