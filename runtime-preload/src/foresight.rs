//! What others have done and were not credited for yet.
//!
//! A thread is credited at its samples and hooks, so G lags behind what it owes to the work under
//! way, by up to a period. A thread that is about to wait for another, or to wake one, must not go
//! by the lagging G: it would be excused, once it waits, from pauses for work that was done while it
//! ran. So it pays up to where G will be when the running threads have been credited for what they
//! have done by now; what that is ahead of G is prepaid.

use crate::hit_share;
use crate::layout::SPEEDUP_ONE;

/// How fast a thread earns credit while it runs, in 2^-32 ns a nanosecond of CPU time.
#[must_use]
pub fn pace(share: u64, speedup: u32) -> u64 {
    let share = u128::from(share.min(hit_share::ONE));
    let pace = share * u128::from(speedup.min(SPEEDUP_ONE)) / u128::from(SPEEDUP_ONE);
    u64::try_from(pace).unwrap_or(hit_share::ONE)
}

/// l of a thread once it is credited for the last `elapsed` ns, at most a period of them.
#[must_use]
pub fn local_to_come(local: u64, pace: u64, elapsed: u64, period: u64) -> u64 {
    let credit = u128::from(pace) * u128::from(elapsed.min(period)) / u128::from(hit_share::ONE);
    local.saturating_add(u64::try_from(credit).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay_ledger::credit_for;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_credit_to_come(
            share in 0u64..=hit_share::ONE, speedup in 0u32..=SPEEDUP_ONE, elapsed in 0u64..900_000
        ) {
            let credit = credit_for(share, elapsed, speedup);
            let come = local_to_come(7, pace(share, speedup), elapsed, 1_000_000);
            prop_assert!(come.abs_diff(7 + credit) <= 2);
        }

        #[test]
        fn any_words_of_the_shared_memory_are_survived(a: u64, b: u64, c: u64, d: u64) {
            prop_assert!(local_to_come(a, b, c, d) >= a);
        }
    }
}
