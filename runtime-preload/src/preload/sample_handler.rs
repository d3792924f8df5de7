//! One sample: walk the interrupted stack, judge whether it is a hit, credit, report, pay.
//!
//! Runs in a signal handler on the program's stack: little stack use, no allocation, no lock.

use core::sync::atomic::{
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

use super::stack_reader::{LiveStack, Modules};
use super::syscalls::now;
use super::thread_ledger::{self, Waiting, Window, add};
use super::thread_local::thread;
use super::{breakpoints, shared, threads};
use crate::hit_test::HitTest;
use crate::layout::{MAX_FRAMES, RING_SLOTS, Region, SAMPLE_CUT, Sample};
use crate::stack_walk::{Registers, Step, step};

/// Frames walked of one stack; deeper ones are cut.
const DEEPEST: usize = 512;

/// Takes a sample of the calling thread that stands for `weight` periods.
///
/// # Signal safety
/// Made for signal handlers. `errno` is left alone: only raw system calls and the vDSO are used.
pub fn take_sample(registers: Registers, weight: u32) {
    let Some(region) = shared::region() else {
        return;
    };
    if region.header.off.load(Relaxed) != 0 {
        return;
    }
    let thread = thread();
    if thread.occupying.load(Relaxed) != 0 {
        drop_own_sample(weight);
        return;
    }
    let slot = threads::slot_in_handler(region, thread);
    let time = now();
    region.global.samples.fetch_add(u64::from(weight), Relaxed);
    let number = region.ring.head.fetch_add(1, Relaxed);
    let record = &region.ring.slots[(number % RING_SLOTS as u64) as usize];
    record.sequence.store(0, Relaxed);
    // Release fence: a reader that sees any of the new words also sees the sequence cleared.
    fence(Release);
    let window = thread_ledger::window(region);
    let top = slot.map_or(0, |slot| slot.stack_top.load(Relaxed));
    let walk = walk(region, registers, top, window.as_ref(), record);
    let hit = walk.hit && still_valid(region, window.as_ref(), time);
    if let Some(slot) = slot {
        add(&slot.samples, u64::from(weight));
        if hit {
            add(&slot.hits, u64::from(weight));
        }
    }
    if hit {
        region.global.hits.fetch_add(u64::from(weight), Relaxed);
    }
    if walk.cut {
        region
            .global
            .samples_cut
            .fetch_add(u64::from(weight), Relaxed);
    }
    let waiting = thread_ledger::waiting(thread, window.as_ref());
    let entered = if slot.is_some() {
        thread_ledger::enter_waiting()
    } else {
        None
    };
    if let Some(entered) = entered.as_ref().filter(|_| !walk.unknown) {
        if waiting == Waiting::Spinning {
            entered.pass_over_sample(time);
        } else {
            entered.credit_sample(hit, weight, time);
        }
    }
    record.time.store(time, Relaxed);
    record.g.store(region.global.g.load(Relaxed), Relaxed);
    record
        .generation
        .store(window.map_or(0, |window| window.generation), Relaxed);
    record.tid.store(thread.tid.load(Relaxed), Relaxed);
    record.hit.store(u32::from(hit), Relaxed);
    record.frame_count.store(walk.frames, Relaxed);
    record.weight.store(
        (weight & !SAMPLE_CUT) | if walk.cut { SAMPLE_CUT } else { 0 },
        Relaxed,
    );
    // Release: partner of the controller's Acquire load of the sequence.
    record.sequence.store(number + 1, Release);
    if let Some(entered) = entered {
        if waiting == Waiting::No {
            entered.pay();
        }
        entered.leave();
    }
}

/// Whether a judgement by `window` still counts: the plan was not overwritten and is not too old.
fn still_valid(region: &Region, window: Option<&Window>, time: u64) -> bool {
    // Acquire fence: the ranges were read before the generation is read again.
    fence(Acquire);
    window.is_some_and(|window| {
        region.control.generation.load(Relaxed) == window.generation
            && time < region.header.deadline.load(Relaxed)
    })
}

struct Walk {
    frames: u32,
    hit: bool,
    cut: bool,
    /// No table was there to walk by: the sample says nothing about the line.
    unknown: bool,
}

fn walk(
    region: &'static Region,
    start: Registers,
    top: u64,
    window: Option<&Window>,
    record: &Sample,
) -> Walk {
    let mut walk = Walk {
        frames: 0,
        hit: false,
        cut: true,
        unknown: false,
    };
    let memory = LiveStack::new(start.rsp, top);
    let modules = Modules::current(region);
    let mut test = window.map(|window| HitTest::new(window.plan));
    let mut registers = start;
    // The interrupted address is exact; a return address may already be on the next line.
    let mut address = start.rip;
    for depth in 0..DEEPEST {
        if let Some(cell) = record.frames.get(depth).filter(|_| depth < MAX_FRAMES) {
            cell.store(address, Relaxed);
            walk.frames = depth as u32 + 1;
        }
        walk.hit = walk.hit || test.as_mut().is_some_and(|test| test.frame(address));
        let Some(modules) = &modules else {
            walk.unknown = true;
            return walk;
        };
        let Some(row) = modules.row(address) else {
            // Code of a module not published yet, or generated code.
            walk.unknown = depth == 0;
            return walk;
        };
        match step(row, registers, &memory) {
            Step::Caller(caller) => {
                registers = caller;
                address = caller.rip - 1;
            }
            Step::Interrupted(interrupted) => {
                registers = interrupted;
                address = interrupted.rip;
            }
            Step::End => {
                walk.cut = false;
                return walk;
            }
            Step::Cut => return walk,
        }
    }
    walk
}

/// Counts a sample that was taken inside a handler or a pause of ours and is dropped. Its period
/// was the pause's, as far as the pause kept the processor busy.
pub fn drop_own_sample(weight: u32) {
    if let Some(region) = shared::region() {
        let weight = u64::from(weight);
        region.global.samples_own.fetch_add(weight, Relaxed);
    }
}

/// The registers that a signal's context holds.
///
/// # Safety
/// `context` is the third argument of a `SA_SIGINFO` handler.
pub unsafe fn interrupted_registers(context: *const libc::c_void) -> Registers {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid ucontext to the handler (the caller's promise).
    let registers = unsafe { &(*context).uc_mcontext.gregs };
    Registers {
        rip: breakpoints::original(registers[libc::REG_RIP as usize] as u64),
        rsp: registers[libc::REG_RSP as usize] as u64,
        rbp: registers[libc::REG_RBP as usize] as u64,
    }
}

/// The signals (1 to 64) that the interrupted code had blocked.
///
/// # Safety
/// `context` is the third argument of a `SA_SIGINFO` handler.
pub unsafe fn interrupted_mask(context: *const libc::c_void) -> u64 {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid ucontext to the handler (the caller's promise).
    let mask = unsafe { &raw const (*context).uc_sigmask };
    // SAFETY: the kernel's part of a signal set is its first 8 bytes.
    unsafe { mask.cast::<u64>().read_unaligned() }
}
