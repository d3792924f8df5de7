//! The records of a causal profile: one JSON object a line.
//!
//! The records named `startup`, `experiment`, `throughput-point`, `latency-point`, `samples` and
//! `runtime` are those of Coz, so that its viewer opens our profiles; our further fields are ones
//! that it ignores. That viewer warns of any other type of record, so what only we have to say
//! travels inside types that it skips: the session in a `startup`; a doubt, a slowdown
//! or what the scope left out in a `shutdown`.
//! All times are nanoseconds.

use serde::{Deserialize, Serialize};

/// Version of the format written by this crate, in the session's record.
pub const FORMAT_VERSION: u32 = 1;

/// The name of the throughput point that the end of a whole run is (`--end-to-end`).
pub const WHOLE_RUN: &str = "end to end";

/// One line of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Line", from = "Line")]
#[non_exhaustive]
pub enum Record {
    /// What was run, how and where. The first record of each run that we write.
    Session(Session),
    /// The program began.
    Startup {
        /// Wall-clock time since the epoch, ns.
        time: u64,
    },
    /// One measured window; the visits seen in it follow as point records.
    Experiment(Experiment),
    /// Visits of a throughput point in the experiment before it.
    ThroughputPoint {
        /// Name of the progress point.
        name: String,
        /// Visits during the window.
        delta: u64,
    },
    /// Arrivals and departures at a latency pair in the experiment before it.
    LatencyPoint {
        /// Name of the begin/end pair.
        name: String,
        /// Passages of `begin!` during the window.
        arrivals: u64,
        /// Passages of `end!` during the window.
        departures: u64,
        /// Begins minus ends at the end of the window (Coz's own field).
        difference: i64,
        /// Mean of begins minus ends over the window, weighted by virtual time (L of Little's law).
        mean_in_flight: Option<f64>,
    },
    /// One comparison of windows in which all threads were slowed down, and no line sped up, with
    /// windows in which nothing was done.
    Slowdown {
        /// What it did to each progress point.
        points: Vec<SlowdownPoint>,
    },
    /// Samples that belong to one line since the last such record of the line.
    Samples {
        /// `file:line`, or a function's name with `--unit function`.
        location: String,
        /// How many samples.
        count: u64,
        /// The function that the line is in, demangled.
        function: Option<String>,
    },
    /// Chains of calls that led to samples of one line, counted since they were told last.
    Callers {
        /// The line, as in [`Record::Samples`].
        location: String,
        /// The chains.
        chains: Vec<CallerChain>,
    },
    /// Samples that a rule of the scope kept from the code that used the time, since the last such
    /// record of the rule and what it left out.
    Scope(ScopeNote),
    /// A doubt about what was measured (see the profiler's list).
    Doubt {
        /// Machine-readable name.
        doubt: String,
        /// What it means and what would remove it, one sentence.
        text: String,
        /// The line it is about, if it is about one.
        location: Option<String>,
    },
    /// All visits of each progress point in a run that has ended.
    Visits {
        /// The points, ascending by name.
        points: Vec<PointVisits>,
    },
    /// The program ended.
    Runtime {
        /// How long it ran, ns of wall time.
        time: u64,
    },
    /// Coz's profiler ended. We do not write it.
    Shutdown {
        /// Wall-clock time since the epoch, ns.
        time: u64,
    },
}

/// One chain of calls that led to samples of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallerChain {
    /// How many samples.
    pub count: u64,
    /// The callers, innermost first; empty if nobody of the program's own code calls.
    pub frames: Vec<CallerFrame>,
}

/// A caller: its function, demangled, and the `file:line` of the call. In the file it is an array of
/// both.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallerFrame(pub String, pub String);

impl CallerFrame {
    /// The function, demangled; empty if unknown.
    #[must_use]
    pub fn function(&self) -> &str {
        &self.0
    }

    /// The `file:line` of the call.
    #[must_use]
    pub fn location(&self) -> &str {
        &self.1
    }
}

