//! Cancellation: the canceller wakes the thread that it cancels.
//!
//! Where a hook tries before it waits it first asks whether it was cancelled, because the real
//! function is a cancellation point and the try is not. What a cancelled thread is excused from is
//! settled at its end (`threads`), as no after-hook runs.

use core::ffi::c_int;

use super::super::thread_ledger;
use super::hook;

unsafe extern "C" {
    fn pthread_testcancel();
}

/// Ends the thread if it was cancelled.
#[inline]
pub fn test_cancel() {
    // SAFETY: no argument; no frame that it may unwind through has a destructor.
    unsafe { pthread_testcancel() };
}

hook! {
    /// See pthread_cancel(3).
    fn pthread_cancel(thread: libc::pthread_t) -> c_int, call => {
        thread_ledger::before_wake();
        call()
    }
}
