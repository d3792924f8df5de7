//! C11 threads. glibc's call internal functions, so each has its own hook here; the objects are
//! those of POSIX under other names, and results are the C11 ones.

use core::ffi::{c_int, c_void};

use super::super::real_functions::{self as real, Condition, Mutex, Time};
use super::super::threads::{self, Routine};
use super::super::{entry, thread_ledger};
use super::cancellation::test_cancel;
use super::mutex::before_unlock;
use super::thread_life::create;
use super::{acquire, blocking_for_lock, hook, is_plausible};

/// `thrd_success`, `thrd_busy` (threads.h).
const SUCCESS: c_int = 0;
const BUSY: c_int = 1;

fn got(result: c_int) -> bool {
    result == SUCCESS
}

/// # Safety
/// A valid mutex.
unsafe fn try_lock(mutex: *mut Mutex) -> Option<c_int> {
    // SAFETY: the caller's promise.
    let result = unsafe { real::mtx_trylock()(mutex) };
    (result != BUSY).then_some(result)
}

hook! {
    /// See mtx_lock(3).
    fn mtx_lock(mutex: *mut Mutex) -> c_int, call => {
        // SAFETY: the caller's argument.
        acquire(|| unsafe { try_lock(mutex) }, call, got)
    }
}

hook! {
    /// See mtx_timedlock(3).
    fn mtx_timedlock(mutex: *mut Mutex, until: Time) -> c_int, call => {
        let try_first = || {
            // SAFETY: the caller's argument.
            let plausible = unsafe { is_plausible(until) };
            // SAFETY: the caller's argument.
            if plausible { unsafe { try_lock(mutex) } } else { None }
        };
        acquire(try_first, call, got)
    }
}

hook! {
    /// See mtx_unlock(3).
    fn mtx_unlock(mutex: *mut Mutex) -> c_int, call => {
        // SAFETY: the caller's argument.
        unsafe { before_unlock(mutex) };
        call()
    }
}

hook! {
    /// See cnd_wait(3).
    fn cnd_wait(condition: *mut Condition, mutex: *mut Mutex) -> c_int,
    call => blocking_for_lock(call, got)
}

hook! {
    /// See cnd_timedwait(3).
    fn cnd_timedwait(condition: *mut Condition, mutex: *mut Mutex, until: Time) -> c_int,
    call => blocking_for_lock(call, got)
}

hook! {
    /// See cnd_signal(3).
    fn cnd_signal(condition: *mut Condition) -> c_int, call => {
        thread_ledger::before_wake();
        call()
    }
}

hook! {
    /// See cnd_broadcast(3).
    fn cnd_broadcast(condition: *mut Condition) -> c_int, call => {
        thread_ledger::before_wake();
        call()
    }
}

/// See thrd_create(3). The start routine returns an int, which comes back in the low half of what
/// the trampoline returns, where glibc looks for it.
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(
    thread: *mut libc::pthread_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    entry::start_early();
    let call = real::thrd_create();
    let start = |routine, argument| {
        // SAFETY: the caller's arguments, or a routine that runs the caller's.
        unsafe { call(thread, routine, argument) }
    };
    create(routine, argument, start)
}

hook! {
    /// See thrd_join(3).
    fn thrd_join(thread: libc::pthread_t, value: *mut c_int) -> c_int, call => {
        let try_first = || {
            test_cancel();
            let mut result = core::ptr::null_mut::<c_void>();
            // SAFETY: the caller's thread.
            let joined = unsafe { real::pthread_tryjoin_np()(thread, &raw mut result) };
            if joined != 0 {
                return None;
            }
            // SAFETY: null or a valid place, the caller's promise.
            if let Some(value) = unsafe { value.as_mut() } {
                *value = result as usize as c_int;
            }
            Some(SUCCESS)
        };
        acquire(try_first, call, got)
    }
}

/// See thrd_exit(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_exit(value: c_int) -> ! {
    threads::end();
    // SAFETY: the caller's argument.
    unsafe { real::thrd_exit()(value) };
    loop {
        core::hint::spin_loop();
    }
}
