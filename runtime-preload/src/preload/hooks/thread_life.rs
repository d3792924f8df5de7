//! Threads' starts, ends and joins.

use core::ffi::{c_int, c_void};

use super::super::real_functions::{self as real, Time};
use super::super::threads::{self, Routine};
use super::super::{entry, thread_ledger};
use super::cancellation::test_cancel;
use super::{acquire, hook, is_plausible, succeeded, unless_busy};

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
    let start = |routine, argument| {
        // SAFETY: the caller's arguments, or a routine that runs the caller's.
        unsafe { call(thread, attributes, routine, argument) }
    };
    create(routine, argument, start)
}

/// Pays, then starts a thread with a ledger slot of its own if there is one; else as the caller
/// would have.
pub fn create(
    routine: Routine,
    argument: *mut c_void,
    start: impl Fn(Routine, *mut c_void) -> c_int,
) -> c_int {
    thread_ledger::before_wake();
    let Some(index) = threads::reserve(routine, argument) else {
        return start(routine, argument);
    };
    let result = start(threads::trampoline, index as *mut c_void);
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
unsafe fn try_join(thread: libc::pthread_t, value: *mut *mut c_void) -> Option<c_int> {
    // Joining is a cancellation point, trying is not.
    test_cancel();
    // SAFETY: the caller's arguments.
    unless_busy(unsafe { real::pthread_tryjoin_np()(thread, value) })
}

/// # Safety
/// As pthread_timedjoin_np.
unsafe fn try_join_until(
    thread: libc::pthread_t,
    value: *mut *mut c_void,
    until: Time,
) -> Option<c_int> {
    // Without a time it is pthread_join.
    // SAFETY: the caller's argument.
    if !until.is_null() && !unsafe { is_plausible(until) } {
        return None;
    }
    // SAFETY: the caller's arguments.
    unsafe { try_join(thread, value) }
}

hook! {
    /// See pthread_join(3).
    fn pthread_join(thread: libc::pthread_t, value: *mut *mut c_void) -> c_int, call => {
        // SAFETY: the caller's arguments.
        acquire(|| unsafe { try_join(thread, value) }, call, succeeded)
    }
}

hook! {
    /// See pthread_tryjoin_np(3). Who polls for a thread's end pays as it goes.
    fn pthread_tryjoin_np(thread: libc::pthread_t, value: *mut *mut c_void) -> c_int, call => {
        thread_ledger::pay_before_lock();
        call()
    }
}

hook! {
    /// See pthread_timedjoin_np(3).
    fn pthread_timedjoin_np(
        thread: libc::pthread_t, value: *mut *mut c_void, until: Time
    ) -> c_int,
    call => {
        // SAFETY: the caller's arguments.
        acquire(|| unsafe { try_join_until(thread, value, until) }, call, succeeded)
    }
}

hook! {
    /// See pthread_clockjoin_np(3).
    fn pthread_clockjoin_np(
        thread: libc::pthread_t, value: *mut *mut c_void, clock: libc::clockid_t, until: Time
    ) -> c_int,
    call => {
        // SAFETY: the caller's arguments.
        acquire(|| unsafe { try_join_until(thread, value, until) }, call, succeeded)
    }
}
