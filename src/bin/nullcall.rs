//! `nullcall`: times the smallest system call. See [`zeronull::user::nullcall`].
#![cfg_attr(target_os = "none", no_std, no_main)]

zeronull::user_program!(zeronull::user::nullcall::main);
