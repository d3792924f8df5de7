//! The calling thread's dealings with the ledger: meeting windows, crediting, paying, waiting.
//!
//! A hook asks [`enter`]; while it holds an [`Entered`] the sample handler on this thread leaves
//! the ledger alone. There is no `Drop`: cancellation may unwind through a hook, so each hook
//! calls [`Entered::leave`] before the real call.

use core::sync::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed},
};

use super::syscalls::{now, sleep_until, thread_cpu};
use super::thread_local::{ThreadLocal, thread};
use super::{latency, outlook, process_copies, shared, timer_sampler};
use crate::delay_ledger::{Account, credit_for};
use crate::dense_hooks::{density, may_pass};
use crate::layout::{Plan, Region, ThreadSlot};
use crate::pause_bound::Stretch;
use crate::segment::key;

/// The longest stretch of one sleep: after it the window is looked at again.
pub(super) const SLICE: u64 = 10_000_000;
/// Debts below this stay owed: a pause costs more than it repays.
pub(super) const SMALLEST_SLEEP: u64 = 5_000;
/// The end of a pause is not slept but spun: a sleeper wakes up some ten µs too early or too late,
/// which is a good part of what threads wait for each other.
const SPIN: u64 = 20_000;
/// Credit between samples is skipped when the last one is nearer than this: reading the thread's
/// CPU clock is a system call.
const CREDIT_GAP: u64 = 20_000;
/// At most this many periods are credited ahead of the next sample (timers tick every 4 ms).
const PERIODS_AHEAD: u64 = 5;

/// The stretch of work between hooks that come densely.
const DENSE: u64 = key("dense hooks", 0);

/// Threads of this process that sleep off a debt now.
pub static SLEEPING: AtomicU32 = AtomicU32::new(0);

/// The window in force.
#[derive(Clone, Copy)]
pub struct Window {
    /// [`crate::layout::Control::generation`] it was read at.
    pub generation: u64,
    /// Its number.
    pub number: u64,
    /// Number of its line.
    pub line: u64,
    /// Virtual speedup in millionths.
    pub speedup: u32,
    /// Whether more threads want to run than there are processors.
    pub crowded: bool,
    /// The plan, for its ranges; they count only if the generation is still the same afterwards.
    pub plan: &'static Plan,
}

/// The window in force, if one was ever published.
///
/// # Signal safety
/// Loads only.
#[inline]
pub fn window(region: &'static Region) -> Option<Window> {
    // Acquire: partner of the controller's Release after it filled the plan.
    let generation = region.control.generation.load(Acquire);
    if generation == 0 {
        return None;
    }
    let plan = &region.control.plans[(generation & 1) as usize];
    Some(Window {
        generation,
        number: plan.window.load(Relaxed),
        line: plan.line.load(Relaxed),
        speedup: plan.speedup.load(Relaxed),
        crowded: plan.crowded.load(Relaxed) != 0,
        plan,
    })
}

/// A thread that waits: G and the window when it began.
#[derive(Clone, Copy)]
pub struct Wait {
    g: u64,
    window: u64,
}

impl Wait {
    /// No ledger was kept when the wait began.
    pub const NONE: Wait = Wait { g: 0, window: 0 };

    /// Whether a ledger was kept when it began.
    pub fn has_begun(self) -> bool {
        self.window != 0
    }

    /// For keeping across two calls.
    pub fn into_words(self) -> (u64, u64) {
        (self.g, self.window)
    }

    /// Undoes [`Wait::into_words`].
    pub fn from_words(g: u64, window: u64) -> Wait {
        Wait { g, window }
    }
}

/// The calling thread, inside the runtime, with the window in force.
pub struct Entered {
    pub(super) region: &'static Region,
    pub(super) slot: &'static ThreadSlot,
    pub(super) thread: &'static ThreadLocal,
    pub(super) window: Window,
}

