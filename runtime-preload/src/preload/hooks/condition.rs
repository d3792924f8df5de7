//! POSIX condition variables.

use core::ffi::c_int;

use super::super::real_functions::{Condition, Mutex, Time};
use super::super::thread_ledger;
use super::{blocking_for_lock, hook, succeeded};

hook! {
    /// See pthread_cond_wait(3).
    fn pthread_cond_wait(condition: *mut Condition, mutex: *mut Mutex) -> c_int,
    call => blocking_for_lock(call, succeeded)
}

hook! {
    /// See pthread_cond_timedwait(3).
    fn pthread_cond_timedwait(condition: *mut Condition, mutex: *mut Mutex, until: Time) -> c_int,
    call => blocking_for_lock(call, succeeded)
}

hook! {
    /// See pthread_cond_clockwait(3).
    fn pthread_cond_clockwait(
        condition: *mut Condition, mutex: *mut Mutex, clock: libc::clockid_t, until: Time
    ) -> c_int,
    call => blocking_for_lock(call, succeeded)
}

hook! {
    /// See pthread_cond_signal(3).
    fn pthread_cond_signal(condition: *mut Condition) -> c_int, call => {
        thread_ledger::before_wake();
        call()
    }
}

hook! {
    /// See pthread_cond_broadcast(3).
    fn pthread_cond_broadcast(condition: *mut Condition) -> c_int, call => {
        thread_ledger::before_wake();
        call()
    }
}
