//! Overlapping address spans made flat: at each address the span of the highest rank counts.

use std::collections::BinaryHeap;

/// A half-open span of addresses that belongs to number `rank`; higher ranks cover lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) rank: u32,
}

/// Stands for "no span" in [`Flat`].
pub(super) const NOTHING: u32 = u32::MAX;

/// Ascending boundaries; each owner holds up to the next boundary.
#[derive(Debug, Clone, Default)]
pub(super) struct Flat(Box<[(u32, u32)]>);

impl Flat {
    /// Flattens spans in any order. Empty and reversed ones count for nothing.
    pub(super) fn new(mut spans: Vec<Span>) -> Flat {
        spans.retain(|span| span.start < span.end);
        spans.sort_unstable_by_key(|span| span.start);
        let mut ends: Vec<u32> = spans.iter().map(|span| span.end).collect();
        ends.sort_unstable();

        let mut flat: Vec<(u32, u32)> = Vec::with_capacity(spans.len() + spans.len() / 2);
        let mut open: BinaryHeap<(u32, u32)> = BinaryHeap::new();
        let (mut starts, mut ends) = (spans.iter().peekable(), ends.into_iter().peekable());
        while let Some(&end) = ends.peek() {
            let here = starts.peek().map_or(end, |span| span.start.min(end));
            while let Some(span) = starts.next_if(|span| span.start == here) {
                open.push((span.rank, span.end));
            }
            while ends.next_if(|end| *end == here).is_some() {}
            while open.peek().is_some_and(|&(_, end)| end <= here) {
                open.pop();
            }
            let owner = open.peek().map_or(NOTHING, |&(rank, _)| rank);
            if flat.last().map_or(NOTHING, |&(_, last)| last) != owner {
                flat.push((here, owner));
            }
        }
        Flat(flat.into_boxed_slice())
    }

    /// The rank that counts at `address`.
    pub(super) fn at(&self, address: u32) -> Option<u32> {
        let after = self.0.partition_point(|&(start, _)| start <= address);
        let (_, rank) = *self.0.get(after.checked_sub(1)?)?;
        (rank != NOTHING).then_some(rank)
    }

    /// The same stretches under other numbers, one per rank; neighbours of one number are joined.
    pub(super) fn relabelled(self, numbers: &[u32]) -> Flat {
        let mut flat: Vec<(u32, u32)> = Vec::with_capacity(self.0.len());
        for &(start, rank) in &self.0 {
            let number = numbers.get(rank as usize).copied().unwrap_or(NOTHING);
            if flat.last().map_or(NOTHING, |&(_, last)| last) != number {
                flat.push((start, number));
            }
        }
        Flat(flat.into_boxed_slice())
    }

    /// The parts of `start..end` that `rank` owns, ascending.
    pub(super) fn parts(
        &self,
        start: u32,
        end: u32,
        rank: u32,
    ) -> impl Iterator<Item = (u32, u32)> {
        let first = self
            .0
            .partition_point(|&(at, _)| at <= start)
            .saturating_sub(1);
        let stretches = &self.0[first..];
        stretches
            .iter()
            .enumerate()
            .take_while(move |(_, entry)| entry.0 < end)
            .filter_map(move |(n, &(from, owner))| {
                let to = stretches.get(n + 1).map_or(from, |next| next.0);
                let part = (from.max(start), to.min(end));
                (owner == rank && part.0 < part.1).then_some(part)
            })
    }

    /// All stretches with an owner, ascending: start, end, rank.
    pub(super) fn stretches(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let next = self.0.iter().skip(1).map(|&(start, _)| start);
        self.0
            .iter()
            .zip(next)
            .map(|(&(start, rank), end)| (start, end, rank))
            .filter(|&(_, _, rank)| rank != NOTHING)
    }
}

/// Sorts half-open ranges and joins those that touch or overlap.
pub(super) fn join(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.retain(|(start, end)| start < end);
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spans() -> impl Strategy<Value = Vec<(u32, u32)>> {
        prop::collection::vec((0u32..60, 0u32..60), 0..20)
    }

    proptest! {
        #[test]
        fn the_highest_rank_that_covers_an_address_counts(input in spans()) {
            let spans: Vec<Span> = (0u32..)
                .zip(&input)
                .map(|(rank, &(start, end))| Span { start, end, rank })
                .collect();
            let flat = Flat::new(spans.clone());
            for address in 0..64 {
                let wanted = spans
                    .iter()
                    .filter(|s| s.start <= address && address < s.end)
                    .map(|s| s.rank)
                    .max();
                prop_assert_eq!(flat.at(address), wanted);
                let stretch = flat.stretches().find(|s| s.0 <= address && address < s.1);
                prop_assert_eq!(stretch.map(|s| s.2), wanted);
                for rank in 0..3 {
                    let part = flat.parts(10, 50, rank).any(|p| p.0 <= address && address < p.1);
                    prop_assert_eq!(part, wanted == Some(rank) && (10..50).contains(&address));
                }
            }
            let parity = flat.clone().relabelled(&(0..20).map(|n| n % 2).collect::<Vec<_>>());
            for address in 0..64 {
                prop_assert_eq!(parity.at(address), flat.at(address).map(|n| n % 2));
            }
        }

        #[test]
        fn joining_keeps_the_set_and_makes_it_disjoint(input in spans()) {
            let ranges: Vec<(u64, u64)> =
                input.iter().map(|&(a, b)| (u64::from(a), u64::from(b))).collect();
            let joined = join(ranges.clone());
            prop_assert!(joined.windows(2).all(|pair| pair[0].1 < pair[1].0));
            for address in 0..64 {
                let inside = |list: &[(u64, u64)]| list.iter().any(|r| r.0 <= address && address < r.1);
                prop_assert_eq!(inside(&ranges), inside(&joined));
            }
        }
    }
}
