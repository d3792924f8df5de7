//! The timer sampler: a CPU-time timer a thread (timer_create(2), SIGEV_THREAD_ID).
//!
//! For machines that refuse the perf event. The kernel's tick bounds its rate (4 ms at HZ=250),
//! so a sample counts for 1 + overrun periods. It costs nothing when threads change, so a process
//! that does so very often goes over to it while it runs: each thread by itself.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use super::perf_event::install;
use super::sample_handler::{interrupted_mask, interrupted_registers, take_sample};
use super::shared;
use super::syscalls::{syscall4, thread_id};
use super::thread_local::{BLOCKS_TIMER, ThreadLocal, thread};
use crate::layout::{MAX_THREADS, Region, ThreadSlot, gone_over};

/// The real-time signal in use; 0 while this sampler has never run.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// 1 while threads shall have timers: a forked child has the signal's handler, but other wishes.
static RUNS: AtomicU32 = AtomicU32::new(0);
/// 1 once a thread has begun to start this sampler in a process that runs already.
static GOING_OVER: AtomicU32 = AtomicU32::new(0);
static PERIOD: AtomicU64 = AtomicU64::new(0);

/// Timers that another thread made for the one in this slot, which has not taken it yet: the id plus
/// 1, or [`BUSY`].
static HANDED: [AtomicU32; MAX_THREADS] = [const { AtomicU32::new(0) }; MAX_THREADS];
/// It is just being made.
const BUSY: u32 = u32::MAX;

/// Offset of `si_overrun` in siginfo on 64-bit (asm-generic/siginfo.h).
const OVERRUN_AT: usize = 20;

/// `struct sigevent` as the kernel takes it.
#[repr(C)]
struct Event {
    value: u64,
    signal: i32,
    notify: i32,
    thread: i32,
    rest: [i32; 11],
}

/// The signal that this sampler uses; 0 while it has never run.
pub fn signal() -> i32 {
    SIGNAL.load(Relaxed)
}

/// Takes the highest real-time signal that the program has not set up; under a debugger, which
/// stops at those, SIGVTALRM (`quiet`).
pub fn start(period: u64, quiet: bool) -> Result<(), i32> {
    if SIGNAL.load(Relaxed) != 0 {
        // A forked child: handlers are inherited, timers are not.
        RUNS.store(1, Relaxed);
        return Ok(());
    }
    let set = super::real_functions::sigaction();
    let highest = libc::SIGRTMAX();
    let quiet = quiet.then_some(libc::SIGVTALRM);
    for signal in quiet.into_iter().chain((highest - 8..=highest).rev()) {
        // SAFETY: all-zero is a valid sigaction to be filled in.
        let mut old: libc::sigaction = unsafe { core::mem::zeroed() };
        // SAFETY: only asks.
        let asked = unsafe { set(signal, core::ptr::null(), &mut old) };
        if asked == 0 && old.sa_sigaction == libc::SIG_DFL {
            install(signal, on_tick)?;
            PERIOD.store(period, Relaxed);
            SIGNAL.store(signal, Relaxed);
            RUNS.store(1, Relaxed);
            return Ok(());
        }
    }
    Err(libc::EBUSY)
}

/// Starts the calling thread's timer, if this sampler runs and the thread has none.
pub fn start_thread(thread: &ThreadLocal) {
    if RUNS.load(Relaxed) == 0 || thread.timer.load(Relaxed) != 0 {
        return;
    }
    // One that was handed to the slot's last owner, who is gone.
    stop_handed(thread);
    if let Some(timer) = make(thread_id(), libc::CLOCK_THREAD_CPUTIME_ID as u32) {
        thread.timer.store(timer + 1, Relaxed);
    }
}

