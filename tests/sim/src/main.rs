//! The program around the simulator.
fn main() {}
