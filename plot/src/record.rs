//! The records of a causal profile: one JSON object a line.
//!
//! The records named `startup`, `experiment`, `throughput-point`, `latency-point`, `samples` and
//! `runtime` are those of Coz, so that its viewer opens our profiles; our further fields are ones
//! that it ignores. All times are nanoseconds.

use serde::{Deserialize, Serialize};

/// Version of the format written by this crate, in the `session` record.
pub const FORMAT_VERSION: u32 = 1;

/// One line of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean_in_flight: Option<f64>,
    },
    /// Samples that belong to one line since the last such record of the line.
    Samples {
        /// `file:line`, or a function's name with `--unit function`.
        location: String,
        /// How many samples.
        count: u64,
        /// The function that the line is in, demangled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        function: Option<String>,
    },
    /// A doubt about what was measured (see the profiler's list).
    Doubt {
        /// Machine-readable name.
        doubt: String,
        /// What it means and what would remove it, one sentence.
        text: String,
        /// The line it is about, if it is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        location: Option<String>,
    },
    /// The program ended.
    Runtime {
        /// How long it ran, ns of wall time.
        time: u64,
    },
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
    /// Per throughput point: the visit-to-visit stretches, as `duration` is common to all points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<PointEdges>,
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