/// Enters the runtime: `None` when no ledger is kept, the thread has none, or it is inside already;
/// or in a wait: then this is a signal handler of the program, or a cancelled thread unwinds, and
/// what is owed is settled when the wait is over.
#[inline]
pub fn enter() -> Option<Entered> {
    enter_region(shared::active()?)
}

#[inline]
fn enter_region(region: &'static Region) -> Option<Entered> {
    let thread = thread();
    if thread.inside.load(Relaxed) != 0 {
        return None;
    }
    if process_copies::is_unannounced() {
        process_copies::in_unannounced_child();
        return None;
    }
    // SAFETY: null or a slot of the region, set at registration.
    let slot = unsafe { thread.slot.load(Relaxed).as_ref() }?;
    let window = window(region)?;
    if thread.waiting.load(Relaxed) != 0 {
        if waiting(thread, Some(&window)) != Waiting::No {
            return None;
        }
        thread.waiting.store(0, Relaxed);
    }
    thread.inside.store(1, Relaxed);
    let entered = Entered {
        region,
        slot,
        thread,
        window,
    };
    entered.meet();
    Some(entered)
}

impl Entered {
    /// Leaves the runtime.
    #[inline]
    pub fn leave(self) {
        self.thread.inside.store(0, Relaxed);
    }

