//! The sigtrap sampler: one inherited perf event that raises SIGTRAP in the sampled thread.
//!
//! perf_event_open(2). The event counts task-clock; its descriptor goes to the controller, so the
//! program keeps none. Threads made later inherit the event, forked and exec'd processes do not.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::sample_handler::{
    drop_own_sample, interrupted_mask, interrupted_registers, take_sample,
};
use super::syscalls::syscall6;
use super::{breakpoints, program_trap, timer_sampler};

const TYPE_SOFTWARE: u32 = 1;
const COUNT_TASK_CLOCK: u64 = 1;
const FLAG_INHERIT: u64 = 1 << 1;
const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
const FLAG_EXCLUDE_HV: u64 = 1 << 6;
const FLAG_INHERIT_THREAD: u64 = 1 << 35;
const FLAG_REMOVE_ON_EXEC: u64 = 1 << 36;
const FLAG_SIGTRAP: u64 = 1 << 37;
const OPEN_CLOEXEC: u64 = 1 << 3;
/// `si_code` of a perf event's SIGTRAP (asm-generic/siginfo.h).
const TRAP_PERF: i32 = 6;
/// Bit of `si_perf_flags`: SIGTRAP was blocked when the event fired.
const PERF_FLAG_ASYNC: u32 = 1;
/// Offset of `si_perf_flags` in siginfo on 64-bit (asm-generic/siginfo.h).
const PERF_FLAGS_AT: usize = 36;

/// `struct perf_event_attr` up to `sig_data` (PERF_ATTR_SIZE_VER7).
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    rest: [u64; 9],
    sig_data: u64,
}

const _: () = assert!(size_of::<Attributes>() == 128);

/// Whether SIGTRAP is ours.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Whether the program's SIGTRAP action is kept by us, because ours is installed.
pub fn is_running() -> bool {
    RUNNING.load(Relaxed)
}

/// Installs the SIGTRAP handler without an event, for breakpoints; the kernel's errno if that fails.
pub fn handle_traps() -> Result<(), i32> {
    if !is_running() {
        let old = install(libc::SIGTRAP, on_trap)?;
        program_trap::remember(&old);
        RUNNING.store(true, Relaxed);
    }
    Ok(())
}

/// Installs the SIGTRAP handler and opens the event on the calling thread; the descriptor, or the
/// kernel's errno.
pub fn start(period: u64, exclude_kernel: bool) -> Result<i32, i32> {
    if is_running() {
        // A forked child: handlers are inherited, events are not.
        return open(period, exclude_kernel);
    }
    let old = install(libc::SIGTRAP, on_trap)?;
    let event = match open(period, exclude_kernel) {
        Ok(event) => event,
        Err(errno) => {
            // SAFETY: the action that was there before.
            unsafe {
                super::real_functions::sigaction()(libc::SIGTRAP, &old, core::ptr::null_mut())
            };
            return Err(errno);
        }
    };
    program_trap::remember(&old);
    RUNNING.store(true, Relaxed);
    Ok(event)
}

/// Opens an event for the calling thread and the threads it will make.
fn open(period: u64, exclude_kernel: bool) -> Result<i32, i32> {
    let mut flags =
        FLAG_INHERIT | FLAG_INHERIT_THREAD | FLAG_REMOVE_ON_EXEC | FLAG_SIGTRAP | FLAG_EXCLUDE_HV;
    if exclude_kernel {
        flags |= FLAG_EXCLUDE_KERNEL;
    }
    let attributes = Attributes {
        kind: TYPE_SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: COUNT_TASK_CLOCK,
        period,
        sample_type: 0,
        read_format: 0,
        flags,
        rest: [0; 9],
        sig_data: 0,
    };
    let any_processor = -1i64 as u64;
    let no_group = -1i64 as u64;
    // SAFETY: `attributes` is a valid perf_event_attr of the size it names.
    let result = unsafe {
        syscall6(
            libc::SYS_perf_event_open,
            [
                &raw const attributes as u64,
                0,
                any_processor,
                no_group,
                OPEN_CLOEXEC,
                0,
            ],
        )
    };
    if result < 0 {
        Err(-result as i32)
    } else {
        Ok(result as i32)
    }
}

/// A `SA_SIGINFO` handler.
pub type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// Installs a handler of ours and returns the action before it. Every signal but the synchronous faults is blocked in it, so that
/// no handler of the program nests on a small stack or jumps out of a pause.
pub fn install(signal: i32, handler: Handler) -> Result<libc::sigaction, i32> {
    // SAFETY: all-zero is a valid sigaction.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the mask is a valid sigset.
    unsafe { libc::sigfillset(&mut action.sa_mask) };
    for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL] {
        // SAFETY: the mask is a valid sigset and the signal exists.
        unsafe { libc::sigdelset(&mut action.sa_mask, fault) };
    }
    // SAFETY: all-zero is a valid sigaction to be filled in.
    let mut old: libc::sigaction = unsafe { core::mem::zeroed() };
    let set = super::real_functions::sigaction();
    // SAFETY: both actions are valid; the handler follows the rules of signal handlers.
    if unsafe { set(signal, &action, &mut old) } != 0 {
        return Err(libc::EINVAL);
    }
    Ok(old)
}

extern "C" fn on_trap(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo.
    let code = unsafe { (*info).si_code };
    if code != TRAP_PERF {
        // SAFETY: the handler's own third argument.
        if code == libc::SI_KERNEL && unsafe { breakpoints::visit(context) } {
            return;
        }
        // SAFETY: the handler's own third argument.
        let mask = unsafe { interrupted_mask(context) };
        program_trap::pass_on(signal, info, context, code, mask);
        return;
    }
    let at = info.cast::<u8>().wrapping_add(PERF_FLAGS_AT).cast::<u32>();
    // SAFETY: siginfo is 128 bytes; for TRAP_PERF the flags are at this offset.
    let flags = unsafe { at.read() };
    if flags & PERF_FLAG_ASYNC != 0 {
        drop_own_sample(1);
        return;
    }
    // SAFETY: the handler's own third argument.
    let registers = unsafe { interrupted_registers(context) };
    take_sample(registers, 1);
    // SAFETY: the handler's own third argument.
    unsafe { timer_sampler::go_over_in_handler(context) };
}
