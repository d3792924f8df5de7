//! Threads: who has which ledger slot, from a thread's start to its end.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::sync::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use super::hooks::signals;
use super::syscalls::{thread_cpu, thread_id};
use super::thread_local::{ThreadLocal, thread};
use super::{shared, thread_kinds, thread_ledger, timer_sampler};
use crate::layout::{MAX_THREADS, Region, ThreadSlot};

/// Thread id of a slot that is taken by a thread not started yet.
const RESERVED: u32 = u32::MAX;
/// How far above the trampoline's frame the stack is still this thread's (`start_thread`'s frame;
/// glibc's thread descriptor lies beyond it and is larger than this).
const ABOVE_TRAMPOLINE: u64 = 512;

/// A thread's start routine.
pub type Routine = extern "C" fn(*mut c_void) -> *mut c_void;

/// What a new thread shall run, one a slot.
struct Start(UnsafeCell<Option<(Routine, *mut c_void)>>);
// SAFETY: entry i is written by the creator while it holds slot i as RESERVED and read by the new
// thread alone; pthread_create orders the two.
unsafe impl Sync for Start {}

static STARTS: [Start; MAX_THREADS] = [const { Start(UnsafeCell::new(None)) }; MAX_THREADS];
/// Where to look for a free slot first.
static HINT: AtomicU32 = AtomicU32::new(0);
/// Key whose destructor closes the ledger of a thread, however it ends; `u32::MAX`: none.
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Makes the key whose destructor sees threads end.
pub fn prepare() {
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: a valid place for the key, a destructor of the right type.
    if unsafe { libc::pthread_key_create(&mut key, Some(on_thread_exit)) } == 0 {
        KEY.store(key, Relaxed);
    }
}

/// Takes a free slot for `tid`.
fn take_slot(region: &'static Region, tid: u32) -> Option<usize> {
    let first = HINT.load(Relaxed) as usize;
    for probe in 0..MAX_THREADS {
        let index = (first + probe) % MAX_THREADS;
        let slot = &region.threads[index];
        // Acquire: partner of the Release in `free_slot`.
        let free = slot.tid.load(Relaxed) == 0;
        if free && slot.tid.compare_exchange(0, tid, Acquire, Relaxed).is_ok() {
            HINT.store((index as u32 + 1) % MAX_THREADS as u32, Relaxed);
            region
                .header
                .threads_high
                .fetch_max(index as u32 + 1, Relaxed);
            reset(region, slot);
            return Some(index);
        }
    }
    region.header.threads_lost.fetch_add(1, Relaxed);
    None
}

/// A fresh ledger: nothing owed, no history.
fn reset(region: &'static Region, slot: &ThreadSlot) {
    slot.local.store(region.global.g.load(Relaxed), Relaxed);
    for cell in [
        &slot.prepaid,
        &slot.window,
        &slot.line,
        &slot.partial,
        &slot.look_time,
        &slot.look_raised,
        &slot.segment,
        &slot.segment_time,
        &slot.cpu_mark,
        &slot.share,
        &slot.share_samples,
        &slot.run,
        &slot.stack_top,
        &slot.samples,
        &slot.hits,
        &slot.credited,
        &slot.paused,
        &slot.excused,
        &slot.kind,
        &slot.stretch[0],
        &slot.stretch[1],
        &slot.wait_window,
        &slot.hook_time,
        &slot.waits,
        &slot.pace,
        &slot.looks_ahead,
        &slot.inside_since,
    ] {
        cell.store(0, Relaxed);
    }
}

fn free_slot(slot: &ThreadSlot) {
    slot.pace.store(0, Relaxed);
    // Release: partner of the Acquire in `take_slot`.
    slot.tid.store(0, Release);
}

/// Registers the calling thread, whose stack ends at `stack_top` (0: unknown).
pub fn register(region: &'static Region, stack_top: u64) {
    let thread = thread();
    if !thread.slot.load(Relaxed).is_null() || thread.ended.load(Relaxed) != 0 {
        return;
    }
    let tid = thread_id();
    thread.tid.store(tid, Relaxed);
    let index = take_slot(region, tid);
    let Some(slot) = index.and_then(|index| region.threads.get(index)) else {
        return;
    };
    slot.stack_top.store(stack_top, Relaxed);
    slot.cpu_mark.store(thread_cpu(), Relaxed);
    thread
        .slot
        .store(core::ptr::from_ref(slot).cast_mut(), Relaxed);
    timer_sampler::start_thread(thread);
}

