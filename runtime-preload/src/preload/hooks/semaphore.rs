//! POSIX semaphores. A token that is there costs no accounting: it is tried for first.

use core::ffi::c_int;

use super::super::real_functions::{self as real, Time};
use super::super::thread_ledger;
use super::cancellation::test_cancel;
use super::{acquire, hook, is_plausible, succeeded};

type Semaphore = libc::sem_t;

/// Takes a token that is there. `errno` is as before if there is none.
///
/// # Safety
/// A valid semaphore.
unsafe fn try_take(semaphore: *mut Semaphore) -> Option<c_int> {
    // Waiting is a cancellation point, trying is not.
    test_cancel();
    // SAFETY: no argument.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the calling thread's errno.
    let before = unsafe { *errno };
    // SAFETY: the caller's promise.
    if unsafe { real::sem_trywait()(semaphore) } == 0 {
        return Some(0);
    }
    // SAFETY: the calling thread's errno.
    unsafe { *errno = before };
    None
}

/// # Safety
/// A valid semaphore; `until` null or valid.
unsafe fn try_take_until(semaphore: *mut Semaphore, until: Time) -> Option<c_int> {
    // SAFETY: the caller's promise.
    if !unsafe { is_plausible(until) } {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { try_take(semaphore) }
}

hook! {
    /// See sem_wait(3).
    fn sem_wait(semaphore: *mut Semaphore) -> c_int, call => {
        // SAFETY: the caller's argument.
        acquire(|| unsafe { try_take(semaphore) }, call, succeeded)
    }
}

hook! {
    /// See sem_timedwait(3).
    fn sem_timedwait(semaphore: *mut Semaphore, until: Time) -> c_int, call => {
        // SAFETY: the caller's arguments.
        acquire(|| unsafe { try_take_until(semaphore, until) }, call, succeeded)
    }
}

hook! {
    /// See sem_clockwait(3).
    fn sem_clockwait(semaphore: *mut Semaphore, clock: libc::clockid_t, until: Time) -> c_int,
    call => {
        // SAFETY: the caller's arguments.
        acquire(|| unsafe { try_take_until(semaphore, until) }, call, succeeded)
    }
}

hook! {
    /// See sem_post(3).
    fn sem_post(semaphore: *mut Semaphore) -> c_int, call => {
        thread_ledger::before_wake();
        call()
    }
}
