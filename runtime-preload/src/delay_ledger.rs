//! The ledger: who owes how much pause (all in nanoseconds).
//!
//! G is the sum of pauses that every thread owes, l what one thread has paid or been excused, p
//! what it has prepaid by oversleeping. The rules: credit raises l and then G; only credit raises
//! G; a thread woken by another is excused what G grew while it was blocked; l never passes G.
//! This file is arithmetic on atomics alone, so that a simulator can run the real ledger.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::hit_share;
use crate::layout::SPEEDUP_ONE;

/// The credit for `cpu` ns at a hit share and a virtual speedup in millionths.
#[must_use]
pub fn credit_for(share: u64, cpu: u64, speedup: u32) -> u64 {
    let part = (u128::from(share) * u128::from(cpu)) / u128::from(hit_share::ONE);
    let credit = part * u128::from(speedup.min(SPEEDUP_ONE)) / u128::from(SPEEDUP_ONE);
    u64::try_from(credit).unwrap_or(u64::MAX)
}

/// One thread's side of the ledger.
#[derive(Debug, Clone, Copy)]
pub struct Account<'a> {
    /// G.
    pub global: &'a AtomicU64,
    /// l; written by its thread alone.
    pub local: &'a AtomicU64,
    /// p; written by its thread alone.
    pub prepaid: &'a AtomicU64,
}

