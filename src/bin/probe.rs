//! `probe`: does what programs must not do, to see that they are stopped. See `zeronull::user::probe`.
#![cfg_attr(target_os = "none", no_std, no_main)]

zeronull::user_program!(zeronull::user::probe::main);
