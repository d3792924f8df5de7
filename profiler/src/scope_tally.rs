//! Samples that a rule of the scope kept from the code that used the time, counted by rule: so
//! that a user sees what to widen.
//!
//! Either the whole sample was dropped, or it belongs to a line in scope that called the code.

use std::collections::HashMap;

use coz_rs_plot::record::{Record, ScopeNote};

use crate::symbols::{LeftOut, LeftOutId, Rule};

/// Places told of one rule.
const PLACES: usize = 3;
/// Different places kept; further ones count for their rule only.
const MOST_PLACES: usize = 20_000;

/// All that was left out.
#[derive(Debug, Clone, Default)]
pub struct ScopeTally {
    rules: Vec<(Rule, Counts)>,
    by_rule: HashMap<Rule, usize>,
    /// Rule and place by what the symbols of a target call it.
    known: HashMap<(u32, LeftOutId), (usize, usize)>,
    places: usize,
}

#[derive(Debug, Clone, Default)]
struct Counts {
    dropped: u64,
    beneath: u64,
    written: (u64, u64),
    places: Vec<(String, u64)>,
    by_place: HashMap<String, usize>,
}

impl ScopeTally {
    /// Counts samples for which code was left out that `left_out` tells of; `owned` says whether
    /// they belong to a line in scope.
    pub fn count<'a>(
        &mut self,
        target: u32,
        id: LeftOutId,
        owned: bool,
        samples: u64,
        left_out: impl FnOnce() -> &'a LeftOut,
    ) {
        let (rule, place) = match self.known.get(&(target, id)) {
            Some(&known) => known,
            None => {
                let new = self.number(left_out());
                self.known.insert((target, id), new);
                new
            }
        };
        let Some((_, counts)) = self.rules.get_mut(rule) else {
            return;
        };
        if owned {
            counts.beneath += samples;
        } else {
            counts.dropped += samples;
        }
        if let Some(place) = counts.places.get_mut(place) {
            place.1 += samples;
        }
    }

    fn number(&mut self, left_out: &LeftOut) -> (usize, usize) {
        let next = self.rules.len();
        let rule = *self.by_rule.entry(left_out.rule.clone()).or_insert(next);
        if rule == next {
            self.rules.push((left_out.rule.clone(), Counts::default()));
        }
        let Some((_, counts)) = self.rules.get_mut(rule) else {
            return (rule, usize::MAX);
        };
        if left_out.location.is_empty() || self.places >= MOST_PLACES {
            return (rule, usize::MAX);
        }
        let next = counts.places.len();
        let location = &left_out.location;
        let place = *counts.by_place.entry(location.clone()).or_insert(next);
        if place == next {
            counts.places.push((location.clone(), 0));
            self.places += 1;
        }
        (rule, place)
    }

    /// Forgets what a target's symbols called things.
    pub fn forget_target(&mut self, target: u32) {
        self.known.retain(|(owner, _), _| *owner != target);
    }

    /// Records of what was counted since the last time.
    pub fn records(&mut self) -> Vec<Record> {
        let mut records = Vec::new();
        for (rule, counts) in &mut self.rules {
            let (dropped, beneath) = counts.written;
            if (counts.dropped, counts.beneath) == (dropped, beneath) {
                continue;
            }
            let mut places = counts.places.clone();
            places.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            places.truncate(PLACES);
            let (name, what, option) = words(rule);
            records.push(Record::Scope(ScopeNote {
                rule: name.to_owned(),
                what,
                dropped: counts.dropped - dropped,
                beneath: counts.beneath - beneath,
                places,
                option,
            }));
            counts.written = (counts.dropped, counts.beneath);
        }
        records
    }
}

