//! POSIX mutexes. A lock that is free costs no accounting: it is tried first.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::super::real_functions::{self as real, Mutex};
use super::super::{shared, thread_ledger};
use super::blocking;

/// Set in the lock word of priority-inheriting and robust mutexes that have waiters (futex(2)).
const FUTEX_WAITERS: u32 = 1 << 31;

/// Results after which the thread holds the lock.
fn locked(result: c_int) -> bool {
    result == 0 || result == libc::EOWNERDEAD
}

/// Pays, then tries the lock; `None` if it is taken, so that the caller must block.
///
/// # Safety
/// A valid mutex.
unsafe fn try_first(mutex: *mut Mutex) -> Option<c_int> {
    thread_ledger::pay_before_lock();
    // SAFETY: the caller's promise.
    let result = unsafe { real::pthread_mutex_trylock()(mutex) };
    (result != libc::EBUSY).then_some(result)
}

/// See pthread_mutex_lock(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_lock(mutex: *mut Mutex) -> c_int {
    if shared::is_active() {
        // SAFETY: the caller's arguments.
        return unsafe { pthread_mutex_lock_in_window(mutex) };
    }
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_mutex_lock()(mutex) }
}

/// # Safety
/// As the real one.
#[inline(never)]
unsafe extern "C" fn pthread_mutex_lock_in_window(mutex: *mut Mutex) -> c_int {
    let call = real::pthread_mutex_lock();
    // SAFETY: the caller's argument.
    if let Some(result) = unsafe { try_first(mutex) } {
        return result;
    }
    // SAFETY: the caller's argument.
    blocking(|| unsafe { call(mutex) }, locked)
}

/// See pthread_mutex_timedlock(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_timedlock(
    mutex: *mut Mutex,
    until: *const libc::timespec,
) -> c_int {
    if shared::is_active() {
        // SAFETY: the caller's arguments.
        return unsafe { pthread_mutex_timedlock_in_window(mutex, until) };
    }
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_mutex_timedlock()(mutex, until) }
}

/// # Safety
/// As the real one.
#[inline(never)]
unsafe extern "C" fn pthread_mutex_timedlock_in_window(
    mutex: *mut Mutex,
    until: *const libc::timespec,
) -> c_int {
    let call = real::pthread_mutex_timedlock();
    // SAFETY: the caller's argument.
    if let Some(result) = unsafe { try_first(mutex) } {
        return result;
    }
    // SAFETY: the caller's arguments.
    blocking(|| unsafe { call(mutex, until) }, locked)
}

/// See pthread_mutex_clocklock(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_clocklock(
    mutex: *mut Mutex,
    clock: libc::clockid_t,
    until: *const libc::timespec,
) -> c_int {
    if shared::is_active() {
        // SAFETY: the caller's arguments.
        return unsafe { pthread_mutex_clocklock_in_window(mutex, clock, until) };
    }
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_mutex_clocklock()(mutex, clock, until) }
}

/// # Safety
/// As the real one.
#[inline(never)]
unsafe extern "C" fn pthread_mutex_clocklock_in_window(
    mutex: *mut Mutex,
    clock: libc::clockid_t,
    until: *const libc::timespec,
) -> c_int {
    let call = real::pthread_mutex_clocklock();
    // SAFETY: the caller's argument.
    if let Some(result) = unsafe { try_first(mutex) } {
        return result;
    }
    // SAFETY: the caller's arguments.
    blocking(|| unsafe { call(mutex, clock, until) }, locked)
}

/// See pthread_mutex_unlock(3). Only an unlock that may wake a waiter pays.
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_unlock(mutex: *mut Mutex) -> c_int {
    if shared::is_active() {
        // SAFETY: the caller's argument.
        return unsafe { pthread_mutex_unlock_in_window(mutex) };
    }
    // SAFETY: the caller's argument.
    unsafe { real::pthread_mutex_unlock()(mutex) }
}

/// # Safety
/// As the real one.
#[inline(never)]
unsafe extern "C" fn pthread_mutex_unlock_in_window(mutex: *mut Mutex) -> c_int {
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
    // SAFETY: the caller's argument.
    unsafe { real::pthread_mutex_unlock()(mutex) }
}
