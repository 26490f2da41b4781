//! Builds, packs, runs and compares zeronull images.
fn main() {}
