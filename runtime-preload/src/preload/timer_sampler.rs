//! The timer sampler: a CPU-time timer a thread (timer_create(2), SIGEV_THREAD_ID).
//!
//! For machines that refuse the perf event. The kernel's tick bounds its rate (4 ms at HZ=250),
//! so a sample counts for 1 + overrun periods.

use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};

use super::perf_event::install;
use super::sample_handler::{interrupted_registers, take_sample};
use super::syscalls::{syscall4, thread_id};
use super::thread_local::ThreadLocal;

/// The real-time signal in use; 0 while this sampler does not run.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
static PERIOD: AtomicU64 = AtomicU64::new(0);

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

/// The signal that this sampler uses; 0 while it does not run.
pub fn signal() -> i32 {
    SIGNAL.load(Relaxed)
}

/// Takes the highest real-time signal that the program has not set up; under a debugger, which
/// stops at those, SIGVTALRM (`quiet`).
pub fn start(period: u64, quiet: bool) -> Result<(), i32> {
    if SIGNAL.load(Relaxed) != 0 {
        // A forked child: handlers are inherited, timers are not.
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
            return Ok(());
        }
    }
    Err(libc::EBUSY)
}

/// Starts the calling thread's timer, if this sampler runs and the thread has none.
pub fn start_thread(thread: &ThreadLocal) {
    let signal = SIGNAL.load(Relaxed);
    if signal == 0 || thread.timer.load(Relaxed) != 0 {
        return;
    }
    let event = Event {
        value: 0,
        signal,
        notify: libc::SIGEV_THREAD_ID,
        thread: thread_id() as i32,
        rest: [0; 11],
    };
    let mut timer = 0i32;
    let clock = libc::CLOCK_THREAD_CPUTIME_ID as u64;
    // SAFETY: the event and the place for the timer's id are valid.
    let made = unsafe {
        syscall4(
            libc::SYS_timer_create,
            clock,
            &raw const event as u64,
            &raw mut timer as u64,
            0,
        )
    };
    if made < 0 {
        return;
    }
    thread.timer.store(timer as u32 + 1, Relaxed);
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
}

/// Stops the calling thread's timer.
pub fn stop_thread(thread: &ThreadLocal) {
    let timer = thread.timer.swap(0, Relaxed);
    if timer != 0 {
        // SAFETY: a timer of this thread's own.
        unsafe { syscall4(libc::SYS_timer_delete, u64::from(timer - 1), 0, 0, 0) };
    }
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
