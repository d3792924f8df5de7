//! Where G will be once the running threads are credited for what they have done by now
//! ([`crate::foresight`]).

use core::sync::atomic::Ordering::Relaxed;

use super::thread_ledger::Entered;
use crate::foresight::{local_to_come, pace};
use crate::layout::ThreadSlot;

/// With more threads than this nobody looks at all the others: it would cost more than it tells.
const MOST_THREADS: usize = 64;

impl Entered {
    /// The thread runs the program's code from now on: others may count on its credit.
    pub(super) fn set_out(&self, share: u64, since: u64) {
        let slot = self.slot;
        slot.pace_since.store(since, Relaxed);
        slot.pace.store(pace(share, self.window.speedup), Relaxed);
    }

    /// Where G will be, at `time`, as far as it is known.
    pub(super) fn outlook(&self, time: u64) -> u64 {
        let global = self.region.global.g.load(Relaxed);
        let high = self.region.header.threads_high.load(Relaxed) as usize;
        if self.window.speedup == 0 || self.window.crowded || high > MOST_THREADS {
            return global;
        }
        let period = self.region.header.period.load(Relaxed);
        let others = self.region.threads.iter().take(high);
        let others = others.filter(|other| !core::ptr::eq(*other, self.slot));
        others.fold(global, |most, other| {
            most.max(self.to_come(other, global, time, period))
        })
    }

    fn to_come(&self, other: &ThreadSlot, global: u64, time: u64, period: u64) -> u64 {
        let pace = other.pace.load(Relaxed);
        if pace == 0 || other.window.load(Relaxed) != self.window.number {
            return 0;
        }
        let elapsed = time.saturating_sub(other.pace_since.load(Relaxed));
        let local = other.local.load(Relaxed);
        // It pays what it owes from what it prepaid before it is credited.
        let owed = global.saturating_sub(local);
        let paid = other.prepaid.load(Relaxed).min(owed);
        local_to_come(local.saturating_add(paid), pace, elapsed, period)
    }
}

/// Nobody may count on a thread's credit any more: it waits, or pays, or has ended.
pub(super) fn set_in(slot: &ThreadSlot) {
    slot.pace.store(0, Relaxed);
}