/// The calling thread's slot, for the sample handler; threads that no hook has seen get one.
/// `None` where the thread has ended its ledger, or shares its thread-local block with another.
pub fn slot_in_handler(
    region: &'static Region,
    thread: &'static ThreadLocal,
) -> Option<&'static ThreadSlot> {
    if thread.inside.load(Relaxed) == 0 {
        if thread.slot.load(Relaxed).is_null() {
            register(region, 0);
        } else if thread.tid.load(Relaxed) != thread_id() {
            return None;
        }
    }
    // SAFETY: null or a slot of the region.
    unsafe { thread.slot.load(Relaxed).as_ref() }
}

/// Reserves a slot and a start record for a thread about to be made; the value for its argument.
pub fn reserve(routine: Routine, argument: *mut c_void) -> Option<usize> {
    let region = shared::region()?;
    if region.header.off.load(Relaxed) != 0 {
        return None;
    }
    let index = take_slot(region, RESERVED)?;
    let slot = &region.threads[index];
    // SAFETY: a null or valid slot of the region.
    if let Some(parent) = unsafe { thread().slot.load(Relaxed).as_ref() } {
        // The parent has paid, so its child owes nothing that the parent does not.
        slot.local.store(parent.local.load(Relaxed), Relaxed);
        slot.window.store(parent.window.load(Relaxed), Relaxed);
    }
    slot.kind.store(
        thread_kinds::kind_of(region, routine as usize as u64, argument as u64),
        Relaxed,
    );
    // SAFETY: the slot is RESERVED by us, so nobody else touches its record.
    unsafe { *STARTS[index].0.get() = Some((routine, argument)) };
    Some(index)
}

/// Gives back a reserved slot: no thread was made.
pub fn cancel_reservation(index: usize) {
    if let (Some(region), Some(_)) = (shared::region(), STARTS.get(index)) {
        free_slot(&region.threads[index]);
    }
}

/// Where every reserved thread starts.
pub extern "C" fn trampoline(index: *mut c_void) -> *mut c_void {
    let index = index as usize;
    // SAFETY: `reserve` filled the record for this thread before it was made.
    let start = STARTS
        .get(index)
        .and_then(|start| unsafe { *start.0.get() });
    let Some((routine, argument)) = start else {
        return core::ptr::null_mut();
    };
    begin(index, core::ptr::from_ref(&index) as u64 + ABOVE_TRAMPOLINE);
    let result = routine(argument);
    end();
    result
}

#[inline(never)]
fn begin(index: usize, stack_top: u64) {
    let Some(region) = shared::region().filter(|_| !shared::is_off()) else {
        return;
    };
    let Some(slot) = region.threads.get(index) else {
        return;
    };
    let thread = thread();
    let tid = thread_id();
    thread.tid.store(tid, Relaxed);
    slot.stack_top.store(stack_top, Relaxed);
    slot.cpu_mark.store(thread_cpu(), Relaxed);
    // AcqRel: the slot's words are in place before its thread id names it.
    slot.tid.swap(tid, AcqRel);
    thread
        .slot
        .store(core::ptr::from_ref(slot).cast_mut(), Relaxed);
    let key = KEY.load(Relaxed);
    if key != u32::MAX {
        // SAFETY: our own key; any non-null value makes the destructor run.
        unsafe { libc::pthread_setspecific(key, core::ptr::from_ref(slot).cast()) };
    }
    timer_sampler::start_thread(thread);
    signals::unblock_sampler();
}

/// Credits and pays for the last time, before anybody can join this thread.
pub fn end() {
    thread_ledger::end_of_waiting();
    if let Some(entered) = thread_ledger::enter() {
        entered.before_end();
        entered.leave();
    }
}

/// The destructor of [`KEY`]: closes the ledger.
extern "C" fn on_thread_exit(_value: *mut c_void) {
    end();
    let thread = thread();
    thread.ended.store(1, Relaxed);
    if !shared::is_off() {
        timer_sampler::stop_thread(thread);
    }
    let slot = thread.slot.swap(core::ptr::null_mut(), Relaxed);
    // SAFETY: null or a slot of the region.
    if let Some(slot) = unsafe { slot.as_ref() } {
        free_slot(slot);
    }
}

/// In a forked child: the calling thread has no ledger, and there are no others. Where its stack
/// ends, 0 if that is not known.
pub fn forget_all() -> u64 {
    let thread = thread();
    let slot = thread.slot.swap(core::ptr::null_mut(), Relaxed);
    thread.ended.store(0, Relaxed);
    thread.timer.store(0, Relaxed);
    timer_sampler::forget();
    thread.waiting.store(0, Relaxed);
    thread.idle[1].store(0, Relaxed);
    thread.block[1].store(0, Relaxed);
    // SAFETY: null or a slot of the region, which is not replaced yet.
    unsafe { slot.as_ref() }.map_or(0, |slot| slot.stack_top.load(Relaxed))
}