/// What a rule of the scope left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ScopeNote {
    /// Machine-readable name of the rule.
    pub rule: String,
    /// What it left out, in words.
    pub what: String,
    /// Samples that belong to no line because of it.
    pub dropped: u64,
    /// Samples in it that belong to a line in scope that called it.
    pub beneath: u64,
    /// Where most of these were in the whole run, with their counts.
    pub places: Vec<(String, u64)>,
    /// The option that takes it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
}

/// All visits of a progress point, of all processes of one run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PointVisits {
    /// Its name.
    pub name: String,
    /// `throughput`, `begin` or `end`.
    pub kind: String,
    /// How many.
    pub count: u64,
}

/// What was run, how and where.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Version of coz-rs that wrote the profile.
    pub coz_rs_version: String,
    /// Seed of everything random in this run.
    pub seed: u64,
    /// Host name.
    pub host: String,
    /// The command, word by word.
    pub command: Vec<String>,
    /// Build id of the main executable in hexadecimal, empty if it has none.
    pub build_id: String,
    /// `sigtrap` or `timer`.
    pub sampler: String,
    /// Time between samples of one thread, ns of CPU time.
    pub period: u64,
    /// Number of processors that the program could use.
    pub processors: u32,
}

/// One measured window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Experiment {
    /// The selected line as `file:line` (baseline windows name their block's line too).
    pub selected: String,
    /// The virtual speedup s, 0..=1.
    pub speedup: f64,
    /// Virtual time of the window: wall time minus the growth of G, ns.
    pub duration: u64,
    /// Hits in the window.
    #[serde(alias = "selected-samples", default)]
    pub selected_samples: u64,
    /// Number of the paired block in this run that the window belongs to; absent in Coz's profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// Wall time of the window, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<u64>,
    /// When the window began, ns since the program's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// Samples of all threads in the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// Time that threads could run and had no processor, as part of the window's wall time; summed
    /// over threads, so it may exceed 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<f64>,
    /// Part of the machine's processor time that the hypervisor gave to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen: Option<f64>,
    /// End to end: by how many bytes the run's stack was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<u64>,
    /// Per throughput point: the visit-to-visit stretches, as `duration` is common to all points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<PointEdges>,
}

/// What slowing all threads down did to one progress point.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SlowdownPoint {
    /// Its name.
    pub name: String,
    /// Whether it is a latency pair (whose begins were counted).
    #[serde(default)]
    pub latency: bool,
    /// Virtual time per visit without, ns.
    pub plain: f64,
    /// Virtual time per visit while slowed down, ns.
    pub slowed: f64,
    /// Part of the wall time that was pauses.
    pub paused: f64,
}

/// The exact stretch between the first and the last visit of one point seen inside a window.
///
/// `duration / visits` is the period of the program speedup; it has no ±1 visit error.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PointEdges {
    /// Name of the progress point.
    pub name: String,
    /// Visits between the two edges.
    pub visits: u64,
    /// Virtual time between the two edges, ns.
    pub duration: u64,
    /// Wall time between the two edges, ns.
    pub wall: u64,
}

/// A record as it stands in the file.
///
/// Coz has written `throughput-point` and, in some versions, `throughput_point`; its viewer knows
/// the former in every version, so that is what we write.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line {
    Startup {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<Session>,
    },
    Experiment(Experiment),
    #[serde(alias = "throughput_point", alias = "progress-point")]
    ThroughputPoint {
        name: String,
        delta: u64,
    },
    #[serde(alias = "latency_point")]
    LatencyPoint {
        name: String,
        #[serde(default)]
        arrivals: u64,
        #[serde(default)]
        departures: u64,
        #[serde(default)]
        difference: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean_in_flight: Option<f64>,
    },
    Samples {
        location: String,
        count: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        function: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        callers: Vec<CallerChain>,
    },
    Runtime {
        time: u64,
    },
    Shutdown {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        doubt: Option<DoubtLine>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slowdown: Option<Vec<SlowdownPoint>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<ScopeNote>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        visits: Option<Vec<PointVisits>>,
    },
}

