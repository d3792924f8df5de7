//! Where the shared region is, and the switch that every hook looks at.

use core::sync::atomic::{
    AtomicPtr, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use crate::layout::{Counter, Region};

static REGION: AtomicPtr<Region> = AtomicPtr::new(core::ptr::null_mut());

/// What a progress point counts into when there is no controller or no free counter.
pub static SPARE_COUNTER: Counter = crate::layout::SPARE_COUNTER;

/// The region, once mapped.
#[inline(always)]
pub fn region() -> Option<&'static Region> {
    // Acquire: partner of the Release in `set_region`, so that the mapping is seen before its use.
    let region = REGION.load(Acquire);
    // SAFETY: set once to a mapping of the right size that is never unmapped (a fork child maps
    // fresh memory over the same addresses).
    unsafe { region.as_ref() }
}

/// The region if hooks must keep the ledger now.
#[inline(always)]
pub fn active() -> Option<&'static Region> {
    region().filter(|region| region.header.active.load(Relaxed) != 0)
}

/// Publishes the mapping.
pub fn set_region(region: *mut Region) {
    REGION.store(region, Release);
}

/// Turns profiling off for good and notes why.
///
/// # Signal safety
/// Atomic stores only.
pub fn turn_off(why: u32) {
    if let Some(region) = region() {
        let header = &region.header;
        let first: &AtomicU32 = &header.fault;
        let _ = first.compare_exchange(0, why, Relaxed, Relaxed);
        header.faults.fetch_add(1, Relaxed);
        header.active.store(0, Relaxed);
        header.off.store(1, Relaxed);
    }
}
