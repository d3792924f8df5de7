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
    /// Smoothed share × CPU time, at each sample and at each synchronisation, with one share for
    /// each kind of stretch between two of them.
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
    segment: u64,
    shares: Vec<(u64, HitShare)>,
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
            self.shares.clear();
        }
    }

    /// The thread has synchronised, in a way that `key` tells from others.
    pub fn enter_segment(&mut self, key: u64) {
        self.segment = key;
    }

    /// The share of hits that credit goes by now.
    fn share(&self) -> u64 {
        let of_segment = self.shares.iter().find(|(key, _)| *key == self.segment);
        of_segment.map_or(0, |(_, share)| share.share)
    }

    fn give(&self, shared: &mut Shared, credit: u64) {
        if credit != 0 {
            if shared.crediting == Crediting::Smoothed {
                // What was prepaid is used up first, or the credit would not raise G.
                let _still_owed = self.account(shared).due();
            }
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
                let segment = self.segment;
                match self.shares.iter_mut().find(|(key, _)| *key == segment) {
                    Some((_, share)) => *share = share.after(hit),
                    None => self.shares.push((segment, HitShare::default().after(hit))),
                }
                let rest = PERIOD.saturating_sub(self.partial);
                self.partial = self.partial.saturating_sub(PERIOD);
                self.cpu_mark = cpu;
                self.credit_time = time;
                self.give(
                    shared,
                    credit_for(self.share(), rest, shared.window.speedup),
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
        if shared.window.speedup == 0 || shared.crediting == Crediting::Batches {
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
        let credit = credit_for(self.share(), part, shared.window.speedup);
        self.give(shared, credit);
    }

    /// How long to sleep now and what of the debt that stands for; nothing if too little is owed.
    /// `foreseen` is where G will be once others are credited for what they have done.
    pub fn due(&mut self, shared: &Shared, foreseen: u64) -> Option<(u64, u64)> {
        if shared.window.number == 0 {
            return None;
        }
        self.meet(shared);
        let due = self.account(shared).due();
        let ahead = foreseen
            .saturating_sub(shared.global.load(Relaxed))
            .saturating_sub(self.prepaid.load(Relaxed));
        let all = due + ahead;
        // The runtime spins out the end of a pause; Coz sleeps it all.
        let mean = match shared.crediting {
            Crediting::Smoothed => 0,
            Crediting::Batches => shared.oversleep.max(0) as u64,
        };
        (all > mean + SMALLEST_SLEEP).then(|| {
            let part = all.min(SLICE);
            (part - mean, part)
        })
    }

    /// Books a sleep of `slept` ns, of which `wanted` were asked for, against a `part` of the debt.
    pub fn paid(&mut self, shared: &mut Shared, wanted: u64, part: u64, slept: u64) {
        let excess = slept.saturating_sub(wanted).min(1_000_000) as i64;
        shared.oversleep += (excess - shared.oversleep) / 8;
        shared.paused += slept;
        if self.window == shared.window.number {
            // G may have grown meanwhile, by what was foreseen among others; the rest is prepaid.
            let owed = self.account(shared).due().min(part);
            self.account(shared).paid(owed, slept);
        }
    }

    /// G, with what it is foreseen to be, and the window: to be remembered while the thread waits.
    pub fn before_wait(&mut self, shared: &Shared, foreseen: u64) -> (u64, u64) {
        if shared.window.number != 0 {
            self.meet(shared);
        }
        let prepaid = self.prepaid.load(Relaxed);
        let global = shared.global.load(Relaxed);
        (
            global.max(foreseen.saturating_sub(prepaid)),
            shared.window.number,
        )
    }

    /// Where l will be once the thread is credited for what it has done, at `cpu` on its clock.
    pub fn foreseen(&self, shared: &Shared, cpu: u64) -> u64 {
        let local = self.local.load(Relaxed);
        if self.window != shared.window.number || self.cpu_mark == 0 {
            return local;
        }
        let done = cpu.saturating_sub(self.cpu_mark).min(PERIOD);
        local + credit_for(self.share(), done, shared.window.speedup)
    }

    /// After a wait of `waited` ns that another thread ended.
    pub fn after_wake(&mut self, shared: &Shared, wait: (u64, u64), waited: u64) {
        if shared.window.number != 0 && wait.1 == shared.window.number {
            self.meet(shared);
            let from = self.account(shared).waited_since(wait.0, waited);
            self.account(shared).excuse(from);
        }
    }
}