    pub(super) fn account(&self) -> Account<'static> {
        Account {
            global: &self.region.global.g,
            local: &self.slot.local,
            prepaid: &self.slot.prepaid,
        }
    }

    /// A thread meets a new window with nothing owed, and a new line without history.
    #[inline]
    fn meet(&self) {
        if self.slot.window.load(Relaxed) != self.window.number {
            self.slot.window.store(self.window.number, Relaxed);
            self.account().settle();
            self.slot.look_time.store(0, Relaxed);
            timer_sampler::go_over_in_hook(self.region, self.thread);
        }
        if self.slot.line.load(Relaxed) != self.window.line {
            self.slot.line.store(self.window.line, Relaxed);
            self.forget_shares();
        }
    }

    fn give(&self, credit: u64) {
        if credit != 0 {
            // What was prepaid counts first, or this credit would not raise G.
            let _owed = self.account().due();
            let raised = self.account().credit(credit);
            latency::g_grew(raised);
            add(&self.slot.look_raised, raised);
            add(&self.slot.credited, credit);
            self.region.global.credited.fetch_add(credit, Relaxed);
        }
    }

    /// Credits a sample that stands for `weight` periods of CPU time.
    pub fn credit_sample(&self, hit: bool, weight: u32, time: u64) {
        self.excuse_queueing();
        let since = time.saturating_sub(self.thread.credit_time.load(Relaxed));
        self.learn(hit, weight);
        let share = self.share(time, since);
        let cpu = self
            .region
            .header
            .period
            .load(Relaxed)
            .saturating_mul(u64::from(weight));
        let clock = thread_cpu();
        let mark = self.slot.cpu_mark.swap(clock, Relaxed);
        let partial = self.slot.partial.load(Relaxed);
        let rest = if mark != 0 {
            // Pauses use the CPU clock up, too, and have moved the mark.
            self.slot.partial.store(0, Relaxed);
            clock.saturating_sub(mark).min(cpu * PERIODS_AHEAD)
        } else {
            // What was credited ahead of several lost or long samples is taken off the later ones.
            let after = partial.saturating_sub(cpu);
            self.slot.partial.store(after, Relaxed);
            cpu.saturating_sub(partial)
        };
        self.thread.credit_time.store(time, Relaxed);
        if self.window.speedup != 0 {
            self.give(credit_for(share, rest, self.window.speedup));
            if self.slot.inside_since.load(Relaxed) == 0 {
                self.set_out(self.share(time, 0), time);
            }
        }
    }

    /// A sample of a thread that burns processor time by waiting: it says nothing of its work.
    pub fn pass_over_sample(&self, time: u64) {
        self.slot.partial.store(0, Relaxed);
        self.slot.cpu_mark.store(thread_cpu(), Relaxed);
        self.thread.credit_time.store(time, Relaxed);
    }

    /// Credits the CPU time since the last sample or credit, so that it reaches G before this
    /// thread waits or wakes another.
    fn credit_partial(&self, gap: u64) {
        if self.window.speedup == 0 {
            return;
        }
        let time = now();
        let since = time.saturating_sub(self.thread.credit_time.load(Relaxed));
        if since < gap {
            return;
        }
        // What G grew while the thread had no processor is not made up for by its own credit.
        self.excuse_queueing();
        let share = self.share(time, since);
        self.slot.looks_ahead.store(1, Relaxed);
        self.thread.credit_time.store(time, Relaxed);
        let cpu = thread_cpu();
        let mark = self.slot.cpu_mark.swap(cpu, Relaxed);
        if mark == 0 {
            return;
        }
        let partial = self.slot.partial.load(Relaxed);
        let ahead = self.region.header.period.load(Relaxed) * PERIODS_AHEAD;
        let part = cpu.saturating_sub(mark).min(ahead.saturating_sub(partial));
        self.slot.partial.store(partial + part, Relaxed);
        self.give(credit_for(share, part, self.window.speedup));
    }

    /// Pays what is owed by sleeping, until nothing worth a sleep is owed or the window is over.
    #[inline]
    pub fn pay(&self) {
        let due = self.account().due();
        if due > SMALLEST_SLEEP {
            if self.window.crowded {
                self.stand_still();
            } else {
                self.sleep_off(due, false);
            }
        }
    }

    /// Pays what is owed and what will be, as far as others' work is known to earn it.
    fn pay_ahead(&self) {
        if self.window.crowded || self.slot.looks_ahead.load(Relaxed) == 0 {
            self.pay();
            return;
        }
        let due = self.due_ahead();
        if due > SMALLEST_SLEEP {
            self.sleep_off(due, true);
        }
    }

    /// What the thread owes now, and will owe for what others have done by now.
    fn due_ahead(&self) -> u64 {
        let due = self.account().due();
        let global = self.account().global.load(Relaxed);
        let prepaid = self.slot.prepaid.load(Relaxed);
        due + (self.outlook(now()).saturating_sub(global)).saturating_sub(prepaid)
    }

    /// Sleeps until nothing worth it is due; `ahead` says that [`Self::due_ahead`] is meant.
    #[cold]
    pub(super) fn sleep_off(&self, mut due: u64, ahead: bool) {
        // Nobody may count on work of this thread meanwhile.
        let pace = self.slot.pace.swap(0, Relaxed);
        self.sleep_in_slices(&mut due, ahead);
        if pace != 0 {
            self.slot.pace_since.store(now(), Relaxed);
            self.slot.pace.store(pace, Relaxed);
        }
    }

    fn sleep_in_slices(&self, due: &mut u64, ahead: bool) {
        loop {
            let due_now = *due;
            let mean = self.region.global.oversleep.load(Relaxed).max(0) as u64;
            if due_now <= SMALLEST_SLEEP {
                return;
            }
            let header = &self.region.header;
            let begin = now();
            if begin >= header.deadline.load(Relaxed) {
                // The controller is gone, or was late, which voids its window: no more hooks.
                header.active.store(0, Relaxed);
                self.account().settle();
                return;
            }
            let over = self.region.control.generation.load(Relaxed) != self.window.generation;
            if over || header.active.load(Relaxed) == 0 {
                return;
            }
            let stretch = self.stretch();
            let allowed = stretch.allowance(header.max_pause.load(Relaxed), begin);
            if allowed <= SMALLEST_SLEEP {
                self.forgive(self.account().due());
                return;
            }
            let part = due_now.min(SLICE).min(allowed);
            if let Some(wanted) = part.checked_sub(mean + SPIN).filter(|wanted| *wanted > 0) {
                SLEEPING.fetch_add(1, AcqRel);
                let slept = sleep_until(begin + wanted).saturating_sub(begin);
                SLEEPING.fetch_sub(1, AcqRel);
                let excess = (slept.saturating_sub(wanted)).min(1_000_000) as i64;
                let old = self.region.global.oversleep.load(Relaxed);
                let new = old + (excess - old) / 8;
                self.region.global.oversleep.store(new, Relaxed);
            }
            let slept = self.spin_until(begin + part).saturating_sub(begin);
            // G may have grown meanwhile, by what was foreseen among others; the rest is prepaid.
            let owed = self.account().due().min(part);
            self.account().paid(owed, slept);
            let stretch = stretch.after_sleep(begin, begin + slept);
            self.slot.stretch[0].store(stretch.paused, Relaxed);
            self.slot.stretch[1].store(stretch.ended, Relaxed);
            add(&self.slot.paused, slept);
            add(&self.slot.waits, 1);
            self.region.global.paused.fetch_add(slept, Relaxed);
            self.region.global.sleeps.fetch_add(1, Relaxed);
            *due = if ahead {
                self.due_ahead()
            } else {
                self.account().due()
            };
        }
    }

    /// The pause that this thread has not won back yet.
    fn stretch(&self) -> Stretch {
        Stretch {
            paused: self.slot.stretch[0].load(Relaxed),
            ended: self.slot.stretch[1].load(Relaxed),
        }
    }

    /// Lets the thread off what it may not pay any more.
    fn forgive(&self, due: u64) {
        self.account().forgive(due);
        self.region.global.forgiven.fetch_add(due, Relaxed);
    }

    /// Before anything that may wake another thread: credit, then pay.
    pub fn before_wake(&self) {
        self.credit_partial(CREDIT_GAP);
        self.pay_ahead();
    }

    /// Before waiting: credit, pay, and note G.
    fn before_wait(&self, kind: u64) -> Wait {
        self.credit_partial(CREDIT_GAP);
        self.begin_hook();
        self.pay_ahead();
        let wait = Wait {
            g: self.settled(),
            window: self.window.number,
        };
        self.slot.wait_g.store(wait.g, Relaxed);
        self.slot.wait_window.store(wait.window, Relaxed);
        add(&self.slot.waits, 1);
        self.slot.wait_time.store(now(), Relaxed);
        self.thread.waiting.store(wait.window << 2 | kind, Relaxed);
        wait
    }

    /// Nobody may count on this thread's work until the hook ends, nor is it due credit for the time.
    fn begin_hook(&self) {
        if self.slot.inside_since.load(Relaxed) == 0 {
            self.slot.inside_since.store(now(), Relaxed);
        }
        outlook::set_in(self.slot);
    }

    /// G at the beginning of a wait, which the thread is not excused from: with what it will grow by
    /// others' work until now, but for what was prepaid of it.
    fn settled(&self) -> u64 {
        let global = self.account().global.load(Relaxed);
        if self.slot.looks_ahead.load(Relaxed) == 0 {
            return global;
        }
        let prepaid = self.slot.prepaid.load(Relaxed);
        global.max(self.outlook(now()).saturating_sub(prepaid))
    }

    /// Before the thread ends: as before a wake, however short the last credit is ago. One that is
    /// still in a wait was cancelled there, by another thread.
    pub fn before_end(&self) {
        let wait = Wait {
            g: self.slot.wait_g.load(Relaxed),
            window: self.slot.wait_window.load(Relaxed),
        };
        if wait.window != 0 {
            self.after_wake(wait);
        }
        self.credit_partial(0);
        self.pay_ahead();
    }

    /// The thread's own virtual time now: wall time minus the pauses that it has had, with all its
    /// work so far credited. What it owes it pays first, or it would hand work on before its time.
    pub fn virtual_now(&self) -> u64 {
        self.credit_partial(CREDIT_GAP);
        self.pay_ahead();
        self.slot.looks_ahead.store(0, Relaxed);
        let account = self.account();
        let paused = account.local.load(Relaxed) + account.prepaid.load(Relaxed);
        now().wrapping_sub(paused)
    }

    /// After a wait that another thread of the process ended: excused from what G grew meanwhile,
    /// and from what was too little to be slept off before: the wait has made up for that.
    fn after_wake(&self, wait: Wait) {
        if wait.window == self.window.number {
            let waited = now().saturating_sub(self.slot.wait_time.load(Relaxed));
            let from = self.account().waited_since(wait.g, waited);
            add(&self.slot.excused, self.account().excuse(from));
            self.look_from_now();
        }
    }

    /// Processor time burnt by waiting is no work, and no credit is given for it.
    fn leave_out_spinning(&self) {
        if self.window.speedup == 0 {
            return;
        }
        let cpu = thread_cpu();
        let mark = self.slot.cpu_mark.swap(cpu, Relaxed);
        if mark != 0 {
            add(&self.slot.partial, cpu.saturating_sub(mark));
        }
        self.thread.credit_time.store(now(), Relaxed);
    }
}

