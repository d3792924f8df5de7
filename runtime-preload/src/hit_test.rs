//! Is a stack a hit of the selected line? Asked frame by frame, from the innermost outwards.
//!
//! A plan may demand that a caller be further up the stack (`--under`): then only the first
//! ranges of the line are hits by themselves, where the caller was inlined around the line; the
//! others wait for a frame in the caller's ranges.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::layout::{Plan, Range};

/// The test of one stack.
pub struct HitTest<'a> {
    plan: &'a Plan,
    /// The line was seen, its caller was not yet.
    waits: bool,
}

impl<'a> HitTest<'a> {
    /// Before the innermost frame.
    #[must_use]
    pub fn new(plan: &'a Plan) -> HitTest<'a> {
        HitTest { plan, waits: false }
    }

    /// Whether the stack is a hit now that this frame is known too.
    ///
    /// # Signal safety
    /// Loads only; counts that the other side got wrong are cut to the room there is.
    pub fn frame(&mut self, address: u64) -> bool {
        let plan = self.plan;
        let all = first(&plan.ranges, &plan.range_count);
        let settled = first(all, &plan.alone_count);
        if contain(settled, address)
            || (self.waits && contain(first(&plan.callers, &plan.caller_count), address))
        {
            return true;
        }
        self.waits = self.waits || contain(&all[settled.len()..], address);
        false
    }
}

fn first<'r>(ranges: &'r [Range], count: &AtomicU32) -> &'r [Range] {
    &ranges[..(count.load(Relaxed) as usize).min(ranges.len())]
}

/// Whether `address` is in one of the ranges, which ascend and are disjoint.
fn contain(ranges: &[Range], address: u64) -> bool {
    let after = ranges.partition_point(|range| range.start.load(Relaxed) <= address);
    after
        .checked_sub(1)
        .is_some_and(|at| address < ranges[at].end.load(Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;

    fn plan(alone: &[(u64, u64)], waiting: &[(u64, u64)], callers: &[(u64, u64)]) -> Box<Plan> {
        // SAFETY: a plan is atomics, for which zeros are valid.
        let plan: Box<Plan> = unsafe { Box::new_zeroed().assume_init() };
        let fill = |ranges: &[Range], values: &mut dyn Iterator<Item = &(u64, u64)>| {
            for (range, (start, end)) in ranges.iter().zip(values) {
                range.start.store(*start, Relaxed);
                range.end.store(*end, Relaxed);
            }
        };
        fill(&plan.ranges, &mut alone.iter().chain(waiting));
        fill(&plan.callers, &mut callers.iter());
        let count = (alone.len() + waiting.len()) as u32;
        plan.range_count.store(count, Relaxed);
        plan.alone_count.store(alone.len() as u32, Relaxed);
        plan.caller_count.store(callers.len() as u32, Relaxed);
        plan
    }

    fn hit(plan: &Plan, stack: &[u64]) -> bool {
        let mut test = HitTest::new(plan);
        stack.iter().any(|address| test.frame(*address))
    }

    #[test]
    fn a_line_is_hit_by_any_frame_in_its_ranges() {
        let plan = plan(&[(10, 20), (30, 40)], &[], &[]);
        assert!(hit(&plan, &[10]) && hit(&plan, &[5, 39]) && hit(&plan, &[50, 60, 30]));
        assert!(!hit(&plan, &[5, 20, 29, 40]) && !hit(&plan, &[]));
    }

    #[test]
    fn beneath_a_caller_only_a_frame_further_up_counts() {
        let plan = plan(
            &[(100, 110)],
            &[(10, 20), (120, 130)],
            &[(50, 60), (100, 140)],
        );
        assert!(hit(&plan, &[10, 50]) && hit(&plan, &[5, 12, 7, 59]));
        assert!(!hit(&plan, &[10]) && !hit(&plan, &[50, 10]) && !hit(&plan, &[50]));
        // Inlined into the caller: one frame is enough. On it but around it: not by itself.
        assert!(hit(&plan, &[105]));
        assert!(!hit(&plan, &[125]) && hit(&plan, &[125, 55]));
        // Recursion: the line, the caller, the line again.
        assert!(hit(&plan, &[3, 10, 4, 130 - 1, 10]));
    }

    #[test]
    fn wild_counts_do_no_harm() {
        let plan = plan(&[(10, 20)], &[], &[]);
        plan.range_count.store(u32::MAX, Relaxed);
        plan.alone_count.store(u32::MAX, Relaxed);
        plan.caller_count.store(u32::MAX, Relaxed);
        let _ = hit(&plan, &[0, 15, u64::MAX]);
    }
}
