//! Waiting for a signal: one that a thread of this process sent counts as woken by it.
//!
//! The kernel says who sent it. pause(2) and sigsuspend(2) do not tell, as the handler has it; who
//! waits there is not excused.

use core::ffi::c_int;

use super::super::real_functions::{self as real, Time};
use super::super::thread_ledger::{after_block, before_block};
use super::hook;
use super::signals::while_waiting;

/// Where the sender's process id is in siginfo of signals that kill(2) and its kin sent.
const SENDER_AT: usize = 16;

/// Whether a thread of this process sent the signal.
///
/// # Safety
/// `info` is null or was filled in by the kernel.
unsafe fn is_own(info: *const libc::siginfo_t) -> bool {
    // SAFETY: null or valid, the caller's promise.
    let Some(code) = (unsafe { info.as_ref() }).map(|info| info.si_code) else {
        return false;
    };
    if ![libc::SI_USER, libc::SI_TKILL, libc::SI_QUEUE].contains(&code) {
        return false;
    }
    let at = info.cast::<u8>().wrapping_add(SENDER_AT).cast::<c_int>();
    // SAFETY: siginfo is 128 bytes; for these codes the sender is at this offset.
    let sender = unsafe { at.read() };
    sender == super::super::syscalls::process_id()
}

/// Waits as sigtimedwait does, and excuses the thread if one of this process sent the signal.
///
/// # Safety
/// As sigtimedwait.
unsafe fn wait(
    set: *const libc::sigset_t,
    info: *mut libc::siginfo_t,
    call: impl FnOnce(*const libc::sigset_t, *mut libc::siginfo_t) -> c_int,
) -> c_int {
    // SAFETY: all-zero is a valid siginfo to be filled in.
    let mut own: libc::siginfo_t = unsafe { core::mem::zeroed() };
    let info = if info.is_null() { &raw mut own } else { info };
    let wait = before_block();
    let result = call(set, info);
    // SAFETY: filled in if a signal was taken.
    let woken = result > 0 && unsafe { is_own(info) };
    after_block(wait, woken);
    result
}

hook! {
    /// See sigwaitinfo(2).
    fn sigwaitinfo(set: *const libc::sigset_t, info: *mut libc::siginfo_t) -> c_int, _call => {
        let real = real::sigwaitinfo();
        // SAFETY: the caller's set, and a place that is valid.
        let call = |set, info| unsafe { real(set, info) };
        // SAFETY: the caller's arguments.
        unsafe { wait(set, info, call) }
    }
}

hook! {
    /// See sigtimedwait(2).
    fn sigtimedwait(set: *const libc::sigset_t, info: *mut libc::siginfo_t, time: Time) -> c_int,
    _call => {
        let real = real::sigtimedwait();
        // SAFETY: the caller's set and time, and a place that is valid.
        let call = |set, info| unsafe { real(set, info, time) };
        // SAFETY: the caller's arguments.
        unsafe { wait(set, info, call) }
    }
}

hook! {
    /// See sigwait(3): sigwaitinfo that is not interrupted and returns the error.
    fn sigwait(set: *const libc::sigset_t, signal: *mut c_int) -> c_int, _call => {
        let real = real::sigwaitinfo();
        // SAFETY: the caller's set, and a place that is valid.
        let call = |set, info| unsafe { real(set, info) };
        loop {
            // SAFETY: the caller's set; the information is kept by `wait` itself.
            let result = unsafe { wait(set, core::ptr::null_mut(), call) };
            if result >= 0 {
                // SAFETY: null, which the real one would not survive either, or valid.
                if let Some(signal) = unsafe { signal.as_mut() } {
                    *signal = result;
                }
                return 0;
            }
            // SAFETY: no argument.
            let errno = unsafe { libc::__errno_location() };
            // SAFETY: the calling thread's errno.
            let errno = unsafe { *errno };
            if errno != libc::EINTR {
                return errno;
            }
        }
    }
}

/// See sigsuspend(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsuspend(set: *const libc::sigset_t) -> c_int {
    // SAFETY: the caller's argument.
    let mended = unsafe { while_waiting(set) };
    let set = mended.as_ref().map_or(set, core::ptr::from_ref);
    // SAFETY: the caller's set, but for our signals.
    unsafe { real::sigsuspend()(set) }
}
