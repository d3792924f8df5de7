//! How many hooks may pass before the clock is looked at again.
//!
//! A thread that locks every few dozen nanoseconds would spend most of its time on looking at the
//! clock for stretches of work that are too short to be credited one by one anyway
//! ([`crate::segment`]). So it leaves the clock alone in some hooks, in more of them the denser they
//! come: all that comes between two looks is one stretch then. Hooks in which a thread waits, or may wake another, always look: what a thread owes and is
//! owed is settled there whatever came before.

/// Looks that are nearer than this, ns, are too many: the hooks between them were dense. A tenth of
/// the gap between two credits.
const NEAR: u64 = 2_000;
/// Looks that are farther apart, ns, are too few: work came between the hooks.
const FAR: u64 = 5_000;
/// Hooks that pass without a look at most: at 30 ns each they take about as long as [`NEAR`].
const MOST: u32 = 63;

/// How many hooks may pass after a look at the clock that came `elapsed` ns after the one before,
/// between which `passed` might.
#[must_use]
pub fn may_pass(passed: u32, elapsed: u64) -> u32 {
    match elapsed {
        0..NEAR => passed.saturating_mul(2).saturating_add(1).min(MOST),
        NEAR..FAR => passed.min(MOST),
        FAR.. => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `hooks` hooks look at the clock if they come every so many ns.
    fn looks(hooks: u32, every: u64) -> u32 {
        let (mut count, mut allowed, mut left, mut time, mut last) = (0, 0, 0, 0u64, 0u64);
        for _ in 0..hooks {
            time += every;
            if left > 0 {
                left -= 1;
                continue;
            }
            count += 1;
            allowed = may_pass(allowed, time - last);
            (left, last) = (allowed, time);
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
        let mut passed = 0;
        for _ in 0..20 {
            passed = may_pass(passed, 10);
        }
        assert_eq!(passed, MOST);
        assert_eq!(may_pass(passed, 100_000), 0);
        assert_eq!(may_pass(u32::MAX, 0), MOST);
        assert_eq!(may_pass(7, NEAR), 7);
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
