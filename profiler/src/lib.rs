//! The profiler of coz-rs: what the command `coz-rs` is made of.

pub mod launch;
pub mod symbols;
pub mod targets;
