//! A discrete-event simulation of programs under the profiler: threads, locks, queues, barriers and
//! processors are simulated; the ledger, the smoothing of hits, windows, choices and estimates are
//! the real code.
//!
//! The truth of a simulated program is known as well as one likes, so the simulator says how often
//! intervals hold it, and how soon the right line is named, in much less time than real programs
//! need. It does not say what real machines do: for that there is the truth suite.

pub mod coverage;
pub mod coz_scheme;
pub mod engine;
pub mod ledger;
pub mod program;
pub mod race;
pub mod session;
pub mod steady;
pub mod truth;
