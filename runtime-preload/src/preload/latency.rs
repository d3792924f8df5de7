//! Begin and end points: what their counts were while G grew, and when they were visited.
//!
//! The controller only polls, so it cannot tell how many were in flight when G grew by so much.
//! Two things make that exact: whenever G grows by dG, count × dG is added to a word of each begin
//! and end counter; and a visit made through [`_coz_rs_visit`] adds its own virtual time, from
//! which the time between begins and ends follows without any polling.

use core::sync::atomic::{
    AtomicU16, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use super::syscalls::now;
use super::{shared, thread_ledger};
use crate::layout::{Counter, MAX_COUNTERS};

/// Numbers of the begin and end counters plus 1, from the front; 0: not yet written.
static WATCHED: [AtomicU16; MAX_COUNTERS] = [const { AtomicU16::new(0) }; MAX_COUNTERS];
/// How many of them.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Puts counter `index` on the list; its owner calls this once, before it is in use.
pub fn watch(index: usize) {
    let place = COUNT.fetch_add(1, Relaxed) as usize;
    if let Some(cell) = WATCHED.get(place) {
        cell.store(index as u16 + 1, Release);
    }
}

/// Notes the counts at a growth of G by `growth` ns. A visit at this very moment counts or not.
///
/// # Signal safety
/// Atomics only.
#[inline]
pub fn g_grew(growth: u64) {
    let count = COUNT.load(Relaxed) as usize;
    if count == 0 || growth == 0 {
        return;
    }
    let Some(region) = shared::region() else {
        return;
    };
    for number in WATCHED.iter().take(count) {
        // Acquire: partner of the Release in `watch`.
        let index = usize::from(number.load(Acquire)).checked_sub(1);
        let Some(counter) = index.and_then(|index| region.counters.get(index)) else {
            continue;
        };
        let visits = counter.count.load(Relaxed);
        if visits != 0 {
            counter
                .over_g
                .fetch_add(visits.wrapping_mul(growth), Relaxed);
        }
    }
}

/// A visit of a begin or end point. While a window is in force it is stamped with the thread's
/// virtual time, and all the thread's work before it is credited; else it is one atomic addition.
///
/// # Safety
/// `counter` came from `_coz_get_counter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _coz_rs_visit(counter: *const Counter) {
    // SAFETY: counters live as long as the process (the caller's promise).
    let Some(counter) = (unsafe { counter.as_ref() }) else {
        return;
    };
    if !shared::is_active() {
        counter.count.fetch_add(1, Relaxed);
        return;
    }
    let stamp = virtual_now();
    // Release: partners of the controller's Acquire loads, which go the other way round. It takes
    // the sums as they stand when as many visits are done as were begun.
    counter.stamps_begun.fetch_add(1, Release);
    counter.count.fetch_add(1, Release);
    counter.stamps.fetch_add(stamp, Release);
    counter.stamps_done.fetch_add(1, Release);
}

/// The calling thread's virtual time; that of the process where the thread has no ledger.
fn virtual_now() -> u64 {
    if let Some(entered) = thread_ledger::enter() {
        let time = entered.virtual_now();
        entered.leave();
        return time;
    }
    let g = shared::region().map_or(0, |region| region.global.g.load(Relaxed));
    now().wrapping_sub(g)
}
