//! The calling thread's hit shares: one for each stretch of work between hooks, one for all of them
//! ([`crate::segment`]).

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::thread_kinds;
use super::thread_ledger::Entered;
use crate::hit_share::HitShare;
use crate::layout::SegmentShare;
use crate::segment::{is_mostly_this, place};

/// Samples that one signal may stand for, at most.
const MOST: u32 = 64;

fn load(share: &AtomicU64, samples: &AtomicU64, run: &AtomicU64) -> HitShare {
    HitShare {
        share: share.load(Relaxed),
        samples: samples.load(Relaxed),
        run: run.load(Relaxed),
    }
}

fn after(mut share: HitShare, hit: bool, weight: u32) -> HitShare {
    for _ in 0..weight.min(MOST) {
        share = share.after(hit);
    }
    share
}

impl Entered {
    /// A new line: what was learned is of no use.
    pub(super) fn forget_shares(&self) {
        self.slot.share_samples.store(0, Relaxed);
        self.slot.run.store(0, Relaxed);
        for segment in &self.slot.segments {
            segment.samples.store(0, Relaxed);
        }
    }

    /// The share that credit for the last `uncredited` ns goes by.
    pub(super) fn share(&self, time: u64, uncredited: u64) -> u64 {
        let since = time.saturating_sub(self.slot.segment_time.load(Relaxed));
        if is_mostly_this(since, uncredited)
            && let Some(segment) = self.segment()
        {
            return segment.share.load(Relaxed);
        }
        self.whole().share
    }

    /// The share of all the thread's work, or of threads like it while it has no samples.
    fn whole(&self) -> HitShare {
        let slot = self.slot;
        let own = load(&slot.share, &slot.share_samples, &slot.run);
        if own.samples == 0 {
            return thread_kinds::prior(slot.kind.load(Relaxed), self.window.line);
        }
        own
    }

    /// Learns from a sample that stands for `weight` periods.
    pub(super) fn learn(&self, hit: bool, weight: u32) {
        let slot = self.slot;
        let whole = after(self.whole(), hit, weight);
        slot.share.store(whole.share, Relaxed);
        slot.share_samples.store(whole.samples, Relaxed);
        slot.run.store(whole.run, Relaxed);
        thread_kinds::learn(slot.kind.load(Relaxed), self.window.line, hit);
        let key = self.slot.segment.load(Relaxed);
        let (segment, old) = match self.segment() {
            Some(segment) => {
                let old = load(&segment.share, &segment.samples, &segment.run);
                (segment, old)
            }
            None => (self.free_segment(key), HitShare::default()),
        };
        // The stretch before the first hook may be all that a short-lived thread does: it goes on
        // from what threads like it have learned.
        let old = if key == 0 && old.samples == 0 {
            whole
        } else {
            after(old, hit, weight)
        };
        segment.key.store(key, Relaxed);
        segment.share.store(old.share, Relaxed);
        segment.samples.store(old.samples, Relaxed);
        segment.run.store(old.run, Relaxed);
    }

    /// The present stretch's place, if it has samples.
    fn segment(&self) -> Option<&'static SegmentShare> {
        let key = self.slot.segment.load(Relaxed);
        let mut all = self.slot.segments.iter();
        all.find(|segment| segment.samples.load(Relaxed) != 0 && segment.key.load(Relaxed) == key)
    }

    /// A free place for a key, or the one that it takes from another.
    fn free_segment(&self, key: u64) -> &'static SegmentShare {
        let segments = &self.slot.segments;
        let free = segments
            .iter()
            .find(|segment| segment.samples.load(Relaxed) == 0);
        free.unwrap_or(&segments[place(key)])
    }
}
