//! How many hooks may pass before the clock is looked at again.
//!
//! A thread that locks every few dozen nanoseconds would spend most of its time on looking at the
//! clock for stretches of work that are too short to be credited one by one anyway
//! ([`crate::segment`]). So it leaves the clock alone in some hooks, in more of them the denser they
//! come: all that comes between two looks is one stretch then. Hooks in which a thread waits, or may
//! wake another, always look: what a thread owes and is owed is settled there whatever came before.
//!
//! Many hooks must have come densely before the first may pass. A short critical section is two or
//! four of them, with work before and after: if the lock behind that work passed, what the work earned
//! and cost would be settled in the next hook, with the lock held.

/// Looks that are nearer than this, ns, are too many: the hooks between them were dense. A tenth of
/// the gap between two credits.
const NEAR: u64 = 2_000;
/// Looks that are farther apart, ns, are too few: work came between the hooks.
const FAR: u64 = 5_000;
/// Hooks that pass without a look at most: at 30 ns each they take about as long as [`NEAR`].
const MOST: u32 = 63;
/// Looks that must have come near each other, one after another, before a hook may pass.
const RUN: u32 = 16;

/// How dense a thread's hooks are after a look at the clock that came `elapsed` ns after the one
/// before; 0 to begin with.
#[must_use]
pub fn density(before: u32, elapsed: u64) -> u32 {
    match elapsed {
        0..NEAR if before < RUN => before + 1,
        0..NEAR => RUN + (2 * may_pass(before) + 1).min(MOST),
        NEAR..FAR => before.min(RUN + MOST),
        FAR.. => 0,
    }
}

/// How many hooks may pass then.
#[must_use]
pub fn may_pass(density: u32) -> u32 {
    density.saturating_sub(RUN).min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `hooks` hooks look at the clock if they come every so many ns.
    fn looks(hooks: u32, every: u64) -> u32 {
        let (mut count, mut dense, mut left, mut time, mut last) = (0, 0, 0, 0u64, 0u64);
        for _ in 0..hooks {
            time += every;
            if left > 0 {
                left -= 1;
                continue;
            }
            count += 1;
            dense = density(dense, time - last);
            (left, last) = (may_pass(dense), time);
        }
        count
    }

    #[test]
    fn dense_hooks_seldom_look() {
        assert!(looks(10_000, 20) < 200, "{}", looks(10_000, 20));
        assert!(looks(10_000, 200) < 1_500, "{}", looks(10_000, 200));
    }

    #[test]
    fn hooks_with_work_between_them_always_look() {
        for every in [5_000, 20_000, 1_000_000] {
            assert_eq!(looks(1_000, every), 1_000);
        }
    }

    #[test]
    fn work_ends_it_at_once() {
        let mut dense = 0;
        for _ in 0..30 {
            dense = density(dense, 10);
        }
        assert_eq!(may_pass(dense), MOST);
        assert_eq!(may_pass(density(dense, 100_000)), 0);
        assert_eq!(may_pass(density(u32::MAX, 0)), MOST);
        assert_eq!(density(RUN + 7, NEAR), RUN + 7);
    }

    #[test]
    fn the_hooks_of_a_short_critical_section_all_look() {
        let mut dense = 0;
        for _ in 0..20 {
            // Wait, wake and leave follow the lock, and then there is work.
            for elapsed in [200_000, 500, 500, 300] {
                dense = density(dense, elapsed);
                assert_eq!(may_pass(dense), 0);
            }
        }
    }

    #[test]
    fn looks_stay_near_the_gap_between_credits() {
        // However dense the hooks, what is not looked at stays short.
        for every in [10, 30, 100, 300, 1_000, 3_000] {
            let mean = 10_000 * every / u64::from(looks(10_000, every));
            assert!(mean < 2 * FAR, "{every}: {mean}");
        }
    }
}
