//! Sending a signal may wake a thread of this process: whoever owes a pause sleeps it first. Which
//! process it goes to is not asked: paying early is never wrong.

use core::ffi::{c_int, c_void};

use super::super::thread_ledger;
use super::hook;

hook! {
    /// See kill(2).
    fn kill(process: libc::pid_t, signal: c_int) -> c_int, call => {
        thread_ledger::before_wake();
        call()
    }
}

hook! {
    /// See tgkill(2).
    fn tgkill(process: libc::pid_t, thread: libc::pid_t, signal: c_int) -> c_int, call => {
        thread_ledger::before_wake();
        call()
    }
}

hook! {
    /// See pthread_kill(3).
    fn pthread_kill(thread: libc::pthread_t, signal: c_int) -> c_int, call => {
        thread_ledger::before_wake();
        call()
    }
}

hook! {
    /// See sigqueue(3).
    fn sigqueue(process: libc::pid_t, signal: c_int, value: *mut c_void) -> c_int, call => {
        thread_ledger::before_wake();
        call()
    }
}

hook! {
    /// See pthread_sigqueue(3).
    fn pthread_sigqueue(thread: libc::pthread_t, signal: c_int, value: *mut c_void) -> c_int,
    call => {
        thread_ledger::before_wake();
        call()
    }
}