/// Kinds of [`waiting`].
const ASLEEP: u64 = 1;
const SPINNING: u64 = 2;

/// What the calling thread is doing inside a hook's real call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Nothing that concerns the ledger.
    No,
    /// It waits and does not pay: it may be about to be excused.
    Asleep,
    /// It also burns processor time, for which there is no credit.
    Spinning,
}

/// What the interrupted thread waits for, in the window in force.
///
/// A program's handler that jumps out of a wait leaves the note behind until the next window.
///
/// # Signal safety
/// Loads only.
pub fn waiting(thread: &ThreadLocal, window: Option<&Window>) -> Waiting {
    let word = thread.waiting.load(Relaxed);
    if word == 0 || window.is_none_or(|window| word >> 2 != window.number) {
        return Waiting::No;
    }
    if word & SPINNING != 0 {
        Waiting::Spinning
    } else {
        Waiting::Asleep
    }
}

/// [`enter`], for a thread that goes on waiting afterwards.
///
/// # Signal safety
/// Made for the sample handler.
pub fn enter_waiting() -> Option<Entered> {
    let thread = thread();
    let word = thread.waiting.load(Relaxed);
    thread.waiting.store(0, Relaxed);
    let entered = enter();
    thread.waiting.store(word, Relaxed);
    entered
}

