//! The addresses that make a stack a hit of the selected line or function.

use coz_rs_runtime_preload::layout::{MAX_CALLERS, MAX_RANGES};

use super::spans::join;

/// Absolute address ranges; each list ascends and is disjoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HitRanges {
    /// Hits wherever they are.
    pub alone: Vec<(u64, u64)>,
    /// Hits beneath a frame in `callers` only.
    pub beneath: Vec<(u64, u64)>,
    /// What those hits must be beneath.
    pub callers: Vec<(u64, u64)>,
}

impl HitRanges {
    /// Whether a target has room for all of them.
    #[must_use]
    pub fn fit(&self) -> bool {
        self.alone.len() + self.beneath.len() <= MAX_RANGES && self.callers.len() <= MAX_CALLERS
    }
}

/// `ranges` without what lies in `taken`; both in any order.
pub(super) fn without(ranges: Vec<(u64, u64)>, taken: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut left = Vec::new();
    let taken = join(taken.to_vec());
    for (mut start, end) in join(ranges) {
        let first = taken.partition_point(|range| range.1 <= start);
        for &(from, to) in taken[first..].iter().take_while(|range| range.0 < end) {
            if start < from {
                left.push((start, from));
            }
            start = start.max(to);
        }
        if start < end {
            left.push((start, end));
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0u64..60, 0u64..60), 0..12)
    }

    proptest! {
        #[test]
        fn what_is_taken_is_gone_and_nothing_else(all in ranges(), taken in ranges()) {
            let left = without(all.clone(), &taken);
            prop_assert!(left.windows(2).all(|pair| pair[0].1 <= pair[1].0));
            for address in 0..64 {
                let inside = |list: &[(u64, u64)]| list.iter().any(|r| r.0 <= address && address < r.1);
                prop_assert_eq!(inside(&left), inside(&all) && !inside(&taken));
            }
        }
    }
}
