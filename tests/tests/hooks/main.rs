//! The interposed functions, one by one, with the real runtime in small programs.
//!
//! A controller of the test's own puts a window in force and looks on; what the program sees of its
//! ledger it prints. No sampler runs, so nothing depends on time but that a pause is as long as it
//! is owed.

mod cancellation;
mod copies;
mod exceptions;
mod no_panic;
mod openmp;
mod stage;
mod table;
mod wakes;
