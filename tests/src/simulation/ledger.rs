//! What the runtime does in one thread, on the real ledger: meeting windows, crediting, paying,
//! waiting. The preload's own version of this differs in how it reads clocks and sleeps; the
//! arithmetic ([`Account`], [`HitShare`], [`credit_for`]) is the same code.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use coz_rs_runtime_preload::delay_ledger::{Account, credit_for};
use coz_rs_runtime_preload::hit_share::HitShare;
use coz_rs_runtime_preload::layout::SPEEDUP_ONE;

/// CPU time between samples of a thread, ns.
pub const PERIOD: u64 = 997_000;
/// Debts below this stay owed, ns.
const SMALLEST_SLEEP: u64 = 5_000;
/// Credit between samples is skipped when the last one is nearer, ns.
const CREDIT_GAP: u64 = 20_000;
/// At most this many periods are credited ahead of the next sample.
const PERIODS_AHEAD: u64 = 5;
/// The longest stretch of one sleep, ns.
const SLICE: u64 = 10_000_000;
/// Samples that Coz looks at together (Curtsinger and Berger, "Coz: finding code that counts with
/// causal profiling", SOSP 2015, section 3.4.2).
const BATCH: u64 = 10;

/// How hits become credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crediting {
    /// Smoothed share × CPU time, at each sample and before a thread wakes another or waits.
    Smoothed,
    /// One delay a hit, ten samples at a time, as Coz does.
    Batches,
}

/// The window in force.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Window {
    /// Its number; 0: none.
    pub number: u64,
    /// The selected line.
    pub line: Option<usize>,
    /// Virtual speedup in millionths.
    pub speedup: u32,
}

impl Window {
    /// A virtual speedup in millionths.
    #[must_use]
    pub fn millionths(speedup: f64) -> u32 {
        (speedup * f64::from(SPEEDUP_ONE)).round() as u32
    }
}

/// What all threads share.
#[derive(Debug)]
pub struct Shared {
    /// G.
    pub global: AtomicU64,
    /// The window in force.
    pub window: Window,
    /// Running mean of oversleep, ns.
    pub oversleep: i64,
    /// All hits.
    pub hits: u64,
    /// All samples.
    pub samples: u64,
    /// All credits given, ns.
    pub credited: u64,
    /// All pauses slept, ns.
    pub paused: u64,
    /// How hits become credit.
    pub crediting: Crediting,
}

/// One thread's side.
#[derive(Debug, Default)]
pub struct Side {
    local: AtomicU64,
    prepaid: AtomicU64,
    window: u64,
    line: Option<usize>,
    share: HitShare,
    partial: u64,
    cpu_mark: u64,
    credit_time: u64,
    batch: (u64, u64),
}

impl Side {
    fn account<'a>(&'a self, shared: &'a Shared) -> Account<'a> {
        Account {
            global: &shared.global,
            local: &self.local,
            prepaid: &self.prepaid,
        }
    }

    /// A thread meets a new window with nothing owed, and a new line without history.
    fn meet(&mut self, shared: &Shared) {
        if self.window != shared.window.number {
            self.window = shared.window.number;
            self.account(shared).settle();
            self.batch = (0, 0);
        }
        if self.line != shared.window.line {
            self.line = shared.window.line;
            self.share = HitShare::default();
        }
    }

    fn give(&self, shared: &mut Shared, credit: u64) {
        if credit != 0 {
            self.account(shared).credit(credit);
            shared.credited += credit;
        }
    }

    /// One sample; `cpu` is the thread's CPU clock.
    pub fn sample(&mut self, shared: &mut Shared, hit: bool, time: u64, cpu: u64) {
        if shared.window.number == 0 {
            return;
        }
        self.meet(shared);
        shared.hits += u64::from(hit);
        match shared.crediting {
            Crediting::Smoothed => {
                self.share = self.share.after(hit);
                let rest = PERIOD.saturating_sub(self.partial);
                self.partial = self.partial.saturating_sub(PERIOD);
                self.cpu_mark = cpu;
                self.credit_time = time;
                self.give(
                    shared,
                    credit_for(self.share.share, rest, shared.window.speedup),
                );
            }
            Crediting::Batches => {
                self.batch.0 += 1;
                self.batch.1 += u64::from(hit);
                if self.batch.0 >= BATCH {
                    let one = u128::from(PERIOD) * u128::from(shared.window.speedup);
                    let one = one / u128::from(SPEEDUP_ONE);
                    let credit = self.batch.1 * u64::try_from(one).unwrap_or(0);
                    self.batch = (0, 0);
                    self.give(shared, credit);
                }
            }
        }
    }

    /// Credits the CPU time since the last sample or credit.
    pub fn credit_partial(&mut self, shared: &mut Shared, time: u64, cpu: u64) {
        if shared.window.number == 0 {
            return;
        }
        self.meet(shared);
        let idle = shared.window.speedup == 0 || self.share.share == 0;
        if idle || shared.crediting == Crediting::Batches {
            return;
        }
        if time.saturating_sub(self.credit_time) < CREDIT_GAP {
            return;
        }
        self.credit_time = time;
        let mark = std::mem::replace(&mut self.cpu_mark, cpu);
        if mark == 0 {
            return;
        }
        let ahead = (PERIOD * PERIODS_AHEAD).saturating_sub(self.partial);
        let part = cpu.saturating_sub(mark).min(ahead);
        self.partial += part;
        let credit = credit_for(self.share.share, part, shared.window.speedup);
        self.give(shared, credit);
    }

    /// How long to sleep now and what of the debt that stands for; nothing if too little is owed.
    pub fn due(&mut self, shared: &Shared) -> Option<(u64, u64)> {
        if shared.window.number == 0 {
            return None;
        }
        self.meet(shared);
        let due = self.account(shared).due();
        let mean = shared.oversleep.max(0) as u64;
        (due > mean + SMALLEST_SLEEP).then(|| {
            let part = due.min(SLICE);
            (part - mean, part)
        })
    }

    /// Books a sleep of `slept` ns, of which `wanted` were asked for, against a `part` of the debt.
    pub fn paid(&mut self, shared: &mut Shared, wanted: u64, part: u64, slept: u64) {
        let excess = slept.saturating_sub(wanted).min(1_000_000) as i64;
        shared.oversleep += (excess - shared.oversleep) / 8;
        shared.paused += slept;
        if self.window == shared.window.number {
            self.account(shared).paid(part, slept);
        }
    }

    /// G and the window, to be remembered while the thread waits.
    pub fn before_wait(&mut self, shared: &Shared) -> (u64, u64) {
        if shared.window.number != 0 {
            self.meet(shared);
        }
        (shared.global.load(Relaxed), shared.window.number)
    }

    /// After a wait that another thread ended.
    pub fn after_wake(&mut self, shared: &Shared, wait: (u64, u64)) {
        if shared.window.number != 0 && wait.1 == shared.window.number {
            self.meet(shared);
            self.account(shared).excuse(wait.0);
        }
    }
}
