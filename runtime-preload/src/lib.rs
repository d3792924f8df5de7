//! The runtime of coz-rs.
//!
//! Built with `--cfg coz_rs_preload` as a cdylib this is the library preloaded into the profiled
//! program; built plainly it is the shared-memory layout and the pure parts, for the controller
//! and for tests. It exports no hook unless built as the preload.
#![no_std]

#[cfg(test)]
extern crate std;

pub mod crowding;
pub mod delay_ledger;
pub mod dense_hooks;
pub mod displaced;
pub mod foresight;
pub mod handshake;
pub mod hit_share;
pub mod hit_test;
pub mod layout;
pub mod pause_bound;
#[cfg(coz_rs_preload)]
mod preload;
pub mod segment;
pub mod stack_walk;
pub mod unwind_row;

/// Where this package's manifest is, so that the controller's build script can build the preload.
pub const MANIFEST_DIR: &str = env!("CARGO_MANIFEST_DIR");
