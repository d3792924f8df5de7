//! Samples counted by source line, and what was tried on each line.

use std::collections::HashMap;
use std::hash::Hash;

use coz_rs_plot::estimates::Analysis;
use coz_rs_plot::record::Record;

use crate::caller_chains::CallerChains;
use crate::experiments::choice::{Candidate, LEVELS};
use crate::scope_tally::ScopeTally;
use crate::symbols::LineId;

/// A line of any target.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// `file:line`.
    pub location: String,
    /// The function it is in; empty if unknown.
    pub function: String,
    /// Samples that belong to it.
    pub samples: u64,
    /// Of which the profile already tells.
    written: u64,
    /// Experiments at each level.
    pub tried: [u32; LEVELS],
    /// How open the decision about it is; nothing while it was not analysed.
    pub open: Option<f64>,
    /// Where its curve bends.
    pub knee: Option<f64>,
    /// Levels that may be tried: a higher one brought the program to a standstill.
    pub limit: usize,
}

/// How open the decision about a line is that was not analysed yet: as open as any.
const UNKNOWN: f64 = 4.0;
/// Experiments, one at each of the first levels, before an estimate is believed to settle a line.
const FIRST_LOOK: u32 = 4;
/// A line with a smaller part of a thread's time cannot gain much, whatever is not known of it; and
/// there are many such lines, so their need falls faster than their part.
const SMALL: f64 = 0.05;

impl Line {
    /// What the choice of the next experiment needs; `part` is the part of one thread's samples
    /// that the line has if they all come from one thread.
    #[must_use]
    pub fn candidate(&self, part: f64) -> Candidate {
        let tried: u32 = self.tried.iter().sum();
        let open = self.open.filter(|_| tried >= FIRST_LOOK);
        Candidate {
            samples: self.samples,
            tried: self.tried,
            open: open.unwrap_or(UNKNOWN) * (part / SMALL).min(1.0).powi(2),
            knee: self.knee,
            limit: self.limit,
        }
    }
}

/// Number of a line in the tally.
pub type LineNumber = usize;

/// All lines seen so far, and all samples.
#[derive(Debug, Clone)]
pub struct LineTally<Id = LineId> {
    lines: Vec<Line>,
    by_location: HashMap<String, LineNumber>,
    by_target: HashMap<(u32, Id), LineNumber>,
    /// The chains of calls that led to them.
    pub callers: CallerChains,
    /// What the scope left out.
    pub left_out: ScopeTally,
    /// Samples of known code, none of it in scope.
    pub out_of_scope: u64,
    /// Samples of unknown code.
    pub unknown: u64,
}

impl<Id> Default for LineTally<Id> {
    fn default() -> Self {
        LineTally {
            lines: Vec::new(),
            by_location: HashMap::new(),
            by_target: HashMap::new(),
            callers: CallerChains::default(),
            left_out: ScopeTally::default(),
            out_of_scope: 0,
            unknown: 0,
        }
    }
}

impl<Id: Copy + Eq + Hash> LineTally<Id> {
    /// The number of a target's line, if it was counted before.
    #[must_use]
    pub fn known(&self, target: u32, id: Id) -> Option<LineNumber> {
        self.by_target.get(&(target, id)).copied()
    }

    /// The number of a target's line; lines of the same place in several targets are one.
    pub fn number(&mut self, target: u32, id: Id, location: String, function: &str) -> LineNumber {
        let next = self.lines.len();
        let number = *self.by_location.entry(location.clone()).or_insert(next);
        if number == next {
            self.lines.push(Line {
                location,
                function: function.to_owned(),
                samples: 0,
                written: 0,
                tried: [0; LEVELS],
                open: None,
                knee: None,
                limit: LEVELS,
            });
        }
        self.by_target.insert((target, id), number);
        number
    }

    /// Counts samples of a line.
    pub fn count(&mut self, number: LineNumber, samples: u64) {
        if let Some(line) = self.lines.get_mut(number) {
            line.samples += samples;
        }
    }

    /// A line.
    #[must_use]
    pub fn line(&self, number: LineNumber) -> Option<&Line> {
        self.lines.get(number)
    }

    /// A line, to note what was tried.
    pub fn line_mut(&mut self, number: LineNumber) -> Option<&mut Line> {
        self.lines.get_mut(number)
    }

    /// The function of a location's line, and the line's part of all samples in scope.
    #[must_use]
    pub fn share(&self, location: &str) -> Option<(&str, f64)> {
        let line = self.lines.get(*self.by_location.get(location)?)?;
        let part = line.samples as f64 / self.in_scope().max(1) as f64;
        Some((&line.function, part))
    }

    /// The line of a location.
    pub fn at(&mut self, location: &str) -> Option<&mut Line> {
        let number = *self.by_location.get(location)?;
        self.lines.get_mut(number)
    }

    /// Samples of all lines in scope.
    #[must_use]
    pub fn in_scope(&self) -> u64 {
        self.lines.iter().map(|line| line.samples).sum()
    }