/// The rule's name in profiles, what it left out, and the option that takes it in.
fn words(rule: &Rule) -> (&'static str, String, Option<String>) {
    let binary = |name: &str| {
        // Without the version, which changes.
        let stem = name.find(".so").map_or(name, |at| &name[..at]);
        // Our runtime's own time is nothing to work on.
        let ours = stem.starts_with("libcoz-rs-");
        (!ours).then(|| format!("--binary-scope MAIN --binary-scope '{stem}%'"))
    };
    match rule {
        Rule::Crate(directory) => (
            "crate",
            format!("crate {directory}"),
            Some(format!(
                "--crate {}",
                rule.crate_name().unwrap_or(directory)
            )),
        ),
        Rule::SourceScope => (
            "source-scope",
            "sources outside --source-scope".to_owned(),
            Some("--source-scope".to_owned()),
        ),
        Rule::SourceExclude => (
            "source-exclude",
            "sources of --source-exclude".to_owned(),
            None,
        ),
        Rule::Function => (
            "function",
            "functions outside --function".to_owned(),
            Some("--function".to_owned()),
        ),
        Rule::FunctionExclude => (
            "function-exclude",
            "functions of --function-exclude".to_owned(),
            None,
        ),
        Rule::Binary(name) => ("binary", name.clone(), binary(name)),
        Rule::SystemBinary(name) => ("system-binary", name.clone(), binary(name)),
        Rule::NoDebugInformation(name) => (
            "no-debug-information",
            format!("{name}, which has no debug information"),
            None,
        ),
        Rule::Standard => (
            "standard-library",
            "the Rust standard library".to_owned(),
            Some("--source-scope '/rustc/%'".to_owned()),
        ),
        Rule::System => (
            "system",
            "the system's sources".to_owned(),
            Some("--source-scope '/usr/%'".to_owned()),
        ),
        Rule::Under(function) => ("under", format!("not beneath {function}"), None),
        Rule::NoModule => (
            "no-module",
            "code that the program generated".to_owned(),
            None,
        ),
        _ => ("no-line", "code of no source line".to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::LeftOutId;

    fn count(tally: &mut ScopeTally, id: u32, owned: bool, samples: u64, rule: Rule, at: &str) {
        let left_out = LeftOut {
            rule,
            location: at.to_owned(),
        };
        tally.count(1, LeftOutId::of(id), owned, samples, || &left_out);
    }

    #[test]
    fn each_rule_is_told_once_with_its_places_and_the_way_out() {
        let mut tally = ScopeTally::default();
        let flate = Rule::Crate("flate2-1.0.3".to_owned());
        count(&mut tally, 0, true, 5, flate.clone(), "a.rs:1");
        count(&mut tally, 1, true, 7, flate, "b.rs:2");
        count(
            &mut tally,
            1,
            false,
            1,
            Rule::System,
            "never asked: the number is known",
        );
        count(
            &mut tally,
            2,
            false,
            3,
            Rule::Binary("libx.so.1".to_owned()),
            "f",
        );
        let notes = |records: Vec<Record>| -> Vec<ScopeNote> {
            let note = |record| match record {
                Record::Scope(note) => note,
                other => panic!("{other:?}"),
            };
            records.into_iter().map(note).collect()
        };
        let told = notes(tally.records());
        assert_eq!(told.len(), 2);
        assert_eq!((told[0].beneath, told[0].dropped), (12, 1));
        assert_eq!(told[0].option.as_deref(), Some("--crate flate2"));
        assert_eq!(told[0].places[0], ("b.rs:2".to_owned(), 8));
        let wanted = "--binary-scope MAIN --binary-scope 'libx%'";
        assert_eq!(told[1].option.as_deref(), Some(wanted));
        assert!(tally.records().is_empty());
        count(&mut tally, 2, false, 4, Rule::System, "");
        assert_eq!(notes(tally.records())[0].dropped, 4);
        tally.forget_target(1);
        count(&mut tally, 2, false, 1, Rule::NoModule, "");
        assert_eq!(notes(tally.records())[0].rule, "no-module");
    }
}
