//! The profiler of coz-rs.