/// A hook begins, and with it a stretch of work ends: it is credited by its own share. Hooks that
/// come densely leave that to a later one; whether this one does not.
#[inline(always)]
pub fn end_segment() -> bool {
    let left = &thread().left_to_pass;
    match left.load(Relaxed) {
        0 => {
            credit_segment();
            true
        }
        more => {
            left.store(more - 1, Relaxed);
            false
        }
    }
}

#[inline(never)]
fn credit_segment() {
    if let Some(entered) = enter() {
        entered.credit_partial(CREDIT_GAP);
        entered.begin_hook();
        entered.leave();
    }
}

/// A hook ends, and with it another stretch of work begins; `looks` is what [`end_segment`] said.
/// In a thread whose hooks come densely they are all one stretch. The time in the hook is none of the
/// time that credit is due for.
#[inline(always)]
pub fn begin_segment(key: impl FnOnce() -> u64, looks: bool) {
    // Nothing may pass after a hook in which the thread waited, or might have woken another.
    if looks || may_pass(thread().dense.load(Relaxed)) == 0 {
        begin_segment_now(key());
    }
}

#[inline(never)]
fn begin_segment_now(key: u64) {
    let thread = thread();
    // SAFETY: null or a slot of the region, set at registration.
    let Some(slot) = (unsafe { thread.slot.load(Relaxed).as_ref() }) else {
        return;
    };
    let time = now();
    let elapsed = time.saturating_sub(slot.hook_time.load(Relaxed));
    let dense = density(thread.dense.load(Relaxed), elapsed);
    let allowed = may_pass(dense);
    slot.hook_time.store(time, Relaxed);
    slot.segment_time.store(time, Relaxed);
    let key = if allowed == 0 { key } else { DENSE };
    slot.segment.store(key, Relaxed);
    thread.dense.store(dense, Relaxed);
    thread.left_to_pass.store(allowed, Relaxed);
    slot.looks_ahead.store(0, Relaxed);
    let begin = slot.inside_since.swap(0, Relaxed);
    if begin != 0 {
        let since = thread.credit_time.load(Relaxed);
        let since = since.saturating_add(time.saturating_sub(begin)).min(time);
        thread.credit_time.store(since, Relaxed);
    }
    if let Some(entered) = enter() {
        if entered.window.speedup != 0 {
            let since = thread.credit_time.load(Relaxed);
            entered.set_out(entered.share(0, 0), since);
        }
        entered.leave();
    }
}

