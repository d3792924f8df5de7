//! The program's own SIGTRAP action, kept here while the signal is the sampler's.
//!
//! Traps that are not samples go to it as the kernel would send them: with its mask, once only if
//! it said so, and to the default action where the kernel lets no handler or mask stand in the way.

use core::sync::atomic::{
    AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Relaxed},
};

use super::syscalls::{kill_self, set_signal_mask};
use super::thread_local::{BLOCKS_TRAP, thread};

/// A `SA_SIGINFO` handler.
type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// The action: handler, flags and mask (of signals 1 to 64).
static HANDLER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static FLAGS: AtomicU32 = AtomicU32::new(0);
static MASK: AtomicU64 = AtomicU64::new(0);

const TRAP: u64 = 1 << (libc::SIGTRAP - 1);
/// Signals that no mask holds back.
const UNMASKABLE: u64 = (1 << (libc::SIGKILL - 1)) | (1 << (libc::SIGSTOP - 1));

/// The first 64 signals of a set: all that there are.
fn first_word(set: &libc::sigset_t) -> u64 {
    // SAFETY: a signal set is at least 8 bytes, and aligned for them.
    unsafe { core::ptr::from_ref(set).cast::<u64>().read() }
}

/// Keeps the action that is in force when ours replaces it.
pub fn remember(action: &libc::sigaction) {
    FLAGS.store(action.sa_flags as u32, Relaxed);
    MASK.store(first_word(&action.sa_mask), Relaxed);
    HANDLER.store(action.sa_sigaction, Relaxed);
}

/// The program changes or asks for its action, while ours stays installed.
///
/// # Safety
/// The pointers are null or valid, as sigaction(2) demands.
pub unsafe fn change(new: *const libc::sigaction, old: *mut libc::sigaction) {
    // SAFETY: all-zero is a valid sigaction.
    let mut before: libc::sigaction = unsafe { core::mem::zeroed() };
    before.sa_sigaction = HANDLER.load(Relaxed);
    before.sa_flags = FLAGS.load(Relaxed) as i32;
    let mask = MASK.load(Relaxed);
    // SAFETY: as in `first_word`.
    unsafe { (&raw mut before.sa_mask).cast::<u64>().write(mask) };
    // SAFETY: null or valid, the caller's promise; read before the other may be written.
    if let Some(new) = unsafe { new.as_ref() } {
        remember(new);
    }
    if !old.is_null() {
        // SAFETY: valid, the caller's promise.
        unsafe { old.write(before) };
    }
}

/// Passes a SIGTRAP that is no sample to the program. `interrupted` is the mask to return to.
///
/// # Signal safety
/// Made for signal handlers.
pub fn pass_on(
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
    code: i32,
    interrupted: u64,
) {
    // Codes of signals that a process sent are not positive (sigaction(2)); the kernel's own traps
    // cannot be ignored or blocked.
    let forced = code > 0;
    let thread = thread();
    if thread.blocks.load(Relaxed) & BLOCKS_TRAP != 0 && !forced {
        thread.pending.store(1, Relaxed);
        return;
    }
    let flags = FLAGS.load(Relaxed) as i32;
    let handler = if flags & libc::SA_RESETHAND != 0 {
        HANDLER.swap(libc::SIG_DFL, AcqRel)
    } else {
        HANDLER.load(Relaxed)
    };
    let default = handler == libc::SIG_DFL || forced && handler == libc::SIG_IGN;
    if default || forced && thread.blocks.load(Relaxed) & BLOCKS_TRAP != 0 {
        end_by(signal);
        return;
    }
    if handler == libc::SIG_IGN {
        return;
    }
    // As the kernel does before it calls a handler; but samples go on.
    let mask = (interrupted | MASK.load(Relaxed)) & !(TRAP | UNMASKABLE);
    set_signal_mask(mask);
    // SAFETY: the program registered this address as its handler; extra arguments are ignored by
    // one without SA_SIGINFO.
    let handler: Handler = unsafe { core::mem::transmute(handler) };
    handler(signal, info, context);
}

/// Lets the signal end the process, as it would have without us.
fn end_by(signal: i32) {
    // SAFETY: all-zero is a valid sigaction and means SIG_DFL.
    let action: libc::sigaction = unsafe { core::mem::zeroed() };
    let set = super::real_functions::sigaction();
    // SAFETY: a valid action; the old one is not wanted.
    unsafe { set(signal, &action, core::ptr::null_mut()) };
    // Blocked until our handler returns.
    kill_self(signal);
}
