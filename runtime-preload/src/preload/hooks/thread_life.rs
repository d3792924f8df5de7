//! Threads' starts, ends and joins.

use core::ffi::{c_int, c_void};

use super::super::threads::{self, Routine};
use super::super::{entry, real_functions as real, shared, thread_ledger};
use super::blocking;

/// See pthread_create(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    entry::start_early();
    let call = real::pthread_create();
    thread_ledger::before_wake();
    let Some(index) = threads::reserve(routine, argument) else {
        // SAFETY: the caller's arguments.
        return unsafe { call(thread, attributes, routine, argument) };
    };
    // SAFETY: the caller's arguments, but for the routine, which runs the caller's.
    let result = unsafe {
        call(
            thread,
            attributes,
            threads::trampoline,
            index as *mut c_void,
        )
    };
    if result != 0 {
        threads::cancel_reservation(index);
    }
    result
}

/// See pthread_exit(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_exit(value: *mut c_void) -> ! {
    threads::end();
    // SAFETY: the caller's argument.
    unsafe { real::pthread_exit()(value) };
    loop {
        core::hint::spin_loop();
    }
}

/// Joins at once if the thread has ended already.
///
/// # Safety
/// As pthread_join.
unsafe fn try_first(thread: libc::pthread_t, value: *mut *mut c_void) -> Option<c_int> {
    // Joining is a cancellation point, trying is not.
    // SAFETY: no argument.
    unsafe { pthread_testcancel() };
    // SAFETY: the caller's arguments.
    let result = unsafe { real::pthread_tryjoin_np()(thread, value) };
    (result != libc::EBUSY).then_some(result)
}

unsafe extern "C" {
    fn pthread_testcancel();
}

/// See pthread_join(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_join(thread: libc::pthread_t, value: *mut *mut c_void) -> c_int {
    if shared::is_active() {
        // SAFETY: the caller's arguments.
        return unsafe { pthread_join_in_window(thread, value) };
    }
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_join()(thread, value) }
}

/// # Safety
/// As the real one.
#[inline(never)]
unsafe extern "C" fn pthread_join_in_window(
    thread: libc::pthread_t,
    value: *mut *mut c_void,
) -> c_int {
    let call = real::pthread_join();
    // SAFETY: the caller's arguments.
    if let Some(result) = unsafe { try_first(thread, value) } {
        return result;
    }
    // SAFETY: the caller's arguments.
    blocking(|| unsafe { call(thread, value) }, |result| result == 0)
}

/// See pthread_timedjoin_np(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_timedjoin_np(
    thread: libc::pthread_t,
    value: *mut *mut c_void,
    until: *const libc::timespec,
) -> c_int {
    if shared::is_active() {
        // SAFETY: the caller's arguments.
        return unsafe { pthread_timedjoin_np_in_window(thread, value, until) };
    }
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_timedjoin_np()(thread, value, until) }
}

/// # Safety
/// As the real one.
#[inline(never)]
unsafe extern "C" fn pthread_timedjoin_np_in_window(
    thread: libc::pthread_t,
    value: *mut *mut c_void,
    until: *const libc::timespec,
) -> c_int {
    let call = real::pthread_timedjoin_np();
    // SAFETY: the caller's arguments.
    if let Some(result) = unsafe { try_first(thread, value) } {
        return result;
    }
    // SAFETY: the caller's arguments.
    blocking(
        || unsafe { call(thread, value, until) },
        |result| result == 0,
    )
}

/// See pthread_clockjoin_np(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_clockjoin_np(
    thread: libc::pthread_t,
    value: *mut *mut c_void,
    clock: libc::clockid_t,
    until: *const libc::timespec,
) -> c_int {
    if shared::is_active() {
        // SAFETY: the caller's arguments.
        return unsafe { pthread_clockjoin_np_in_window(thread, value, clock, until) };
    }
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_clockjoin_np()(thread, value, clock, until) }
}

/// # Safety
/// As the real one.
#[inline(never)]
unsafe extern "C" fn pthread_clockjoin_np_in_window(
    thread: libc::pthread_t,
    value: *mut *mut c_void,
    clock: libc::clockid_t,
    until: *const libc::timespec,
) -> c_int {
    let call = real::pthread_clockjoin_np();
    // SAFETY: the caller's arguments.
    if let Some(result) = unsafe { try_first(thread, value) } {
        return result;
    }
    // SAFETY: the caller's arguments.
    blocking(
        || unsafe { call(thread, value, clock, until) },
        |result| result == 0,
    )
}