#[derive(Serialize, Deserialize)]
struct DoubtLine {
    name: String,
    #[serde(default)]
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    location: Option<String>,
}

impl From<Record> for Line {
    fn from(record: Record) -> Line {
        match record {
            Record::Session(session) => Line::Startup {
                time: None,
                session: Some(session),
            },
            Record::Startup { time } => Line::Startup {
                time: Some(time),
                session: None,
            },
            Record::Experiment(experiment) => Line::Experiment(experiment),
            Record::ThroughputPoint { name, delta } => Line::ThroughputPoint { name, delta },
            Record::LatencyPoint {
                name,
                arrivals,
                departures,
                difference,
                mean_in_flight,
            } => Line::LatencyPoint {
                name,
                arrivals,
                departures,
                difference,
                mean_in_flight,
            },
            Record::Samples {
                location,
                count,
                function,
            } => Line::Samples {
                location,
                count,
                function,
                callers: Vec::new(),
            },
            Record::Callers { location, chains } => Line::Samples {
                location,
                count: 0,
                function: None,
                callers: chains,
            },
            Record::Doubt {
                doubt,
                text,
                location,
            } => Line::Shutdown {
                time: None,
                doubt: Some(DoubtLine {
                    name: doubt,
                    text,
                    location,
                }),
                slowdown: None,
                scope: None,
                visits: None,
            },
            Record::Scope(note) => Line::Shutdown {
                time: None,
                doubt: None,
                slowdown: None,
                scope: Some(note),
                visits: None,
            },
            Record::Visits { points } => Line::Shutdown {
                time: None,
                doubt: None,
                slowdown: None,
                scope: None,
                visits: Some(points),
            },
            Record::Slowdown { points } => Line::Shutdown {
                time: None,
                doubt: None,
                slowdown: Some(points),
                scope: None,
                visits: None,
            },
            Record::Runtime { time } => Line::Runtime { time },
            Record::Shutdown { time } => Line::Shutdown {
                time: Some(time),
                doubt: None,
                slowdown: None,
                scope: None,
                visits: None,
            },
        }
    }
}

