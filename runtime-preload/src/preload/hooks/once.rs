//! pthread_once and call_once: who runs the routine wakes the others, who finds it running waits.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};

use super::super::real_functions as real;
use super::super::thread_local::thread;
use super::super::{shared, thread_ledger};
use super::{after_block, before_block};

/// Bit of glibc's control word: the routine has run.
const DONE: i32 = 2;

type Routine = extern "C" fn();
type RealOnce = unsafe extern "C" fn(*mut c_int, Option<Routine>) -> c_int;

/// See pthread_once(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_once(control: *mut c_int, routine: Option<Routine>) -> c_int {
    // SAFETY: the caller's arguments.
    if unsafe { must_look(control) } {
        let call = real::pthread_once();
        // SAFETY: the caller's arguments.
        return unsafe { run_or_wait(call, control, routine) };
    }
    // SAFETY: the caller's arguments.
    unsafe { real::pthread_once()(control, routine) }
}

/// See call_once(3). glibc's is its pthread_once by another name.
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn call_once(control: *mut c_int, routine: Option<Routine>) {
    // SAFETY: the caller's arguments.
    if unsafe { must_look(control) } {
        let call = real::pthread_once();
        // SAFETY: the caller's arguments.
        unsafe { run_or_wait(call, control, routine) };
        return;
    }
    // SAFETY: the caller's arguments.
    unsafe { real::call_once()(control, routine) }
}

/// # Safety
/// `control` is null or valid.
#[inline]
unsafe fn must_look(control: *mut c_int) -> bool {
    // SAFETY: null, or the caller's control word.
    let word = unsafe { control.cast::<AtomicI32>().as_ref() };
    shared::is_active() && word.is_some_and(|word| word.load(Relaxed) & DONE == 0)
}

/// # Safety
/// As pthread_once.
#[inline(never)]
unsafe extern "C" fn run_or_wait(
    call: RealOnce,
    control: *mut c_int,
    routine: Option<Routine>,
) -> c_int {
    let Some(routine) = routine else {
        // SAFETY: the caller's arguments.
        return unsafe { call(control, None) };
    };
    let wait = before_block();
    if !wait.has_begun() {
        // No ledger, or inside another wait, as when the unwinder of a cancelled thread gets ready.
        // SAFETY: the caller's arguments.
        return unsafe { call(control, Some(routine)) };
    }
    // The routine has no argument, so it is handed over in the thread's own words. It may call
    // pthread_once itself, so the outer one's is kept here.
    let cell = &thread().once;
    let outer = cell.swap(routine as usize as u64, Relaxed);
    // SAFETY: the caller's control word, and a routine that runs the caller's.
    let result = unsafe { call(control, Some(run)) };
    // Taken: the routine ran here, and nobody was waited for.
    let waited = cell.swap(outer, Relaxed) != 0;
    after_block(wait, waited && result == 0);
    result
}

/// Runs the routine, then pays before those who wait for it are woken.
extern "C" fn run() {
    let routine = thread().once.swap(0, Relaxed) as usize;
    thread_ledger::end_of_waiting();
    if routine != 0 {
        // SAFETY: `run_or_wait` put the caller's routine there.
        let routine = unsafe { core::mem::transmute::<usize, Routine>(routine) };
        routine();
    }
    thread_ledger::before_wake();
}
