//! The `selftest` command: all suites, in KTAP.

use super::{Test, UACCESS, mc};
use crate::json::Quoted;
use crate::lkdtm::{self, Provocation};
use crate::uaccess::operations::Operations;
use crate::{println, syscall};
use alloc::string::String;
use alloc::vec::Vec;

/// What the machine must stop.
const PROTECTION: &str = "protection";

/// One line of the plan.
enum Item {
    Test(&'static Test),
    Provocation(&'static Provocation),
}

impl Item {
    fn suite(&self) -> &'static str {
        match self {
            Self::Test(test) => test.suite,
            Self::Provocation(_) => PROTECTION,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Test(test) => test.name,
            Self::Provocation(provocation) => provocation.name,
        }
    }

    fn excuse(&self, operations: &Operations) -> Option<&'static str> {
        match self {
            Self::Test(test) => test.excuse(operations),
            Self::Provocation(provocation) => provocation.excuse(),
        }
    }

    fn run(&self, operations: &Operations) -> Result<String, String> {
        match self {
            Self::Test(test) => (test.run)(operations),
            Self::Provocation(provocation) => (provocation.run)(),
        }
    }
}

/// The user-access core, machine checks, then what the machine must stop.
fn items() -> impl Iterator<Item = Item> {
    let tests = UACCESS.into_iter().flatten().chain(mc::TESTS).map(Item::Test);
    tests.chain(lkdtm::PROVOCATIONS.iter().map(Item::Provocation))
}

/// Runs the tests of a suite, or all, under the preset in force; returns 0 if all passed, 1 if one failed, 2 for a suite
/// that does not exist.
pub fn run(suite: Option<&str>, json: bool) -> i32 {
    let chosen = || items().filter(|item| suite.is_none_or(|suite| suite == item.suite()));
    let count = chosen().count();
    if let Some(name) = suite.filter(|_| count == 0) {
        let mut suites: Vec<&str> = items().map(|item| item.suite()).collect();
        suites.dedup();
        println!(
            "selftest: suite {name} does not exist: accepted are {}",
            suites.join(", ")
        );
        return 2;
    }
    let operations = syscall::chosen().machinery.user_access;
    if !json {
        println!("KTAP version 1");
        println!("1..{count}");
    }
    let (mut failed, mut skipped) = (0, 0);
    for (number, item) in (1..).zip(chosen()) {
        let (result, mark, text) = match item.excuse(operations) {
            Some(reason) => ("skip", "ok", alloc::format!("SKIP {reason}")),
            None => match item.run(operations) {
                Ok(text) => ("pass", "ok", text),
                Err(text) => ("fail", "not ok", text),
            },
        };
        failed += u32::from(result == "fail");
        skipped += u32::from(result == "skip");
        let (suite, name) = (item.suite(), item.name());
        if json {
            println!(
                "{{\"suite\":\"{suite}\",\"test\":{},\"result\":\"{result}\",\"text\":{}}}",
                Quoted(name),
                Quoted(&text)
            );
        } else {
            println!("{mark} {number} - {suite}: {name} # {text}");
        }
    }
    let passed = count as u32 - failed - skipped;
    if json {
        let preset = syscall::chosen().name;
        println!(
            "{{\"preset\":\"{preset}\",\"pass\":{passed},\"fail\":{failed},\"skip\":{skipped},\"total\":{count}}}"
        );
    } else {
        println!("# pass:{passed} fail:{failed} skip:{skipped} total:{count}");
    }
    i32::from(failed > 0)
}