impl From<Line> for Record {
    fn from(line: Line) -> Record {
        match line {
            Line::Startup {
                session: Some(session),
                ..
            } => Record::Session(session),
            Line::Startup { time, .. } => Record::Startup {
                time: time.unwrap_or(0),
            },
            Line::Experiment(experiment) => Record::Experiment(experiment),
            Line::ThroughputPoint { name, delta } => Record::ThroughputPoint { name, delta },
            Line::LatencyPoint {
                name,
                arrivals,
                departures,
                difference,
                mean_in_flight,
            } => Record::LatencyPoint {
                name,
                arrivals,
                departures,
                difference,
                mean_in_flight,
            },
            Line::Samples {
                location,
                count: 0,
                callers,
                ..
            } if !callers.is_empty() => Record::Callers {
                location,
                chains: callers,
            },
            Line::Samples {
                location,
                count,
                function,
                ..
            } => Record::Samples {
                location,
                count,
                function,
            },
            Line::Runtime { time } => Record::Runtime { time },
            Line::Shutdown {
                doubt: Some(doubt), ..
            } => Record::Doubt {
                doubt: doubt.name,
                text: doubt.text,
                location: doubt.location,
            },
            Line::Shutdown {
                slowdown: Some(points),
                ..
            } => Record::Slowdown { points },
            Line::Shutdown {
                scope: Some(note), ..
            } => Record::Scope(note),
            Line::Shutdown {
                visits: Some(points),
                ..
            } => Record::Visits { points },
            Line::Shutdown { time, .. } => Record::Shutdown {
                time: time.unwrap_or(0),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(record: &Record) -> String {
        serde_json::to_string(record).unwrap()
    }

    fn every_record() -> Vec<Record> {
        vec![
            Record::Session(Session {
                format_version: FORMAT_VERSION,
                command: vec!["./app".to_owned(), "\u{1b}[31m</script>\n".to_owned()],
                seed: u64::MAX,
                ..Session::default()
            }),
            Record::Startup { time: 7 },
            Record::Experiment(Experiment {
                selected: "a.c:3".to_owned(),
                speedup: 0.25,
                duration: 5,
                selected_samples: 2,
                block: Some(1),
                wall: Some(6),
                start: Some(0),
                samples: Some(9),
                waited: Some(0.5),
                stolen: Some(0.0),
                layout: Some(16),
                edges: vec![PointEdges {
                    name: "p".to_owned(),
                    visits: 4,
                    duration: 4,
                    wall: 5,
                }],
            }),
            Record::ThroughputPoint {
                name: "p".to_owned(),
                delta: 4,
            },
            Record::LatencyPoint {
                name: "l".to_owned(),
                arrivals: 4,
                departures: 3,
                difference: -1,
                mean_in_flight: Some(1.5),
            },
            Record::Samples {
                location: "a.c:3".to_owned(),
                count: 2,
                function: None,
            },
            Record::Callers {
                location: "a.c:3".to_owned(),
                chains: vec![CallerChain {
                    count: 2,
                    frames: vec![CallerFrame("main".to_owned(), "a.c:9".to_owned())],
                }],
            },
            Record::Visits {
                points: vec![PointVisits {
                    name: "served".to_owned(),
                    kind: "begin".to_owned(),
                    count: u64::MAX,
                }],
            },
            Record::Scope(ScopeNote {
                rule: "crate".to_owned(),
                what: "crate flate2-1.0.3".to_owned(),
                dropped: 0,
                beneath: 7,
                places: vec![("mem.rs:3".to_owned(), 5)],
                option: None,
            }),
            Record::Doubt {
                doubt: "timer-sampler".to_owned(),
                text: "The timer sampler ran.".to_owned(),
                location: None,
            },
            Record::Slowdown {
                points: vec![SlowdownPoint {
                    name: "p".to_owned(),
                    latency: true,
                    plain: 1.0,
                    slowed: 1.5,
                    paused: 0.25,
                }],
            },
            Record::Runtime { time: 8 },
            Record::Shutdown { time: 9 },
        ]
    }

    #[test]
    fn reading_undoes_writing() {
        for record in every_record() {
            let line = text(&record);
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
        }
    }

    #[test]
    fn every_type_is_one_that_the_viewer_of_coz_knows() {
        const KNOWN: [&str; 7] = [
            "startup",
            "shutdown",
            "samples",
            "runtime",
            "experiment",
            "throughput-point",
            "latency-point",
        ];
        for record in every_record() {
            let value: serde_json::Value = serde_json::from_str(&text(&record)).unwrap();
            assert!(KNOWN.contains(&value["type"].as_str().unwrap()), "{value}");
        }
    }

    #[test]
    fn the_spellings_of_all_versions_of_coz_are_read() {
        for kind in ["throughput-point", "throughput_point", "progress-point"] {
            let line = format!(r#"{{"type":"{kind}","name":"p","delta":4}}"#);
            let record: Record = serde_json::from_str(&line).unwrap();
            assert!(matches!(record, Record::ThroughputPoint { delta: 4, .. }));
        }
        for hits in ["selected_samples", "selected-samples"] {
            let line = format!(
                r#"{{"type":"experiment","selected":"a.c:1","speedup":0,"duration":5,"{hits}":3,"new":[1]}}"#
            );
            let record: Record = serde_json::from_str(&line).unwrap();
            let Record::Experiment(experiment) = record else {
                panic!("another record");
            };
            assert_eq!(experiment.selected_samples, 3);
        }
    }
}
