//! `iops`: reads blocks and says how many a second. See [`zeronull::user::iops`].
#![cfg_attr(target_os = "none", no_std, no_main)]

zeronull::user_program!(zeronull::user::iops::main);
