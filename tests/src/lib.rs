//! What the tests share: finding and building programs, running them with and without the
//! profiler, the truth suite, and the simulator.

pub mod build;
pub mod evidence;
pub mod hostile;
pub mod random;
pub mod run;
pub mod simulation;
pub mod stories;
pub mod survival;
pub mod truth;
