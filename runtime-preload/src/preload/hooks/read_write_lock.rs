//! POSIX read-write locks. One that is free for the caller costs no accounting: it is tried first.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::super::real_functions::{self as real, ReadWriteLock, Time};
use super::super::thread_ledger;
use super::{acquire, hook, is_plausible, succeeded, unless_busy};

/// In the first word: a reader waits (glibc's pthread_rwlock_common.c).
const READER_WAITS: u32 = 4;
/// In the third and fourth word: somebody sleeps on it.
const SLEPT_ON: u32 = 2;

/// # Safety
/// A valid lock.
unsafe fn try_read(lock: *mut ReadWriteLock) -> Option<c_int> {
    // SAFETY: the caller's promise.
    unless_busy(unsafe { real::pthread_rwlock_tryrdlock()(lock) })
}

/// # Safety
/// A valid lock.
unsafe fn try_write(lock: *mut ReadWriteLock) -> Option<c_int> {
    // SAFETY: the caller's promise.
    unless_busy(unsafe { real::pthread_rwlock_trywrlock()(lock) })
}

/// # Safety
/// A valid lock; `until` null or valid.
unsafe fn try_read_until(lock: *mut ReadWriteLock, until: Time) -> Option<c_int> {
    // SAFETY: the caller's promise.
    if !unsafe { is_plausible(until) } {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { try_read(lock) }
}

/// # Safety
/// A valid lock; `until` null or valid.
unsafe fn try_write_until(lock: *mut ReadWriteLock, until: Time) -> Option<c_int> {
    // SAFETY: the caller's promise.
    if !unsafe { is_plausible(until) } {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { try_write(lock) }
}

hook! {
    /// See pthread_rwlock_rdlock(3).
    fn pthread_rwlock_rdlock(lock: *mut ReadWriteLock) -> c_int, call => {
        // SAFETY: the caller's argument.
        acquire(|| unsafe { try_read(lock) }, call, succeeded)
    }
}

hook! {
    /// See pthread_rwlock_timedrdlock(3).
    fn pthread_rwlock_timedrdlock(lock: *mut ReadWriteLock, until: Time) -> c_int, call => {
        // SAFETY: the caller's arguments.
        acquire(|| unsafe { try_read_until(lock, until) }, call, succeeded)
    }
}

hook! {
    /// As pthread_rwlock_timedrdlock(3) with a clock.
    fn pthread_rwlock_clockrdlock(
        lock: *mut ReadWriteLock, clock: libc::clockid_t, until: Time
    ) -> c_int,
    call => {
        // SAFETY: the caller's arguments.
        acquire(|| unsafe { try_read_until(lock, until) }, call, succeeded)
    }
}

hook! {
    /// See pthread_rwlock_wrlock(3).
    fn pthread_rwlock_wrlock(lock: *mut ReadWriteLock) -> c_int, call => {
        // SAFETY: the caller's argument.
        acquire(|| unsafe { try_write(lock) }, call, succeeded)
    }
}

hook! {
    /// See pthread_rwlock_timedwrlock(3).
    fn pthread_rwlock_timedwrlock(lock: *mut ReadWriteLock, until: Time) -> c_int, call => {
        // SAFETY: the caller's arguments.
        acquire(|| unsafe { try_write_until(lock, until) }, call, succeeded)
    }
}

hook! {
    /// As pthread_rwlock_timedwrlock(3) with a clock.
    fn pthread_rwlock_clockwrlock(
        lock: *mut ReadWriteLock, clock: libc::clockid_t, until: Time
    ) -> c_int,
    call => {
        // SAFETY: the caller's arguments.
        acquire(|| unsafe { try_write_until(lock, until) }, call, succeeded)
    }
}

hook! {
    /// See pthread_rwlock_unlock(3). Only an unlock that may wake a waiter pays.
    fn pthread_rwlock_unlock(lock: *mut ReadWriteLock) -> c_int, call => {
        // SAFETY: the caller's argument.
        if unsafe { has_waiters(lock) } {
            thread_ledger::before_wake();
        }
        call()
    }
}

/// Whether somebody waits for the lock. The words come first in glibc's lock: readers and phase,
/// number of writers, two futex words; a static initialiser fixes their places.
///
/// # Safety
/// A valid lock that the caller holds.
unsafe fn has_waiters(lock: *mut ReadWriteLock) -> bool {
    let words = lock.cast::<[AtomicU32; 4]>();
    // SAFETY: null, or the caller's lock, which is larger than four words and aligned.
    let Some([readers, writers, phase, writer_futex]) = (unsafe { words.as_ref() }) else {
        return false;
    };
    // In a write phase with the lock held by a writer, one of the writers is the caller.
    let readers = readers.load(Relaxed);
    let own = if readers & 3 == 3 { 1 } else { 0 };
    readers & READER_WAITS != 0
        || writers.load(Relaxed) > own
        || phase.load(Relaxed) & SLEPT_ON != 0
        || writer_futex.load(Relaxed) & SLEPT_ON != 0
}
