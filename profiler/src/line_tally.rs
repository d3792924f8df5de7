//! Samples counted by source line, and what was tried on each line.

use std::collections::HashMap;

use coz_rs_plot::record::Record;

use crate::experiments::choice::{Candidate, LEVELS};
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
}

/// How open the decision about a line is that was not analysed yet: as open as any.
const UNKNOWN: f64 = 4.0;
/// A line with a smaller part of a thread's time cannot gain much, whatever is not known of it.
const SMALL: f64 = 0.05;

impl Line {
    /// What the choice of the next experiment needs; `part` is the part of one thread's samples
    /// that the line has if they all come from one thread.
    #[must_use]
    pub fn candidate(&self, part: f64) -> Candidate {
        Candidate {
            samples: self.samples,
            tried: self.tried,
            open: self.open.unwrap_or(UNKNOWN) * (part / SMALL).min(1.0),
            knee: self.knee,
        }
    }
}

/// Number of a line in the tally.
pub type LineNumber = usize;

/// All lines seen so far, and all samples.
#[derive(Debug, Clone, Default)]
pub struct LineTally {
    lines: Vec<Line>,
    by_location: HashMap<String, LineNumber>,
    by_target: HashMap<(u32, LineId), LineNumber>,
    /// Samples of known code, none of it in scope.
    pub out_of_scope: u64,
    /// Samples of unknown code.
    pub unknown: u64,
}

impl LineTally {
    /// The number of a target's line, if it was counted before.
    #[must_use]
    pub fn known(&self, target: u32, id: LineId) -> Option<LineNumber> {
        self.by_target.get(&(target, id)).copied()
    }

    /// The number of a target's line; lines of the same place in several targets are one.
    pub fn number(
        &mut self,
        target: u32,
        id: LineId,
        location: String,
        function: &str,
    ) -> LineNumber {
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
    pub fn candidates(&self, target: u32, busy: usize) -> Vec<(LineId, LineNumber, Candidate)> {
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

    /// Forgets how open decisions are, before they are told anew.
    pub fn forget_decisions(&mut self) {
        for line in &mut self.lines {
            line.open = None;
            line.knee = None;
        }
    }

    /// Records of the samples counted since the last time.
    pub fn records(&mut self) -> Vec<Record> {
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
        records
    }

    /// Forgets which lines a target had that has ended.
    pub fn forget_target(&mut self, target: u32) {
        self.by_target.retain(|(owner, _), _| *owner != target);
    }
}
