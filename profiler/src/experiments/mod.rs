//! Performance experiments: what to try next, and how a window is measured.
//!
//! Everything here is logic on observations; who makes them is elsewhere, so that tests can.

pub mod choice;
pub mod in_flight;
pub mod observation;
pub mod pacing;
pub mod window;
