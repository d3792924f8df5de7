//! The profiler of coz-rs.

pub mod symbols;
