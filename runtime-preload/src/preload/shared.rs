//! Where the shared region is, and the switch that every hook looks at.

use core::sync::atomic::{
    AtomicPtr, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use crate::layout::{Counter, Region};

/// The switch of a process without a region.
static NEVER: AtomicU32 = AtomicU32::new(0);
/// Where the switch is: `Header::active`, once there is one.
static SWITCH: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const NEVER).cast_mut());
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
    if is_active() { region() } else { None }
}

/// Whether hooks must keep the ledger now: two loads and one predictable branch.
#[inline(always)]
pub fn is_active() -> bool {
    let switch = SWITCH.load(Relaxed);
    // SAFETY: points at `NEVER`, or into the region, which is never unmapped.
    unsafe { &*switch }.load(Relaxed) != 0
}

/// Publishes the mapping.
///
/// # Safety
/// `region` is mapped for good.
pub unsafe fn set_region(region: *mut Region) {
    REGION.store(region, Release);
    // SAFETY: the caller's promise; no reference is made.
    let switch = unsafe { &raw mut (*region).header.active };
    SWITCH.store(switch, Release);
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
    // The controller may switch the next window on before it has seen that we are off.
    SWITCH.store((&raw const NEVER).cast_mut(), Relaxed);
}

/// Whether profiling is off for good: no system call of ours is made any more.
pub fn is_off() -> bool {
    region().is_none_or(|region| region.header.off.load(Relaxed) != 0)
}

/// Forgets the region, which is another process's and could not be replaced.
pub fn detach() {
    SWITCH.store((&raw const NEVER).cast_mut(), Relaxed);
    REGION.store(core::ptr::null_mut(), Relaxed);
}
