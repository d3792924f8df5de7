//! Crowded windows: excusing a thread from what G grew while it waited for a processor, and paying
//! on the processor ([`crate::crowding`]).

use core::sync::atomic::Ordering::Relaxed;

use super::syscalls::{now, thread_cpu, voluntary_switches};
use super::thread_ledger::{Entered, SLICE, SMALLEST_SLEEP, add};
use crate::crowding::queued_part;

/// Turns of an idle loop between two looks at the clocks (a turn is about 40 ns here).
const SPINS: u32 = 40;

impl Entered {
    /// Excuses the thread from what it came to owe while it waited for a processor since the last
    /// look. Returns whether it waited for something else meanwhile.
    pub(super) fn excuse_queueing(&self) -> bool {
        if !self.window.crowded || self.window.speedup == 0 {
            return false;
        }
        let slot = self.slot;
        // A thread loses its processor on the way out of a system call more than anywhere else: what
        // goes on meanwhile, time and G, is read after the last one.
        let voluntary = voluntary_switches();
        let cpu = thread_cpu();
        let time = now();
        let global = self.account().global.load(Relaxed);
        let before = slot.look_time.swap(time, Relaxed);
        let ran = cpu.wrapping_sub(slot.look_cpu.swap(cpu, Relaxed));
        let growth = global.saturating_sub(slot.look_g.swap(global, Relaxed));
        let raised = slot.look_raised.swap(0, Relaxed);
        let outside = slot.look_voluntary.swap(voluntary, Relaxed) != voluntary;
        if before == 0 || outside {
            return before != 0;
        }
        let part = queued_part(growth, raised, time.saturating_sub(before), ran);
        add(&slot.excused, self.account().excuse_part(part));
        false
    }

    /// The next look begins here: what was owed until now is settled.
    pub(super) fn look_from_now(&self) {
        self.slot.look_time.store(0, Relaxed);
        self.excuse_queueing();
    }

    /// Pays in a crowded window: stands still on the processor, or sleeps off what it came to owe
    /// in a wait outside.
    #[cold]
    pub(super) fn stand_still(&self) {
        let outside = self.excuse_queueing();
        loop {
            let due = self.account().due();
            if due <= SMALLEST_SLEEP {
                return;
            }
            if outside {
                self.sleep_off(due, false);
                self.look_from_now();
                return;
            }
            let header = &self.region.header;
            if now() >= header.deadline.load(Relaxed) {
                self.account().settle();
                return;
            }
            if !self.is_in_force() {
                return;
            }
            let part = due.min(SLICE);
            let spent = self.occupy(part);
            self.account().paid(part, spent);
            add(&self.slot.paused, spent);
            self.region.global.paused.fetch_add(spent, Relaxed);
            self.region.global.sleeps.fetch_add(1, Relaxed);
            self.excuse_queueing();
        }
    }

    fn is_in_force(&self) -> bool {
        self.region.control.generation.load(Relaxed) == self.window.generation
            && self.region.header.active.load(Relaxed) != 0
    }

    /// Keeps the processor busy for `part` ns of CPU time, unless the window ends; returns for how
    /// long.
    fn occupy(&self, part: u64) -> u64 {
        let from = thread_cpu();
        let mut spent = 0;
        self.thread.occupying.store(1, Relaxed);
        while spent < part && self.is_in_force() {
            if now() >= self.region.header.deadline.load(Relaxed) {
                break;
            }
            for _ in 0..SPINS {
                core::hint::spin_loop();
            }
            spent = thread_cpu().saturating_sub(from);
        }
        self.thread.occupying.store(0, Relaxed);
        self.leave_out(spent);
        spent
    }

    /// `spent` ns of CPU time are not the program's: no sample stands for them, no credit is due.
    fn leave_out(&self, spent: u64) {
        if self.slot.cpu_mark.load(Relaxed) != 0 {
            add(&self.slot.cpu_mark, spent);
        }
    }

    /// Spins until `until`, ns of CLOCK_MONOTONIC, or the window's end; the time then.
    pub(super) fn spin_until(&self, until: u64) -> u64 {
        let begin = now();
        if begin >= until {
            return begin;
        }
        let from = thread_cpu();
        let mut time = begin;
        self.thread.occupying.store(1, Relaxed);
        while time < until && self.is_in_force() {
            for _ in 0..SPINS / 8 {
                core::hint::spin_loop();
            }
            time = now();
        }
        self.thread.occupying.store(0, Relaxed);
        self.leave_out(thread_cpu().saturating_sub(from));
        time
    }
}
