//! More runnable threads than processors: who owes a pause, and how it is paid.
//!
//! A virtual speedup is exact if all other threads stop at the same instant: while the credited
//! thread does its d of work, the other processors stand still for d, and in virtual time that
//! work took no time on any processor. With a processor for each thread it makes no difference
//! whether the pauses overlap. With fewer it does: a thread that sleeps alone leaves its processor
//! to one that was waiting for it, nobody loses anything, and d would be taken for a gain.
//!
//! So a processor is treated as any other thing that one thread waits for and another hands over.
//! In a crowded window
//! - a thread that waited for a processor is excused from what G grew meanwhile, as a thread that
//!   waited for a lock is: whoever ran in its place has paid;
//! - what a thread came to owe while it ran, it pays *on its processor*, by standing still there
//!   for that much CPU time;
//! - what it came to owe while it waited for something outside (a timer, a file), it sleeps off,
//!   as ever.
//!
//! A thread learns that it waited for a processor from its two clocks: without a voluntary context
//! switch, wall time that is not CPU time was spent in the run queue. Both rules are right, too,
//! where threads are few; they only cost CPU time then.

/// Runnable threads over processors from which a process counts as crowded. Below, the waits for a
/// processor are those for the kernel's own work and for us.
pub const CROWDED: f64 = 1.1;

/// The mean number of runnable threads, seen from busy processors: `cpu` ns were run and `waited`
/// ns were spent runnable without a processor, on `processors`. Nothing without CPU time.
#[must_use]
pub fn runnable(cpu: u64, waited: u64, processors: usize) -> Option<f64> {
    (cpu > 0).then(|| processors as f64 * (1.0 + waited as f64 / cpu as f64))
}

/// Of `growth` ns that G grew during `wall` ns, of which the thread ran for `ran` ns and waited for a
/// processor otherwise: what fell into the wait, if G grew evenly. `raised` of it the thread itself
/// added while it ran, and is not excused from; then the others add less, so that the whole grows
/// evenly and not their part.
#[must_use]
pub fn queued_part(growth: u64, raised: u64, wall: u64, ran: u64) -> u64 {
    let waited = wall.saturating_sub(ran);
    if wall == 0 {
        return 0;
    }
    let part = u128::from(growth) * u128::from(waited) / u128::from(wall);
    let part = u64::try_from(part).unwrap_or(growth);
    part.min(growth.saturating_sub(raised))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn three_threads_that_share_two_processors_are_counted() {
        assert_eq!(runnable(2_000, 1_000, 2), Some(3.0));
        assert_eq!(runnable(0, 5, 2), None);
    }

    #[test]
    fn a_thread_that_ran_all_the_time_is_excused_from_nothing() {
        assert_eq!(queued_part(500, 0, 1_000, 1_000), 0);
        assert_eq!(queued_part(500, 9, 1_000, 1_001), 0);
        assert_eq!(queued_part(500, 0, 1_000, 0), 500);
        assert_eq!(queued_part(500, 0, 0, 0), 0);
    }

    #[test]
    fn what_others_added_during_the_wait_is_found() {
        // Two threads on processors add 480 in 1,000 together, half of it each; this one waited for
        // 3,500 and ran for 1,000, of which it was the one that added half.
        let (in_the_wait, meanwhile) = (480 * 7 / 2, 480);
        assert_eq!(
            queued_part(in_the_wait + meanwhile, 240, 4_500, 1_000),
            in_the_wait
        );
    }

    proptest! {
        #[test]
        fn never_more_than_others_added_is_excused(growth: u64, raised: u64, wall: u64, ran: u64) {
            prop_assert!(queued_part(growth, raised, wall, ran) <= growth.saturating_sub(raised));
        }
    }
}
