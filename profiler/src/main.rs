//! The command `coz-rs`.
fn main() {}
