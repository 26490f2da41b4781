//! Tests on the target, printed as KTAP. They run under the preset in force, through its table of operations.
//!
//! All but those that need real hardware run on the host too, over the fake family and under every combination of
//! policies.
#![deny(unsafe_code)]

mod acc;
mod cpy;
mod dcb;
mod exc;
mod grid;
#[cfg(target_os = "none")]
mod mc;
pub mod sandbox;
#[cfg(target_os = "none")]
mod suites;
mod text;

#[cfg(target_os = "none")]
pub use mc::{STORM, storm};
#[cfg(target_os = "none")]
pub use suites::run;

use crate::arch::window;
use crate::check;
use crate::uaccess::operations::Operations;
use alloc::string::String;

/// What a test did, or what was wrong.
type Report = Result<String, String>;

/// What a test cannot do without.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Nothing special.
    Nothing,
    /// An address limit that `set_fs` changes.
    SetFs,
    /// A window that is closed between operations.
    Window,
}

/// One test.
#[derive(Clone, Copy)]
struct Test {
    suite: &'static str,
    name: &'static str,
    needs: Needs,
    run: fn(&Operations) -> Report,
}

impl Test {
    const fn new(suite: &'static str, name: &'static str, run: fn(&Operations) -> Report) -> Self {
        Self {
            suite,
            name,
            needs: Needs::Nothing,
            run,
        }
    }

    const fn needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    /// Why it cannot be done under these operations.
    fn excuse(&self, operations: &Operations) -> Option<&'static str> {
        match self.needs {
            Needs::SetFs if !operations.has_set_fs => Some("the preset has no address limit"),
            Needs::Window if !(operations.has_window)() => Some("the preset has no window"),
            _ => None,
        }
    }
}

/// The suites of the user-access core.
const UACCESS: [&[Test]; 6] = [acc::TESTS, cpy::TESTS, dcb::TESTS, text::TESTS, exc::TESTS, grid::TESTS];

/// Every how manieth case of a large grid is done: all on the target; on the host, whose fake memory is slow, fewer.
const STEP: usize = if cfg!(target_os = "none") { 1 } else { 7 };

/// Fails unless the window is as it must be between two operations.
fn settled(operations: &Operations) -> Result<(), String> {
    check!(!(operations.has_window)() || !window::is_open(), "the window is open");
    Ok(())
}

/// The text of a failed check, off the path of those that hold.
#[cold]
#[inline(never)]
pub fn failure(message: core::fmt::Arguments<'_>) -> String {
    alloc::fmt::format(message)
}

/// Bytes that count up from `first`.
fn counting(first: u32, target: &mut [u8]) {
    for (value, byte) in (first..).zip(target) {
        *byte = value as u8;
    }
}

/// Ends a test with a message unless the condition holds.
#[macro_export]
macro_rules! check {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err($crate::selftest::failure(format_args!($($message)*)));
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{
        Access, Bytes, Check32, Check64, Counted, Dcbz, Kuap, NoKuap, NoSetFs, SetFs, Uncounted, Words,
    };
    use crate::uaccess::limit::{self, USER_DS};
    use crate::uaccess::operations::of;
    use std::println;

    macro_rules! every_policy {
        ($($limit:ident $check:ident $window:ident $clear:ident $count:ident;)*) => {
            [$(of::<Access<$limit, $check, $window, $clear, $count>>()),*]
        };
    }

    #[test]
    fn suites_pass_over_the_fake_family_under_every_combination_of_policies() {
        let policies = every_policy! {
            NoSetFs Check32 Kuap Dcbz Uncounted; NoSetFs Check32 Kuap Words Counted; NoSetFs Check32 Kuap Bytes Uncounted;
            NoSetFs Check32 NoKuap Dcbz Counted; NoSetFs Check64 Kuap Dcbz Uncounted; NoSetFs Check64 NoKuap Words Counted;
            SetFs Check32 Kuap Dcbz Uncounted; SetFs Check32 NoKuap Bytes Counted;
            SetFs Check64 Kuap Words Uncounted; SetFs Check64 NoKuap Dcbz Counted;
        };
        for operations in policies {
            let mut done = 0;
            for test in UACCESS.into_iter().flatten() {
                if test.excuse(operations).is_some() {
                    continue;
                }
                let result = (test.run)(operations);
                let name = (operations.axes.join(" "), test.suite, test.name);
                println!("{name:?}: {result:?}");
                assert!(result.is_ok(), "{name:?}: {result:?}");
                assert_eq!(settled(operations), Ok(()), "{name:?}");
                assert_eq!(limit::get_fs(), USER_DS, "{name:?}");
                done += 1;
            }
            assert!(done >= 20, "{done} tests under {:?}", operations.axes);
        }
    }
}
