//! What the tests share: finding and building programs, running them with and without the
//! profiler, and the truth suite.

pub mod build;
pub mod run;
pub mod stories;
pub mod truth;
