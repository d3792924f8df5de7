//! POSIX mutexes. A lock that is free costs no accounting: it is tried first.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::super::real_functions::{self as real, Mutex, Time};
use super::super::thread_ledger;
use super::{acquire, hook, is_plausible, locked, unless_busy};

/// Set in the lock word of priority-inheriting and robust mutexes that have waiters (futex(2)).
const FUTEX_WAITERS: u32 = 1 << 31;

/// Tries the lock; `None` if it is taken, so that the caller must block.
///
/// # Safety
/// A valid mutex.
pub unsafe fn try_lock(mutex: *mut Mutex) -> Option<c_int> {
    // SAFETY: the caller's promise.
    unless_busy(unsafe { real::pthread_mutex_trylock()(mutex) })
}

/// [`try_lock`], but not with a time limit that the real function refuses.
///
/// # Safety
/// A valid mutex; `until` null or valid.
pub unsafe fn try_lock_until(mutex: *mut Mutex, until: Time) -> Option<c_int> {
    // SAFETY: the caller's promise.
    if !unsafe { is_plausible(until) } {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { try_lock(mutex) }
}

hook! {
    /// See pthread_mutex_lock(3).
    fn pthread_mutex_lock(mutex: *mut Mutex) -> c_int, call => {
        // SAFETY: the caller's argument.
        acquire(|| unsafe { try_lock(mutex) }, call, locked)
    }
}

hook! {
    /// See pthread_mutex_timedlock(3).
    fn pthread_mutex_timedlock(mutex: *mut Mutex, until: Time) -> c_int, call => {
        // SAFETY: the caller's arguments.
        acquire(|| unsafe { try_lock_until(mutex, until) }, call, locked)
    }
}

hook! {
    /// See pthread_mutex_clocklock(3).
    fn pthread_mutex_clocklock(mutex: *mut Mutex, clock: libc::clockid_t, until: Time) -> c_int,
    call => {
        // SAFETY: the caller's arguments.
        acquire(|| unsafe { try_lock_until(mutex, until) }, call, locked)
    }
}

hook! {
    /// See pthread_mutex_unlock(3). Only an unlock that may wake a waiter pays.
    fn pthread_mutex_unlock(mutex: *mut Mutex) -> c_int, call => {
        // SAFETY: the caller's argument.
        unsafe { before_unlock(mutex) };
        call()
    }
}

/// Pays if the mutex has waiters.
///
/// # Safety
/// `mutex` is null or valid.
pub unsafe fn before_unlock(mutex: *mut Mutex) {
    // The lock word comes first in glibc's mutex, as its static initialisers fix: 0 free, 1 locked,
    // 2 locked with waiters; a thread id in priority-inheriting and robust ones.
    let word = mutex.cast::<AtomicU32>();
    // SAFETY: null, or the caller's mutex, which is at least one word and aligned.
    if let Some(word) = unsafe { word.as_ref() } {
        let word = word.load(Relaxed);
        if word == 2 || word & FUTEX_WAITERS != 0 {
            thread_ledger::before_wake();
        }
    }
}
