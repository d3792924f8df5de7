//! POSIX barriers: every arrival may be the one that wakes the others.

use core::ffi::c_int;

use super::{blocking, hook};

hook! {
    /// See pthread_barrier_wait(3).
    fn pthread_barrier_wait(barrier: *mut libc::pthread_barrier_t) -> c_int,
    call => blocking(call, |result| result == 0 || result == libc::PTHREAD_BARRIER_SERIAL_THREAD)
}
