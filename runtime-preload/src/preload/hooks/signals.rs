//! SIGTRAP is the sampler's: the program sees an action of its own, and may never mask ours.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::super::syscalls::{change_signal_mask, kill_self, read_own_memory, syscall4};
use super::super::thread_local::{BLOCKS_TIMER, BLOCKS_TRAP, thread};
use super::super::{
    breakpoints, perf_event, program_trap, real_functions as real, shared, timer_sampler,
};

/// Handlers of the program whose mask has SIGTRAP in it, as far as it knows, by signal less one.
static MASKS_TRAP: AtomicU64 = AtomicU64::new(0);

const TRAP: u64 = 1 << (libc::SIGTRAP - 1);

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
    let call = |new: *const libc::sigaction| {
        // SAFETY: the caller's arguments, or a copy of its action.
        unsafe { real::sigaction()(signal, new, old) }
    };
    if !breakpoints::are_set() || !(1..=64).contains(&signal) {
        return call(new);
    }
    // A breakpoint in a handler that blocked SIGTRAP would end the program.
    // SAFETY: null or valid, the caller's promise.
    let mut mended = unsafe { new.as_ref() }.copied();
    let masks = mended.as_mut().is_some_and(|mended| {
        let word = first_word(&mut mended.sa_mask);
        let masks = *word & TRAP != 0;
        *word &= !TRAP;
        masks
    });
    let given = mended.as_ref().map_or(new, core::ptr::from_ref);
    let result = call(given);
    if result != 0 {
        return result;
    }
    let bit = 1u64 << (signal - 1);
    let before = match (new.is_null(), masks) {
        (true, _) => MASKS_TRAP.load(Relaxed),
        (false, true) => MASKS_TRAP.fetch_or(bit, Relaxed),
        (false, false) => MASKS_TRAP.fetch_and(!bit, Relaxed),
    };
    // SAFETY: null or valid, the caller's promise; the real function has written to it.
    if let Some(old) = unsafe { old.as_mut() }.filter(|_| before & bit != 0) {
        *first_word(&mut old.sa_mask) |= TRAP;
    }
    result
}

/// The first 64 signals of a set: all that there are.
fn first_word(set: &mut libc::sigset_t) -> &mut u64 {
    // SAFETY: a signal set is at least 8 bytes, and aligned for them.
    unsafe { &mut *core::ptr::from_mut(set).cast::<u64>() }
}

/// Takes SIGTRAP out of the masks of handlers that were there before our breakpoints.
pub fn mend_handlers() {
    for signal in 1..=64 {
        if signal == libc::SIGTRAP || signal == timer_sampler::signal() {
            continue;
        }
        // SAFETY: all-zero is a valid sigaction to be filled in.
        let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
        // SAFETY: only asks.
        let asked = unsafe { real::sigaction()(signal, core::ptr::null(), &mut action) };
        let handled = ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction);
        if asked == 0 && handled && *first_word(&mut action.sa_mask) & TRAP != 0 {
            // SAFETY: the action as it was; ours, as the program's, takes SIGTRAP out.
            unsafe { sigaction(signal, &action, core::ptr::null_mut()) };
        }
    }
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

/// The signals that must reach us: SIGTRAP and the timer sampler's, as far as they are in use.
fn kept_signals() -> u64 {
    let trap = if perf_event::is_running() { TRAP } else { 0 };
    trap | timer_bit()
}

fn timer_bit() -> u64 {
    match timer_sampler::signal() {
        0 => 0,
        signal => 1 << (signal - 1),
    }
}

/// What [`ThreadLocal::blocks`](super::super::thread_local::ThreadLocal::blocks) says of these.
fn flags(set: u64) -> u32 {
    let trap = if set & TRAP != 0 { BLOCKS_TRAP } else { 0 };
    let timer = set & timer_bit() != 0;
    trap | if timer { BLOCKS_TIMER } else { 0 }
}

/// The other way round.
fn signals(flags: u32) -> u64 {
    let trap = if flags & BLOCKS_TRAP != 0 { TRAP } else { 0 };
    let timer = flags & BLOCKS_TIMER != 0;
    trap | if timer { timer_bit() } else { 0 }
}

/// Makes our signals deliverable in the calling thread, which may have been made with all signals
/// blocked.
pub fn unblock_sampler() {
    let kept = kept_signals();
    if kept == 0 || shared::is_off() {
        return;
    }
    let before = change_signal_mask(libc::SIG_UNBLOCK, kept);
    thread().blocks.store(flags(before & kept), Relaxed);
}

/// Changes the calling thread's mask by `call`, but leaves our signals deliverable; the
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
    let kept = kept_signals();
    if kept == 0 {
        return call(None);
    }
    // SAFETY: null or valid, the caller's promise.
    let wanted = unsafe { new.as_ref() }.copied();
    let mended = wanted.filter(|set| how != libc::SIG_UNBLOCK && set & kept != 0);
    let result = call(mended.map(|set| set & !kept));
    if result != success {
        return result;
    }
    let thread = thread();
    let before = thread.blocks.load(Relaxed);
    if !old.is_null() && before != 0 {
        // SAFETY: valid, the caller's promise.
        let told = unsafe { old.read() } | signals(before);
        // SAFETY: as above.
        unsafe { old.write(told) };
    }
    if let Some(set) = wanted {
        let named = flags(set & kept);
        let blocks = match how {
            libc::SIG_BLOCK => before | named,
            libc::SIG_UNBLOCK => before & !named,
            libc::SIG_SETMASK => named,
            _ => before,
        };
        thread.blocks.store(blocks, Relaxed);
    }
    let blocks = thread.blocks.load(Relaxed) & BLOCKS_TRAP != 0;
    if !blocks && thread.pending.swap(0, Relaxed) != 0 {
        // It came while the program had it blocked.
        kill_self(libc::SIGTRAP);
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
        // SAFETY: the caller's arguments, but for our signals.
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
        // SAFETY: the caller's arguments, but for our signals.
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

/// The mask that a wait puts in force meanwhile: handlers that run then have it, too, so SIGTRAP is
/// taken out while there are breakpoints.
///
/// # Safety
/// `set` is null or valid.
pub unsafe fn while_waiting(set: *const libc::sigset_t) -> Option<libc::sigset_t> {
    if !breakpoints::are_set() {
        return None;
    }
    // SAFETY: null or valid, the caller's promise.
    let mut mended = *unsafe { set.as_ref() }?;
    let word = first_word(&mut mended);
    let had = *word & TRAP != 0;
    *word &= !TRAP;
    had.then_some(mended)
}

/// `syscall(SYS_rt_sigaction, signal, new, old, size)`: the mask is the fourth word of the kernel's
/// structure; the kernel's result.
pub fn raw_action(signal: u64, new: u64, old: u64, size: u64) -> i64 {
    /// Handler, flags, restorer, mask.
    const WORDS: usize = 4;
    let mut action = [0u64; WORDS];
    let plain = !breakpoints::are_set() || new == 0 || size != 8;
    if plain || signal == libc::SIGTRAP as u64 || !read_own_memory(new, &mut action) {
        // SAFETY: forwarded as the program gave them; the kernel checks its pointers.
        return unsafe { syscall4(libc::SYS_rt_sigaction, signal, new, old, size) };
    }
    action[WORDS - 1] &= !TRAP;
    // SAFETY: a copy of the program's action; the kernel checks the other pointer.
    unsafe {
        syscall4(
            libc::SYS_rt_sigaction,
            signal,
            action.as_ptr() as u64,
            old,
            size,
        )
    }
}
