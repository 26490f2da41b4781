//! The program as its users see it: command line, console, exit status, reports.

mod debugger;
mod faults;
mod guest;
mod reports;
mod runs;
mod scripts;
mod usage;
