//! `moves`: copies by read, readv, sendfile or splice and measures it. See `zeronull::user::moves`.
#![cfg_attr(target_os = "none", no_std, no_main)]

zeronull::user_program!(zeronull::user::moves::main);
