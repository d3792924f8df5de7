//! POSIX spin locks. Who spins burns processor time, but it waits as one that sleeps does: while it
//! spins it neither pays nor is credited (a wait cannot be made faster), and it is excused when it
//! gets the lock. Its samples are recorded all the same: the time is really spent there.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::super::real_functions as real;
use super::super::thread_ledger;
use super::{hook, spinning, succeeded, unless_busy};

type SpinLock = libc::pthread_spinlock_t;

/// How many threads spin for a lock, by its address: a lock does not tell itself. Locks that share a
/// place make an unlock pay that need not.
static SPINNERS: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];

fn spinners(lock: *mut SpinLock) -> Option<&'static AtomicU32> {
    SPINNERS.get((lock as usize >> 2) % SPINNERS.len())
}

/// Spins until the lock is to be had.
fn spin_for(lock: *mut SpinLock, call: impl FnOnce() -> c_int) -> c_int {
    let spinners = spinners(lock);
    if let Some(spinners) = spinners {
        spinners.fetch_add(1, Relaxed);
    }
    let result = spinning(call, succeeded);
    if let Some(spinners) = spinners {
        spinners.fetch_sub(1, Relaxed);
    }
    result
}

hook! {
    /// See pthread_spin_lock(3).
    fn pthread_spin_lock(lock: *mut SpinLock) -> c_int, call => {
        thread_ledger::pay_before_lock();
        // SAFETY: the caller's argument.
        let tried = unless_busy(unsafe { real::pthread_spin_trylock()(lock) });
        tried.unwrap_or_else(|| spin_for(lock, call))
    }
}

hook! {
    /// See pthread_spin_unlock(3). Only an unlock that somebody spins for pays.
    fn pthread_spin_unlock(lock: *mut SpinLock) -> c_int, call => {
        if spinners(lock).is_some_and(|spinners| spinners.load(Relaxed) != 0) {
            thread_ledger::before_wake();
        }
        call()
    }
}
