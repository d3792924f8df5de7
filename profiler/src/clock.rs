//! `CLOCK_MONOTONIC`, the clock that the target's ledger and deadlines use.

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds now.
#[must_use]
pub fn now() -> u64 {
    // Fails for no clock that Linux always has.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| {
        time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned()
    })
}