impl Account<'_> {
    /// Starts a window: nothing owed, nothing prepaid.
    pub fn settle(&self) {
        self.local.store(self.global.load(Relaxed), Relaxed);
        self.prepaid.store(0, Relaxed);
    }

    /// Credits a hit: all other threads owe `credit` more (unless G is ahead of this thread).
    /// Returns by how much G grew.
    pub fn credit(&self, credit: u64) -> u64 {
        let local = self.local.load(Relaxed).saturating_add(credit);
        self.local.store(local, Relaxed);
        local.saturating_sub(self.global.fetch_max(local, Relaxed))
    }

    fn owed(&self) -> u64 {
        let local = self.local.load(Relaxed);
        self.global.load(Relaxed).saturating_sub(local)
    }

    /// What the thread owes now, after using up what it prepaid.
    #[must_use]
    pub fn due(&self) -> u64 {
        let owed = self.owed();
        if owed == 0 {
            return 0;
        }
        owed - self.use_prepaid(owed)
    }

    /// Books a pause: `slept` ns against the `due` ns that were owed. Oversleep is prepaid and
    /// never raises G.
    pub fn paid(&self, due: u64, slept: u64) {
        let local = self.local.load(Relaxed);
        self.local
            .store(local.saturating_add(due.min(slept)), Relaxed);
        let over = slept.saturating_sub(due);
        if over != 0 {
            self.prepaid
                .store(self.prepaid.load(Relaxed).saturating_add(over), Relaxed);
        }
    }

    /// Lets the thread off `due` ns that it owes and will not pay.
    pub fn forgive(&self, due: u64) {
        let local = self.local.load(Relaxed).saturating_add(due);
        self.local
            .store(local.min(self.global.load(Relaxed)), Relaxed);
    }

    /// Excuses the thread from what G grew since `from`, when it blocked. Returns how much.
    ///
    /// What it prepaid counts first: a pause that was slept too long, or for work that was not in G
    /// yet, has been made up for by the wait, which would have been longer by as much.
    pub fn excuse(&self, from: u64) -> u64 {
        let growth = self.global.load(Relaxed).saturating_sub(from);
        self.excuse_part(growth - self.use_prepaid(growth))
    }

    /// Where a thread that came to wait at `g` stands after a wait of `waited` ns. Had it first slept
    /// off what it still owed then, it would have been woken at the same moment.
    #[must_use]
    pub fn waited_since(&self, g: u64, waited: u64) -> u64 {
        let local = self.local.load(Relaxed);
        let settled = local.saturating_add(self.prepaid.load(Relaxed));
        g.min(settled.max(g.saturating_sub(waited)))
    }

    /// Pays up to `most` of what is owed from what was prepaid. Returns how much.
    fn use_prepaid(&self, most: u64) -> u64 {
        let local = self.local.load(Relaxed);
        let prepaid = self.prepaid.load(Relaxed);
        let owed = self.global.load(Relaxed).saturating_sub(local);
        let used = prepaid.min(owed).min(most);
        if used != 0 {
            self.prepaid.store(prepaid - used, Relaxed);
            self.local.store(local + used, Relaxed);
        }
        used
    }

    /// Excuses the thread from `part` of what it owes, or all of it. Returns how much.
    pub fn excuse_part(&self, part: u64) -> u64 {
        let local = self.local.load(Relaxed);
        let excused = part.min(self.global.load(Relaxed).saturating_sub(local));
        self.local.store(local.saturating_add(excused), Relaxed);
        excused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Event {
        Credit(usize, u32),
        Pay(usize, i16),
        Block(usize),
        Wake(usize),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (0usize..4, 0u32..2_000_000).prop_map(|(i, c)| Event::Credit(i, c)),
            (0usize..4, -500i16..30_000).prop_map(|(i, over)| Event::Pay(i, over)),
            (0usize..4).prop_map(Event::Block),
            (0usize..4).prop_map(Event::Wake),
        ]
    }

    proptest! {
        #[test]
        fn l_never_passes_g_and_only_credit_raises_g(events in proptest::collection::vec(event(), 0..300)) {
            let global = AtomicU64::new(0);
            let cells: std::vec::Vec<_> = (0..4).map(|_| (AtomicU64::new(0), AtomicU64::new(0))).collect();
            let mut blocked = [None; 4];
            // What each thread paid by sleeping, was excused, and was credited: must add up to l.
            let mut slept = [0i128; 4];
            let mut excused = [0i128; 4];
            let mut credited = [0i128; 4];
            for event in events {
                let before = global.load(Relaxed);
                let account = |i: usize| Account { global: &global, local: &cells[i].0, prepaid: &cells[i].1 };
                match event {
                    Event::Credit(i, c) => {
                        account(i).credit(u64::from(c));
                        credited[i] += i128::from(c);
                    }
                    Event::Pay(i, over) => {
                        let due = account(i).due();
                        let real = due.saturating_add_signed(i64::from(over));
                        if due > 0 { account(i).paid(due, real); slept[i] += i128::from(real); }
                    }
                    Event::Block(i) => blocked[i] = Some(before),
                    Event::Wake(i) => if let Some(from) = blocked[i].take() {
                        excused[i] += i128::from(account(i).excuse(from));
                    },
                }
                let after = global.load(Relaxed);
                prop_assert!(after >= before);
                if !matches!(event, Event::Credit(..)) { prop_assert_eq!(after, before); }
                for i in 0..4 {
                    let l = cells[i].0.load(Relaxed);
                    prop_assert!(l <= after);
                    let p = i128::from(cells[i].1.load(Relaxed));
                    prop_assert_eq!(i128::from(l) + p, slept[i] + excused[i] + credited[i]);
                }
            }
        }

        #[test]
        fn a_wait_makes_up_for_what_was_owed_before_it(
            local in 0u64..1000, balance in -1000i64..1000, growth in 0u64..1000, waited in 0u64..1000
        ) {
            // Either something is owed or something is prepaid.
            let owed = u64::try_from(balance).unwrap_or(0);
            let prepaid = u64::try_from(-balance).unwrap_or(0);
            let words = [local + owed + growth, local, prepaid];
            let [global, local, prepaid] = words.map(AtomicU64::new);
            let account = Account { global: &global, local: &local, prepaid: &prepaid };
            let g = global.load(Relaxed) - growth;
            let from = account.waited_since(g, waited);
            account.excuse(from);
            prop_assert_eq!(account.due(), owed.saturating_sub(waited));
        }

        #[test]
        fn credit_is_share_times_time_times_speedup(share in 0u64..=hit_share::ONE, cpu in 0u64..1u64 << 40, ppm in 0u32..=SPEEDUP_ONE) {
            let exact = share as f64 / hit_share::ONE as f64 * cpu as f64 * f64::from(ppm) / 1e6;
            prop_assert!((credit_for(share, cpu, ppm) as f64 - exact).abs() <= 2.0 + exact * 1e-9);
        }
    }
}
