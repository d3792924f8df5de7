//! POSIX barriers: every arrival may be the one that wakes the others.

use core::ffi::c_int;

use super::super::{real_functions as real, shared};
use super::blocking;

/// See pthread_barrier_wait(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_wait(barrier: *mut libc::pthread_barrier_t) -> c_int {
    if shared::is_active() {
        // SAFETY: the caller's arguments.
        return unsafe { pthread_barrier_wait_in_window(barrier) };
    }
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_barrier_wait()(barrier) }
}

/// # Safety
/// As the real one.
#[inline(never)]
unsafe extern "C" fn pthread_barrier_wait_in_window(
    barrier: *mut libc::pthread_barrier_t,
) -> c_int {
    let call = real::pthread_barrier_wait();
    // SAFETY: the caller's arguments.
    blocking(
        || unsafe { call(barrier) },
        |result| result == 0 || result == libc::PTHREAD_BARRIER_SERIAL_THREAD,
    )
}
