//! The library's constructor: finds the controller, maps the region, starts the sampler.

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::hooks::signals;
use super::real_functions::{resolve_all, variable};
use super::{breakpoints, greeting, perf_event, process_copies, shared, threads, timer_sampler};
use crate::handshake::{MAGIC, Ready, SOCKET_ENV, Welcome, sampler};

/// 1 once start-up has begun: it happens once.
static STARTED: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// glibc passes the program's arguments to constructors.
type Constructor = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char);

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: Constructor = constructor;

extern "C" fn constructor(_count: c_int, _words: *mut *mut c_char, environment: *mut *mut c_char) {
    start(environment);
}

/// Starts before our constructor did: a library's constructor makes threads or progress points.
#[inline]
pub fn start_early() {
    if STARTED.load(Relaxed) == 0 {
        // SAFETY: libc sets `environ` before any constructor runs; read once.
        start(unsafe { environ });
    }
}

fn start(environment: *mut *mut c_char) {
    if STARTED.swap(1, Relaxed) != 0 {
        return;
    }
    resolve_all();
    // SAFETY: the process's environment, a NULL-terminated list.
    let Some(path) = (unsafe { variable(environment.cast_const().cast(), SOCKET_ENV) }) else {
        return;
    };
    let Some(greeting) = greeting::greet(path) else {
        return;
    };
    let welcome = greeting.welcome;
    // SAFETY: `greet` has mapped it; nothing unmaps it.
    unsafe { shared::set_region(greeting.region) };
    threads::prepare();
    process_copies::prepare(path, &welcome);
    if let Some(region) = shared::region() {
        // The environment's list lies above every frame of the main thread.
        threads::register(region, environment as u64);
    }
    if welcome.no_follow != 0 {
        // SAFETY: the process's environment at start-up, before other threads.
        unsafe { super::environment::leave(environment) };
    }
    let (ready, event) = start_sampler(&welcome);
    if let Some(region) = shared::region() {
        breakpoints::prepare(region);
    }
    // Whoever started us may have blocked it.
    signals::unblock_sampler();
    if breakpoints::are_set() {
        signals::mend_handlers();
        if let Some(region) = shared::region() {
            breakpoints::set(region);
        }
    }
    greeting.finish(ready, event);
}

/// Starts the sampler that the controller wants, in the calling thread and those it will make.
pub fn start_sampler(welcome: &Welcome) -> (Ready, Option<i32>) {
    let mut ready = Ready {
        magic: MAGIC,
        sampler: sampler::NONE,
        perf_errno: 0,
        exclude_kernel: welcome.exclude_kernel,
        reserved: 0,
    };
    if welcome.sampler == sampler::SIGTRAP {
        match perf_event::start(welcome.period, welcome.exclude_kernel != 0) {
            Ok(event) => {
                ready.sampler = sampler::SIGTRAP;
                return (ready, Some(event));
            }
            Err(errno) => ready.perf_errno = errno as u32,
        }
    }
    let quiet = welcome.sampler == sampler::QUIET_TIMER;
    let timer = quiet || welcome.sampler == sampler::TIMER || welcome.fall_back != 0;
    if timer && timer_sampler::start(welcome.period, quiet).is_ok() {
        ready.sampler = sampler::TIMER;
        timer_sampler::start_thread(super::thread_local::thread());
    }
    (ready, None)
}
