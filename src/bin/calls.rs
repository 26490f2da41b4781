//! `calls`: makes thousands of system calls and prints their results. See `zeronull::user::calls`.
#![cfg_attr(target_os = "none", no_std, no_main)]

zeronull::user_program!(zeronull::user::calls::main);
