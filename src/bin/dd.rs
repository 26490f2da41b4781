//! `dd`: copies blocks and reports how fast. See [`zeronull::user::dd`].
#![cfg_attr(target_os = "none", no_std, no_main)]

zeronull::user_program!(zeronull::user::dd::main);
