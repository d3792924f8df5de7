//! Sleeping for a time. Nobody wakes the sleeper, so it owes what others earned meanwhile; it pays as
//! soon as it is awake, before it hands on anything that its virtual time is not ripe for.

use core::ffi::{c_int, c_uint};

use super::super::real_functions::{SleepTime, Time};
use super::super::thread_ledger::after_outside;
use super::hook;

/// Sleeps, then pays.
#[inline]
fn sleeping<R>(call: impl FnOnce() -> R) -> R {
    let result = call();
    after_outside();
    result
}

hook! {
    /// See nanosleep(2).
    fn nanosleep(time: Time, left: SleepTime) -> c_int, call => sleeping(call)
}

hook! {
    /// See clock_nanosleep(2).
    fn clock_nanosleep(clock: libc::clockid_t, flags: c_int, time: Time, left: SleepTime) -> c_int,
    call => sleeping(call)
}

hook! {
    /// See usleep(3).
    fn usleep(time: c_uint) -> c_int, call => sleeping(call)
}

hook! {
    /// See sleep(3).
    fn sleep(time: c_uint) -> c_uint, call => sleeping(call)
}

hook! {
    /// See thrd_sleep(3).
    fn thrd_sleep(time: Time, left: SleepTime) -> c_int, call => sleeping(call)
}
