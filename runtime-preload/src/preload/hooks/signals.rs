//! SIGTRAP is the sampler's: the program sees an action of its own, and may never mask ours.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use super::super::syscalls::{change_signal_mask, kill_self, read_own_memory, syscall4};
use super::super::thread_local::thread;
use super::super::{perf_event, program_trap, real_functions as real, shared, timer_sampler};

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
        unsafe { program_trap::change(new, old) };
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
        unsafe { program_trap::change(&new, &mut old) };
        return old.sa_sigaction;
    }
    // SAFETY: the caller's arguments.
    unsafe { real::signal()(signal, handler) }
}

/// The signal that samples come by; 0 while none do.
fn sampler_signal() -> c_int {
    if perf_event::is_running() {
        libc::SIGTRAP
    } else {
        timer_sampler::signal()
    }
}

/// Makes the sampler's signal deliverable in the calling thread, which may have been made with all
/// signals blocked.
pub fn unblock_sampler() {
    let signal = sampler_signal();
    if signal == 0 || shared::is_off() {
        return;
    }
    let bit = 1u64 << (signal - 1);
    let before = change_signal_mask(libc::SIG_UNBLOCK, bit);
    thread().blocks.store(u32::from(before & bit != 0), Relaxed);
}

/// Changes the calling thread's mask by `call`, but leaves the sampler's signal deliverable; the
/// program is told that it has the mask that it asked for.
///
/// # Safety
/// `new` and `old` are null or point to the 8 bytes of signals 1 to 64.
unsafe fn change_mask<R: PartialEq>(
    how: c_int,
    new: *const u64,
    old: *mut u64,
    success: R,
    call: impl FnOnce(Option<u64>) -> R,
) -> R {
    let signal = sampler_signal();
    if signal == 0 {
        return call(None);
    }
    let bit = 1u64 << (signal - 1);
    // SAFETY: null or valid, the caller's promise.
    let wanted = unsafe { new.as_ref() }.copied();
    let mended = wanted.filter(|set| how != libc::SIG_UNBLOCK && set & bit != 0);
    let result = call(mended.map(|set| set & !bit));
    if result != success {
        return result;
    }
    let thread = thread();
    if !old.is_null() && thread.blocks.load(Relaxed) != 0 {
        // SAFETY: valid, the caller's promise.
        let told = unsafe { old.read() } | bit;
        // SAFETY: as above.
        unsafe { old.write(told) };
    }
    if let Some(set) = wanted {
        match how {
            libc::SIG_BLOCK if set & bit != 0 => thread.blocks.store(1, Relaxed),
            libc::SIG_UNBLOCK if set & bit != 0 => thread.blocks.store(0, Relaxed),
            libc::SIG_SETMASK => thread.blocks.store(u32::from(set & bit != 0), Relaxed),
            _ => {}
        }
    }
    if thread.blocks.load(Relaxed) == 0 && thread.pending.swap(0, Relaxed) != 0 {
        // It came while the program had it blocked.
        kill_self(signal);
    }
    result
}

/// The program's set, or a copy of it whose first 64 signals are `mended`.
///
/// # Safety
/// `set` is valid if `mended` is something.
unsafe fn with_first_word(
    set: *const libc::sigset_t,
    mended: Option<u64>,
) -> Option<libc::sigset_t> {
    let mended = mended?;
    // SAFETY: valid, the caller's promise.
    let mut copy = unsafe { set.read() };
    // SAFETY: a signal set is at least 8 bytes, and aligned for them.
    unsafe { (&raw mut copy).cast::<u64>().write(mended) };
    Some(copy)
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
    let call = |mended| {
        // SAFETY: the caller's argument.
        let mended = unsafe { with_first_word(set, mended) };
        let set = mended.as_ref().map_or(set, core::ptr::from_ref);
        // SAFETY: the caller's arguments, but for the sampler's signal.
        unsafe { real::pthread_sigmask()(how, set, old) }
    };
    // SAFETY: the caller's arguments.
    unsafe { change_mask(how, set.cast(), old.cast(), 0, call) }
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
    let call = |mended| {
        // SAFETY: the caller's argument.
        let mended = unsafe { with_first_word(set, mended) };
        let set = mended.as_ref().map_or(set, core::ptr::from_ref);
        // SAFETY: the caller's arguments, but for the sampler's signal.
        unsafe { real::sigprocmask()(how, set, old) }
    };
    // SAFETY: the caller's arguments.
    unsafe { change_mask(how, set.cast(), old.cast(), 0, call) }
}

/// `syscall(SYS_rt_sigprocmask, how, set, old, size)`; the kernel's result.
pub fn raw_mask(how: u64, set: u64, old: u64, size: u64) -> i64 {
    let mut word = [0u64];
    let plain = set == 0 || size != 8 || shared::is_off();
    // Pointers that cannot be read are the kernel's to refuse.
    if plain || !read_own_memory(set, &mut word) {
        // SAFETY: forwarded as the program gave them; the kernel checks its pointers.
        return unsafe { syscall4(libc::SYS_rt_sigprocmask, how, set, old, size) };
    }
    let call = |mended: Option<u64>| {
        let set = mended
            .as_ref()
            .map_or(set, |mended| core::ptr::from_ref(mended) as u64);
        // SAFETY: as the program gave them, or our copy of its set.
        unsafe { syscall4(libc::SYS_rt_sigprocmask, how, set, old, size) }
    };
    // SAFETY: our copy; `old` is written to only after the kernel has done so.
    unsafe { change_mask(how as c_int, word.as_ptr(), old as *mut u64, 0, call) }
}
