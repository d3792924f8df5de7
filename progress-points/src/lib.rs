//! Progress points: the marks that tell coz-rs what "faster" means.
//!
//! A causal profile says how much faster a program would get if one of its lines got faster. For
//! that the profiler must see the program's progress. Mark it in one of two ways:
//!
//! - **throughput**: [`progress!`] where a unit of work is done (a request answered, a block
//!   written). The profile then says how the rate of visits would change.
//! - **latency**: [`begin!`] where a unit of work arrives and [`end!`] where it leaves, or
//!   [`scope!`] if that is one scope. The profile then says how the time between would change.
//!
//! ```
//! fn answer(request: u32) -> u32 {
//!     progress_points::scope!("request");
//!     request + 1
//! }
//!
//! for request in 0..3 {
//!     answer(request);
//!     progress_points::progress!("answered");
//! }
//! ```
//!
//! Points with one name and kind are one counter, wherever they stand. Without the profiler a
//! visit is one relaxed load and one branch that always goes the same way; under it one relaxed
//! atomic add. The first visit of each place looks the profiler up, and may be made by several
//! threads at once. Do not make a first visit in a signal handler: it calls `dlsym`.
//!
//! The points also count under Coz, whose interface this is. On systems other than Linux they do
//! nothing.
#![no_std]
#![deny(unsafe_code)]

mod abi;
mod macros;
mod name;
mod point;

pub use name::terminated;
pub use point::{Point, Scope};