/// Makes a timer that ticks by `clock`, the CPU time of thread `tid`, which gets the signals.
fn make(tid: u32, clock: u32) -> Option<u32> {
    let signal = SIGNAL.load(Relaxed);
    if signal == 0 {
        return None;
    }
    let event = Event {
        value: 0,
        signal,
        notify: libc::SIGEV_THREAD_ID,
        thread: tid as i32,
        rest: [0; 11],
    };
    let mut timer = 0i32;
    // SAFETY: the event and the place for the timer's id are valid.
    let made = unsafe {
        syscall4(
            libc::SYS_timer_create,
            u64::from(clock),
            &raw const event as u64,
            &raw mut timer as u64,
            0,
        )
    };
    if made < 0 {
        return None;
    }
    let period = PERIOD.load(Relaxed) as i64;
    let step = libc::timespec {
        tv_sec: 0,
        tv_nsec: period,
    };
    let interval = libc::itimerspec {
        it_interval: step,
        it_value: step,
    };
    // SAFETY: the interval is valid; the old one is not wanted.
    unsafe {
        syscall4(
            libc::SYS_timer_settime,
            timer as u64,
            0,
            &raw const interval as u64,
            0,
        );
    }
    Some(timer as u32)
}

/// The clock of another thread's CPU time (pthread_getcpuclockid(3); the kernel's
/// include/linux/posix-timers.h: the id's complement above three bits that say what is meant).
fn clock_of(tid: u32) -> u32 {
    const ONE_THREAD: u32 = 4;
    const SCHEDULED: u32 = 2;
    !tid << 3 | ONE_THREAD | SCHEDULED
}

/// Makes timers for all threads that have ledgers: those that sleep could not make their own.
fn hand_out(region: &Region) {
    let high = region.header.threads_high.load(Relaxed) as usize;
    for (slot, handed) in region.threads.iter().zip(&HANDED).take(high) {
        let tid = slot.tid.load(Relaxed);
        if tid == 0 || tid > i32::MAX as u32 {
            continue;
        }
        let free = handed.compare_exchange(0, BUSY, Relaxed, Relaxed);
        if free.is_ok() {
            let timer = make(tid, clock_of(tid)).map_or(0, |timer| timer + 1);
            handed.store(timer, Relaxed);
        }
    }
}

/// What was handed to the calling thread's slot.
fn handed_to(thread: &ThreadLocal) -> Option<&'static AtomicU32> {
    let slot = thread.slot.load(Relaxed) as usize;
    let first = &raw const shared::region()?.threads as usize;
    let offset = slot.checked_sub(first)?;
    HANDED.get(offset / size_of::<ThreadSlot>())
}

/// Takes the timer that was handed to the calling thread, or makes one. Not now if it is just being
/// made: there will be another sample.
fn take_or_make(thread: &ThreadLocal) {
    match handed_to(thread).map(|handed| (handed, handed.load(Relaxed))) {
        Some((_, BUSY)) => {}
        Some((handed, timer)) if timer != 0 => {
            handed.store(0, Relaxed);
            thread.timer.store(timer, Relaxed);
        }
        _ => start_thread(thread),
    }
}

fn stop_handed(thread: &ThreadLocal) {
    let handed = handed_to(thread).filter(|handed| ![0, BUSY].contains(&handed.load(Relaxed)));
    if let Some(handed) = handed {
        delete(handed.swap(0, Relaxed));
    }
}

/// Deletes a timer, whose id is one less.
fn delete(timer: u32) {
    // SAFETY: a timer of ours.
    unsafe { syscall4(libc::SYS_timer_delete, u64::from(timer - 1), 0, 0, 0) };
}

/// In a forked child, before it greets: no thread has a timer, nor shall have one until it is told.
pub fn forget() {
    RUNS.store(0, Relaxed);
    if GOING_OVER.swap(0, Relaxed) != 0 {
        for handed in &HANDED {
            handed.store(0, Relaxed);
        }
    }
}

/// Whether the calling thread shall go over to a timer of its own and has not.
#[inline]
fn is_to_go_over(region: &Region, thread: &ThreadLocal) -> bool {
    region.header.go_over.load(Relaxed) != 0 && thread.timer.load(Relaxed) == 0
}

