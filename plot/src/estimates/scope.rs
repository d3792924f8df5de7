//! What the rules of the scope left out, summed over the runs.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::{Record, ScopeNote};

/// What all rules left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ScopeReport {
    /// Samples in scope, and dropped ones.
    pub samples: u64,
    /// Samples that belong to no line in scope.
    pub dropped: u64,
    /// By rule and what it left out, most samples first.
    pub left_out: Vec<ScopeNote>,
}

impl ScopeReport {
    /// The report of these records, of which `in_scope` samples belong to lines.
    pub(super) fn of(records: &[Record], in_scope: u64) -> ScopeReport {
        let mut sums: BTreeMap<(&str, &str), ScopeNote> = BTreeMap::new();
        for record in records {
            let Record::Scope(note) = record else {
                continue;
            };
            let sum = sums.entry((&note.rule, &note.what)).or_default();
            let (dropped, beneath) = (sum.dropped, sum.beneath);
            // Places are those of the run so far: the last ones say most.
            *sum = ScopeNote {
                dropped: dropped.saturating_add(note.dropped),
                beneath: beneath.saturating_add(note.beneath),
                ..note.clone()
            };
        }
        let mut left_out: Vec<ScopeNote> = sums.into_values().collect();
        let all = |note: &ScopeNote| note.dropped.saturating_add(note.beneath);
        // The order by rule stays among equals.
        left_out.sort_by_key(|note| std::cmp::Reverse(all(note)));
        let dropped = left_out
            .iter()
            .fold(0, |sum: u64, note| sum.saturating_add(note.dropped));
        ScopeReport {
            samples: in_scope.saturating_add(dropped),
            dropped,
            left_out,
        }
    }

    /// What is worth telling: samples dropped, and code that could be selected in place of the
    /// lines that call it. At least one sample in a hundred.
    pub fn worth_telling(&self) -> impl Iterator<Item = &ScopeNote> {
        let least = self.samples.div_ceil(100).max(1);
        self.left_out
            .iter()
            .filter(move |note| self.of_note(note) >= least)
    }

    /// Samples of a note that count for it: time in the system's code beneath a line is the line's,
    /// and nothing to widen.
    #[must_use]
    pub fn of_note(&self, note: &ScopeNote) -> u64 {
        let widened = matches!(
            note.rule.as_str(),
            "crate"
                | "source-scope"
                | "source-exclude"
                | "function"
                | "function-exclude"
                | "binary"
        );
        let beneath = if widened { note.beneath } else { 0 };
        note.dropped.saturating_add(beneath)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(rule: &str, dropped: u64, beneath: u64) -> Record {
        Record::Scope(ScopeNote {
            rule: rule.to_owned(),
            what: rule.to_owned(),
            dropped,
            beneath,
            places: vec![(format!("{dropped}"), 1)],
            option: None,
        })
    }

    #[test]
    fn notes_add_up_and_small_ones_are_not_told() {
        let records = [
            note("crate", 0, 300),
            note("system-binary", 20, 5000),
            note("no-line", 3, 0),
            note("crate", 1, 100),
        ];
        let report = ScopeReport::of(&records, 976);
        assert_eq!((report.samples, report.dropped), (1000, 24));
        let told: Vec<(&str, u64)> = report
            .worth_telling()
            .map(|note| (note.rule.as_str(), report.of_note(note)))
            .collect();
        assert_eq!(told, [("system-binary", 20), ("crate", 401)]);
        let places = &report.left_out[1].places;
        assert_eq!(places[0].0, "1", "the last places");
        assert_eq!(ScopeReport::of(&[], 0).worth_telling().count(), 0);
    }
}
