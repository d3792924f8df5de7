//! SIGTRAP is the sampler's: the program sees an action of its own, and may never mask ours.

use core::ffi::c_int;

use super::super::{perf_event, real_functions as real, shared};

/// See sigaction(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if signal == libc::SIGTRAP && perf_event::is_running() {
        // SAFETY: the caller's arguments.
        unsafe { perf_event::program_action(new, old) };
        return 0;
    }
    // SAFETY: the caller's arguments.
    unsafe { real::sigaction()(signal, new, old) }
}

/// See signal(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    if signal == libc::SIGTRAP && perf_event::is_running() {
        // SAFETY: all-zero is a valid sigaction.
        let mut new: libc::sigaction = unsafe { core::mem::zeroed() };
        // SAFETY: as above.
        let mut old: libc::sigaction = unsafe { core::mem::zeroed() };
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESTART;
        // SAFETY: both are valid.
        unsafe { perf_event::program_action(&new, &mut old) };
        return old.sa_sigaction;
    }
    // SAFETY: the caller's arguments.
    unsafe { real::signal()(signal, handler) }
}

/// A copy of the caller's set without SIGTRAP, if it would block it.
///
/// # Safety
/// `set` is null or valid.
unsafe fn without_trap(how: c_int, set: *const libc::sigset_t) -> Option<libc::sigset_t> {
    if how == libc::SIG_UNBLOCK || shared::region().is_none() {
        return None;
    }
    // SAFETY: null or valid, the caller's promise.
    let mut set = unsafe { set.as_ref() }.copied()?;
    // SAFETY: a valid set and signal.
    unsafe { libc::sigdelset(&mut set, libc::SIGTRAP) };
    Some(set)
}

/// See pthread_sigmask(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's argument.
    let mended = unsafe { without_trap(how, set) };
    let set = mended.as_ref().map_or(set, core::ptr::from_ref);
    // SAFETY: the caller's arguments, but for SIGTRAP.
    unsafe { real::pthread_sigmask()(how, set, old) }
}

/// See sigprocmask(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's argument.
    let mended = unsafe { without_trap(how, set) };
    let set = mended.as_ref().map_or(set, core::ptr::from_ref);
    // SAFETY: the caller's arguments, but for SIGTRAP.
    unsafe { real::sigprocmask()(how, set, old) }
}