/// At the end of a sample of the perf event: goes over, if the controller wants that.
///
/// # Safety
/// `context` is the third argument of a `SA_SIGINFO` handler.
///
/// # Signal safety
/// Made for signal handlers.
pub unsafe fn go_over_in_handler(context: *mut libc::c_void) {
    let thread = thread();
    let Some(region) = shared::region().filter(|region| is_to_go_over(region, thread)) else {
        return;
    };
    if region.header.off.load(Relaxed) != 0 || !take_part(region) {
        return;
    }
    // The interrupted code may have blocked the signal before it was ours.
    let bit = 1u64 << (SIGNAL.load(Relaxed) - 1);
    // SAFETY: the caller's promise.
    let mask = unsafe { interrupted_mask(context) };
    if mask & bit != 0 {
        note_blocked(thread);
        let context = context.cast::<libc::ucontext_t>();
        // SAFETY: the kernel passes a valid ucontext (the caller's promise), and takes the mask from
        // its first 8 bytes when the handler returns.
        let place = unsafe { &raw mut (*context).uc_sigmask }.cast::<u64>();
        // SAFETY: as above.
        unsafe { place.write_unaligned(mask & !bit) };
    }
    take_or_make(thread);
}

/// In a thread's first hook of a window: takes its timer, if the controller wants that and the thread,
/// which was asleep, has had no sample since. It may have blocked the signal before that was ours.
#[inline]
pub fn go_over_in_hook(region: &Region, thread: &ThreadLocal) {
    if is_to_go_over(region, thread) {
        go_over_now(region, thread);
    }
}

#[cold]
fn go_over_now(region: &Region, thread: &ThreadLocal) {
    if !take_part(region) {
        return;
    }
    let bit = 1u64 << (SIGNAL.load(Relaxed) - 1);
    let mut old = 0u64;
    let unblock = libc::SIG_UNBLOCK as u64;
    // SAFETY: the kernel's part of a signal set is 8 bytes; both are valid.
    unsafe {
        syscall4(
            libc::SYS_rt_sigprocmask,
            unblock,
            &raw const bit as u64,
            &raw mut old as u64,
            8,
        )
    };
    if old & bit != 0 {
        note_blocked(thread);
    }
    take_or_make(thread);
}

/// The program goes on to believe that it has blocked the signal.
fn note_blocked(thread: &ThreadLocal) {
    let blocks = thread.blocks.load(Relaxed);
    thread.blocks.store(blocks | BLOCKS_TIMER, Relaxed);
}

/// Starts this sampler in the process, once; whether it runs. While another thread is just starting
/// it, it does not: there will be another sample.
fn take_part(region: &Region) -> bool {
    let header = &region.header;
    if GOING_OVER.swap(1, Relaxed) == 0 {
        let started = start(header.period.load(Relaxed), false).is_ok();
        let code = if started {
            gone_over::YES
        } else {
            gone_over::REFUSED
        };
        header.gone_over.store(code, Relaxed);
        if started {
            hand_out(region);
        }
    }
    header.gone_over.load(Relaxed) == gone_over::YES && SIGNAL.load(Relaxed) != 0
}

/// Stops the calling thread's timer.
pub fn stop_thread(thread: &ThreadLocal) {
    let timer = thread.timer.swap(0, Relaxed);
    if timer != 0 {
        delete(timer);
    }
    stop_handed(thread);
}

extern "C" fn on_tick(_signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo.
    let code = unsafe { (*info).si_code };
    if code != libc::SI_TIMER {
        return;
    }
    let at = info.cast::<u8>().wrapping_add(OVERRUN_AT).cast::<i32>();
    // SAFETY: siginfo is 128 bytes; for SI_TIMER the overrun is at this offset.
    let overrun = unsafe { at.read() };
    // SAFETY: the handler's own third argument.
    let registers = unsafe { interrupted_registers(context) };
    take_sample(registers, 1 + overrun.clamp(0, 1000) as u32);
}