    /// The lines of one target, with what the choice of the next experiment needs; `busy` is the
    /// number of threads that the samples come from.
    #[must_use]
    pub fn candidates(&self, target: u32, busy: usize) -> Vec<(Id, LineNumber, Candidate)> {
        let total = self.in_scope().max(1) as f64;
        let mut all: Vec<_> = self
            .by_target
            .iter()
            .filter(|((owner, _), _)| *owner == target)
            .filter_map(|((_, id), number)| {
                let line = self.lines.get(*number)?;
                let candidate = line.candidate(line.samples as f64 / total * busy as f64);
                Some((*id, *number, candidate))
            })
            .collect();
        // The map's order is random; a seed must not depend on it.
        all.sort_by_key(|(_, number, _)| *number);
        all
    }

    /// Takes over how open the decisions are: a line may matter to one point and not to another, so
    /// the most open one counts.
    pub fn learn(&mut self, analysis: &Analysis) {
        self.forget_decisions();
        for line in analysis.points.iter().flat_map(|point| &point.lines) {
            let Some(known) = self.at(&line.location) else {
                continue;
            };
            if known.open.is_none_or(|open| line.open > open) {
                known.open = Some(line.open);
                known.knee = line.curve.as_ref().and_then(|curve| curve.knee);
            }
        }
    }

    /// All lines, with what the choice of the next experiment needs.
    #[must_use]
    pub fn all(&self) -> Vec<(LineNumber, Candidate)> {
        let total = self.in_scope().max(1) as f64;
        let lines = self.lines.iter().enumerate();
        lines
            .map(|(number, line)| (number, line.candidate(line.samples as f64 / total)))
            .collect()
    }

    /// Forgets how open decisions are, before they are told anew.
    fn forget_decisions(&mut self) {
        for line in &mut self.lines {
            line.open = None;
            line.knee = None;
        }
    }

    /// Records of the samples counted since the last time, and of the chains of calls that are due
    /// to be told; at the end all are.
    pub fn records(&mut self, is_end: bool) -> Vec<Record> {
        let mut records = Vec::new();
        for line in &mut self.lines {
            if line.samples > line.written {
                records.push(Record::Samples {
                    location: line.location.clone(),
                    count: line.samples - line.written,
                    function: Some(line.function.clone()).filter(|name| !name.is_empty()),
                });
                line.written = line.samples;
            }
        }
        for (number, chains) in self.callers.news(is_end) {
            records.extend(self.lines.get(number).map(|line| Record::Callers {
                location: line.location.clone(),
                chains,
            }));
        }
        records.extend(self.left_out.records());
        records
    }

    /// Forgets which lines a target had that has ended.
    pub fn forget_target(&mut self, target: u32) {
        self.by_target.retain(|(owner, _), _| *owner != target);
        self.callers.forget_target(target);
        self.left_out.forget_target(target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> LineTally<u32> {
        let mut tally = LineTally::default();
        for (target, id, location, samples) in
            [(1, 0, "a.c:1", 60), (1, 1, "a.c:2", 39), (2, 7, "a.c:1", 1)]
        {
            let number = tally.number(target, id, location.to_owned(), "f");
            tally.count(number, samples);
        }
        tally
    }

    #[test]
    fn the_same_place_in_two_targets_is_one_line() {
        let tally = tally();
        assert_eq!(tally.known(1, 0), tally.known(2, 7));
        assert_eq!((tally.known(2, 0), tally.in_scope()), (None, 100));
        let all = tally.candidates(1, 1);
        assert_eq!(
            all.iter()
                .map(|(id, _, c)| (*id, c.samples))
                .collect::<Vec<_>>(),
            [(0, 61), (1, 39)]
        );
        assert_eq!(tally.candidates(2, 1).len(), 1);
    }

    #[test]
    fn records_tell_each_sample_once() {
        let mut tally = tally();
        let counts = |records: Vec<Record>| -> Vec<u64> {
            let count = |record: &Record| match record {
                Record::Samples { count, .. } => *count,
                _ => 0,
            };
            records.iter().map(count).collect()
        };
        assert_eq!(counts(tally.records(false)), [61, 39]);
        assert!(tally.records(false).is_empty());
        tally.count(1, 5);
        assert_eq!(counts(tally.records(false)), [5]);
    }

    #[test]
    fn a_small_line_is_less_open_than_a_large_one() {
        let mut tally = tally();
        tally.count(0, 9900);
        let open = |tally: &LineTally<u32>, busy| -> Vec<f64> {
            tally
                .candidates(1, busy)
                .iter()
                .map(|(_, _, c)| c.open)
                .collect()
        };
        let first = open(&tally, 1);
        assert!(first[0] == UNKNOWN && first[1] < UNKNOWN / 5.0, "{first:?}");
        // The whole of one thread's time, if there are many threads.
        assert_eq!(open(&tally, 50)[1], UNKNOWN);
        if let Some(line) = tally.at("a.c:1") {
            line.open = Some(0.0);
        }
        assert_eq!(
            open(&tally, 1),
            first,
            "not believed before the first look is over"
        );
        if let Some(line) = tally.at("a.c:1") {
            line.tried[4] = FIRST_LOOK;
        }
        assert_eq!(open(&tally, 1)[0], 0.0);
        tally.forget_decisions();
        assert_eq!(open(&tally, 1), first, "forgotten");
    }

    #[test]
    fn a_target_that_ended_keeps_its_lines_counted() {
        let mut tally = tally();
        tally.forget_target(1);
        assert!(tally.candidates(1, 1).is_empty());
        assert_eq!((tally.known(1, 0), tally.in_scope()), (None, 100));
    }
}
