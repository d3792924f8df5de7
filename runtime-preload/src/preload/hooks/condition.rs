//! POSIX condition variables.

use core::ffi::c_int;

use super::super::real_functions::{self as real, Condition, Mutex};
use super::super::{shared, thread_ledger};
use super::blocking;

/// See pthread_cond_wait(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_wait(condition: *mut Condition, mutex: *mut Mutex) -> c_int {
    if shared::is_active() {
        // SAFETY: the caller's arguments.
        return unsafe { pthread_cond_wait_in_window(condition, mutex) };
    }
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_cond_wait()(condition, mutex) }
}

/// # Safety
/// As the real one.
#[inline(never)]
unsafe extern "C" fn pthread_cond_wait_in_window(
    condition: *mut Condition,
    mutex: *mut Mutex,
) -> c_int {
    let call = real::pthread_cond_wait();
    // SAFETY: the caller's arguments.
    blocking(|| unsafe { call(condition, mutex) }, |result| result == 0)
}

/// See pthread_cond_timedwait(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_timedwait(
    condition: *mut Condition,
    mutex: *mut Mutex,
    until: *const libc::timespec,
) -> c_int {
    if shared::is_active() {
        // SAFETY: the caller's arguments.
        return unsafe { pthread_cond_timedwait_in_window(condition, mutex, until) };
    }
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_cond_timedwait()(condition, mutex, until) }
}

/// # Safety
/// As the real one.
#[inline(never)]
unsafe extern "C" fn pthread_cond_timedwait_in_window(
    condition: *mut Condition,
    mutex: *mut Mutex,
    until: *const libc::timespec,
) -> c_int {
    let call = real::pthread_cond_timedwait();
    // SAFETY: the caller's arguments.
    blocking(
        || unsafe { call(condition, mutex, until) },
        |result| result == 0,
    )
}

/// See pthread_cond_clockwait(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_clockwait(
    condition: *mut Condition,
    mutex: *mut Mutex,
    clock: libc::clockid_t,
    until: *const libc::timespec,
) -> c_int {
    if shared::is_active() {
        // SAFETY: the caller's arguments.
        return unsafe { pthread_cond_clockwait_in_window(condition, mutex, clock, until) };
    }
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_cond_clockwait()(condition, mutex, clock, until) }
}

/// # Safety
/// As the real one.
#[inline(never)]
unsafe extern "C" fn pthread_cond_clockwait_in_window(
    condition: *mut Condition,
    mutex: *mut Mutex,
    clock: libc::clockid_t,
    until: *const libc::timespec,
) -> c_int {
    let call = real::pthread_cond_clockwait();
    // SAFETY: the caller's arguments.
    blocking(
        || unsafe { call(condition, mutex, clock, until) },
        |result| result == 0,
    )
}

/// See pthread_cond_signal(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_signal(condition: *mut Condition) -> c_int {
    thread_ledger::before_wake();
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_cond_signal()(condition) }
}

/// See pthread_cond_broadcast(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_broadcast(condition: *mut Condition) -> c_int {
    thread_ledger::before_wake();
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_cond_broadcast()(condition) }
}