/// The clock is looked at when the hook that is under way ends, and in the next one.
#[inline]
fn look_at_the_clock() {
    let thread = thread();
    thread.dense.store(0, Relaxed);
    thread.left_to_pass.store(0, Relaxed);
}

/// Whether the calling thread owes less than a pause; a look at two words, without entering.
#[inline(always)]
fn owes_nothing() -> bool {
    // SAFETY: null or a slot of the region, set at registration.
    let slot = unsafe { thread().slot.load(Relaxed).as_ref() };
    let (Some(slot), Some(region)) = (slot, shared::active()) else {
        return true;
    };
    if slot.looks_ahead.load(Relaxed) != 0 {
        return false;
    }
    let owed = region.global.g.load(Relaxed);
    owed.saturating_sub(slot.local.load(Relaxed)) <= SMALLEST_SLEEP
}

/// Pays before a lock is taken, so that no pause is slept with it held.
#[inline(always)]
pub fn pay_before_lock() {
    if !owes_nothing() {
        pay_now();
    }
}

#[inline(never)]
fn pay_now() {
    if let Some(entered) = enter() {
        entered.pay_ahead();
        entered.leave();
    }
}

/// After a wait that no other thread ended: a timer's, or for something outside. What the thread
/// came to owe meanwhile it pays before it does anything else.
#[inline]
pub fn after_outside() {
    look_at_the_clock();
    if let Some(entered) = enter() {
        entered.pay();
        entered.leave();
    }
}

/// Credits and pays before anything that may wake another thread.
#[inline]
pub fn before_wake() {
    look_at_the_clock();
    if let Some(entered) = enter() {
        entered.before_wake();
        entered.leave();
    }
}

/// Credits, pays and notes G before the thread blocks.
#[inline]
pub fn before_block() -> Wait {
    before_wait(ASLEEP)
}

/// [`before_block`], for a wait that burns processor time.
#[inline]
pub fn before_spin() -> Wait {
    before_wait(SPINNING)
}

#[inline]
fn before_wait(kind: u64) -> Wait {
    look_at_the_clock();
    let Some(entered) = enter() else {
        return Wait::NONE;
    };
    let wait = entered.before_wait(kind);
    entered.leave();
    wait
}

/// Ends a wait; `woken` says that a thread of this process ended it. Else the thread pays at once.
#[inline]
pub fn after_block(wait: Wait, woken: bool) {
    end_wait(wait, woken, !woken);
}

/// [`after_block`], for a wait that may end with a lock held: others must not wait while it pays.
#[inline]
pub fn after_block_with_lock(wait: Wait, woken: bool) {
    end_wait(wait, woken, false);
}

#[inline]
fn end_wait(wait: Wait, woken: bool, pays: bool) {
    if wait.window == 0 {
        return;
    }
    let spinning = thread().waiting.swap(0, Relaxed) & SPINNING != 0;
    if let Some(entered) = enter() {
        entered.slot.wait_window.store(0, Relaxed);
        if spinning {
            entered.leave_out_spinning();
        }
        if woken {
            entered.after_wake(wait);
        }
        if pays {
            entered.pay();
        }
        entered.leave();
    }
}

/// The wait turned out to be none: what runs now is work.
#[inline]
pub fn end_of_waiting() {
    thread().waiting.store(0, Relaxed);
}

/// Adds to a word that only this thread writes.
pub fn add(cell: &core::sync::atomic::AtomicU64, more: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(more), Relaxed);
}
