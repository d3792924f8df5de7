//! The truth suite: what coz-rs predicts for a line against what really shortening it gains.
//!
//! Each program has a knob a marked line. The truth for a virtual speedup s is the same binary run
//! with the line's work at (1 − s), compared by interleaved pairs; the prediction comes from the
//! unshortened run.

pub mod catalogue;
pub mod latency;
pub mod machine;
pub mod measure;
pub mod predict;
pub mod report;
pub mod suite;
