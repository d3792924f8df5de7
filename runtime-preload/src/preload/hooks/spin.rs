//! POSIX spin locks. Who spins burns processor time, but it waits as one that sleeps does: while it
//! spins it neither pays nor is credited (a wait cannot be made faster), and it is excused when it
//! gets the lock. Its samples are recorded all the same: the time is really spent there.

use core::ffi::c_int;

use super::super::real_functions as real;
use super::super::thread_ledger;
use super::{hook, spinning, succeeded, unless_busy};

type SpinLock = libc::pthread_spinlock_t;

hook! {
    /// See pthread_spin_lock(3).
    fn pthread_spin_lock(lock: *mut SpinLock) -> c_int, call => {
        thread_ledger::pay_before_lock();
        // SAFETY: the caller's argument.
        let tried = unless_busy(unsafe { real::pthread_spin_trylock()(lock) });
        tried.unwrap_or_else(|| spinning(call, succeeded))
    }
}

hook! {
    /// See pthread_spin_unlock(3). A spin lock does not tell whether somebody waits, so whoever
    /// owes a pause sleeps it here, with the lock held, as a blocked waiter's waker does.
    fn pthread_spin_unlock(lock: *mut SpinLock) -> c_int, call => {
        thread_ledger::before_wake();
        call()
    }
}
