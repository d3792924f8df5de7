//! Samples, sessions and doubts: all that is not a window.

use std::collections::{BTreeMap, HashSet};

use super::analysis::{DoubtNote, UntriedLine};
use crate::record::{CallerChain, CallerFrame, Record, Session};

/// Chains of calls kept of one line, and frames of a chain: what a reader looks at.
const CALLERS_WIDE: usize = 20;
const CALLERS_DEEP: usize = 40;

/// What is known of a selected line besides its experiments.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub location: String,
    pub function: Option<String>,
    pub samples: u64,
    pub sample_share: f64,
    pub hit_share: Option<f64>,
}

/// Samples, sessions, doubts: all that is not a window.
#[derive(Debug, Default)]
pub(super) struct Tally<'a> {
    samples: BTreeMap<&'a str, (u64, Option<&'a str>)>,
    callers: BTreeMap<&'a str, BTreeMap<&'a [CallerFrame], u64>>,
    pub total: u64,
    pub run_time: u64,
    pub started: Option<u64>,
    pub sessions: Vec<Session>,
    pub doubts: Vec<DoubtNote>,
}

impl<'a> Tally<'a> {
    pub fn of(records: &'a [Record]) -> Tally<'a> {
        let mut tally = Tally::default();
        // In our profiles sample records add up; in Coz's each repeats the total of its run.
        let mut ours = false;
        let mut after_session = false;
        let mut of_run: BTreeMap<&str, u64> = BTreeMap::new();
        let mut run_time = 0;
        for record in records {
            match record {
                Record::Session(session) => {
                    tally.close_run(&mut of_run, &mut run_time);
                    tally.sessions.push(session.clone());
                    (ours, after_session) = (true, true);
                }
                Record::Startup { time } => {
                    tally.started = Some(*time).filter(|time| *time > 0);
                    tally.close_run(&mut of_run, &mut run_time);
                    ours = after_session;
                    after_session = false;
                }
                Record::Samples {
                    location,
                    count,
                    function,
                } => {
                    let entry = tally.samples.entry(location).or_default();
                    entry.1 = function.as_deref().or(entry.1);
                    let of_run = of_run.entry(location).or_default();
                    *of_run = if ours {
                        of_run.saturating_add(*count)
                    } else {
                        (*of_run).max(*count)
                    };
                }
                Record::Callers { location, chains } => {
                    let known = tally.callers.entry(location).or_default();
                    for chain in chains {
                        let count = known.entry(&chain.frames).or_default();
                        *count = count.saturating_add(chain.count);
                    }
                }
                Record::Runtime { time } => run_time = run_time.max(*time),
                Record::Doubt {
                    doubt,
                    text,
                    location,
                } => tally.doubts.push(DoubtNote {
                    doubt: doubt.clone(),
                    text: text.clone(),
                    location: location.clone(),
                }),
                _ => {}
            }
        }
        tally.close_run(&mut of_run, &mut run_time);
        tally.doubts.sort();
        tally.doubts.dedup();
        tally
    }

    fn close_run(&mut self, of_run: &mut BTreeMap<&'a str, u64>, run_time: &mut u64) {
        self.run_time = self.run_time.saturating_add(std::mem::take(run_time));
        for (location, count) in std::mem::take(of_run) {
            let entry = self.samples.entry(location).or_default();
            entry.0 = entry.0.saturating_add(count);
            self.total = self.total.saturating_add(count);
        }
    }

    /// By line, the chains that led to most of its samples, most first.
    pub fn callers(&self) -> BTreeMap<String, Vec<CallerChain>> {
        let of_line = |chains: &BTreeMap<&[CallerFrame], u64>| {
            let mut all: Vec<CallerChain> = chains
                .iter()
                .map(|(frames, count)| CallerChain {
                    count: *count,
                    frames: frames.iter().take(CALLERS_DEEP).cloned().collect(),
                })
                .collect();
            all.sort_by(|a, b| b.count.cmp(&a.count).then(a.frames.cmp(&b.frames)));
            all.truncate(CALLERS_WIDE);
            all
        };
        let lines = self.callers.iter();
        lines
            .map(|(location, chains)| ((*location).to_owned(), of_line(chains)))
            .collect()
    }

    pub fn facts(&self, location: &str, hits: u64, samples: u64) -> Facts {
        let (count, function) = self.samples.get(location).copied().unwrap_or((0, None));
        Facts {
            location: location.to_owned(),
            function: function.map(str::to_owned),
            samples: count,
            sample_share: count as f64 / self.total.max(1) as f64,
            hit_share: (samples > 0).then(|| hits as f64 / samples as f64),
        }
    }

    pub fn untried(&self, tried: &[String]) -> Vec<UntriedLine> {
        let tried: HashSet<&str> = tried.iter().map(String::as_str).collect();
        let mut untried: Vec<UntriedLine> = self
            .samples
            .iter()
            .filter(|(location, _)| !tried.contains(**location))
            .map(|(location, (count, function))| UntriedLine {
                location: (*location).to_owned(),
                function: function.map(str::to_owned),
                samples: *count,
                sample_share: *count as f64 / self.total.max(1) as f64,
            })
            .collect();
        untried.sort_by(|a, b| b.samples.cmp(&a.samples).then(a.location.cmp(&b.location)));
        untried
    }
}
