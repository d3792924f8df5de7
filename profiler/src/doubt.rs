//! What makes a measurement doubtful, and why nothing was learned: each one sentence that ends in
//! what to do about it. Printed at the end and stored in the profile.

use std::fmt;

use coz_rs_plot::record::Record;

use crate::targets::unseen_blocking::Unseen;

/// A reason to doubt what was measured.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Doubt {
    /// The timer sampler ran, whose samples are rarer.
    TimerSampler {
        /// Why.
        cause: String,
    },
    /// Samples leave out the kernel and the program spent time there.
    KernelNotSampled {
        /// Part of its CPU time, percent.
        percent: u32,
    },
    /// Debug information is missing or damaged in part.
    DebugInformation {
        /// What the reader of debug information says.
        problem: String,
    },
    /// Stacks could not be walked to their end.
    CutStacks {
        /// Part of the samples, percent.
        percent: u32,
    },
    /// Samples came faster than they were read.
    LostSamples {
        /// Part of the samples, percent.
        percent: u32,
    },
    /// The runtime stopped in a target.
    RuntimeStopped {
        /// The process.
        pid: u32,
        /// Why.
        cause: &'static str,
    },
    /// Somebody traces a process, so its samples cannot come by SIGTRAP.
    Traced {
        /// The process.
        pid: u32,
        /// Who traces it.
        tracer: u32,
    },
    /// Libraries call past our hooks.
    DeepBinding {
        /// How many were loaded like that.
        count: u32,
    },
    /// Threads sleep in ways that no hook sees.
    UnseenBlocking {
        /// The process.
        pid: u32,
        /// How much of it.
        unseen: Unseen,
    },
    /// More progress points than there is room for.
    TooManyPoints {
        /// How many found none.
        lost: u32,
    },
    /// More threads at once than there is room for.
    TooManyThreads {
        /// How many found none.
        lost: u32,
    },
    /// Unwind tables found no room.
    TooMuchCode {
        /// How many modules.
        modules: usize,
    },
    /// A line has more address ranges than fit.
    TooManyRanges {
        /// The line.
        location: String,
    },
    /// Begins without ends.
    UnfinishedBegins {
        /// The latency point.
        name: String,
    },
    /// Latencies as short as the time between two looks at them, with visits that bear no stamp.
    ShortLatency {
        /// The latency point.
        name: String,
    },
    /// Several processes worked for the same progress.
    SeveralProcesses {
        /// How many.
        count: usize,
    },
    /// Many windows could not be measured.
    VoidWindows {
        /// How many.
        void: u32,
        /// Of how many.
        of: u32,
        /// The usual reason.
        cause: &'static str,
    },
    /// End to end: the program had run for a while when its line was selected.
    LateSelection {
        /// Part of the run, percent.
        percent: u32,
    },
    /// `--repeat` or `--for` could not run the program again.
    NotRepeated {
        /// Why.
        cause: &'static str,
    },
}

impl Doubt {
    /// Its name in the profile.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Doubt::TimerSampler { .. } => "timer-sampler",
            Doubt::KernelNotSampled { .. } => "kernel-not-sampled",
            Doubt::DebugInformation { .. } => "debug-information",
            Doubt::CutStacks { .. } => "cut-stacks",
            Doubt::LostSamples { .. } => "lost-samples",
            Doubt::RuntimeStopped { .. } => "runtime-stopped",
            Doubt::Traced { .. } => "traced",
            Doubt::DeepBinding { .. } => "deep-binding",
            Doubt::UnseenBlocking { .. } => "unseen-blocking",
            Doubt::TooManyPoints { .. } => "too-many-points",
            Doubt::TooManyThreads { .. } => "too-many-threads",
            Doubt::TooMuchCode { .. } => "too-much-code",
            Doubt::TooManyRanges { .. } => "too-many-ranges",
            Doubt::UnfinishedBegins { .. } => "unfinished-begins",
            Doubt::ShortLatency { .. } => "short-latency",
            Doubt::SeveralProcesses { .. } => "several-processes",
            Doubt::VoidWindows { .. } => "void-windows",
            Doubt::LateSelection { .. } => "late-selection",
            Doubt::NotRepeated { .. } => "not-repeated",
        }
    }

    /// Its record.
    #[must_use]
    pub fn record(&self) -> Record {
        Record::Doubt {
            doubt: self.name().to_owned(),
            text: self.to_string(),
            location: match self {
                Doubt::TooManyRanges { location } => Some(location.clone()),
                _ => None,
            },
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::TimerSampler { cause } => write!(
                f,
                "The timer sampler ran, whose samples are rarer and whose intervals are wider: \
                 {cause}."
            ),
            Doubt::KernelNotSampled { percent } => write!(
                f,
                "The program spent {percent} % of its CPU time in the kernel, which is not sampled \
                 here, so lines that make system calls look too small; run \
                 `sudo sysctl kernel.perf_event_paranoid=1` to sample it."
            ),
            Doubt::DebugInformation { problem } => f.write_str(problem),
            Doubt::CutStacks { percent } => write!(
                f,
                "{percent} % of the stacks could not be walked to their end, so lines far up the \
                 stack look too small; rebuild that code with unwind tables \
                 (-fasynchronous-unwind-tables)."
            ),
            Doubt::LostSamples { percent } => write!(
                f,
                "{percent} % of the samples were lost before they were read, so the choice of \
                 lines is less sure (the experiments are not touched); run on a less busy machine."
            ),
            Doubt::RuntimeStopped { pid, cause } => write!(
                f,
                "Profiling of process {pid} stopped early ({cause}); what was measured before \
                 counts."
            ),
            Doubt::Traced { pid, tracer } => write!(
                f,
                "Process {tracer} (a debugger or strace) traces process {pid}, which is sampled by \
                 timer or not at all meanwhile; profile it without."
            ),
            Doubt::DeepBinding { count } => write!(
                f,
                "{count} libraries were loaded with RTLD_DEEPBIND, so threads that wait in them \
                 seem to work and lines may look too large; load them without that flag."
            ),
            Doubt::UnseenBlocking { pid, unseen } => write!(
                f,
                "On average {:.2} threads of process {pid} slept in futex calls of {} that coz-rs \
                 does not see (such a thread sleeps {} times a second, of which {} were seen), so \
                 they pay for pauses that they slept through and gains look too small; let them \
                 wait through libc (pthread locks, or futex by `syscall`), or trust only what \
                 `coz-rs verify` confirms.",
                f64::from(unseen.hundredths) / 100.0,
                unseen.place,
                unseen.switches,
                unseen.seen
            ),
            Doubt::TooManyPoints { lost } => write!(
                f,
                "{lost} progress points found no room and were not counted; use fewer names."
            ),
            Doubt::TooManyThreads { lost } => write!(
                f,
                "{lost} threads found no room in the ledger and were never paused; run the program \
                 with fewer threads at once."
            ),
            Doubt::TooMuchCode { modules } => write!(
                f,
                "The unwind tables of {modules} modules found no room, so stacks through them are \
                 cut; load fewer libraries."
            ),
            Doubt::TooManyRanges { location } => write!(
                f,
                "{location} was inlined into more places than fit, so its speedups look too small; \
                 mark its function as not inlined."
            ),
            Doubt::UnfinishedBegins { name } => write!(
                f,
                "`{name}` has begins without ends, so its latency grows without bound; call end on \
                 every way out."
            ),
            Doubt::ShortLatency { name } => write!(
                f,
                "`{name}` takes a few milliseconds or less and its begins and ends could not be \
                 timed, so its gains are rough; build the program with coz-rs's own coz.h or \
                 macros, which let them be timed."
            ),
            Doubt::SeveralProcesses { count } => write!(
                f,
                "{count} processes had progress points; each was measured by itself, and processes \
                 that wait for each other may gain less than shown; profile one of them alone."
            ),
            Doubt::VoidWindows { void, of, cause } => write!(
                f,
                "{void} of {of} windows could not be measured ({cause}); place a progress point \
                 where the work is done steadily."
            ),
            Doubt::LateSelection { percent } => write!(
                f,
                "The first {percent} % of a run were over when its line was selected, so gains \
                 look that much too small; give the program more work a run."
            ),
            Doubt::NotRepeated { cause } => write!(f, "The program was not run again: {cause}."),
        }
    }
}

/// Why a run brought no experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NothingLearned {
    /// No process loaded the runtime.
    NotLoaded,
    /// Points were never visited.
    NoPoints,
    /// Points were visited too seldom or not steadily.
    NoVisits {
        /// Their names.
        names: Vec<String>,
    },
    /// The executable has no debug information.
    NoDebugInformation {
        /// What the reader of debug information says.
        problem: String,
    },
    /// No sample fell on a line in scope.
    NothingInScope {
        /// Number of samples.
        samples: u64,
    },
    /// No samples at all.
    NoSamples {
        /// How long it ran, ms.
        milliseconds: u64,
    },
    /// It was not run end to end often enough for one experiment.
    TooFewRuns {
        /// How often it was run.
        runs: u32,
    },
    /// It ended before an experiment could be completed.
    TooShort {
        /// How long it ran, ms.
        milliseconds: u64,
    },
    /// The line that the user named does not exist.
    MissingLine {
        /// What is known of it.
        sentence: String,
    },
    /// Windows were tried and none could be measured.
    OnlyVoid {
        /// The usual reason.
        cause: &'static str,
    },
}

impl NothingLearned {
    /// Its record: whoever opens the profile must not think that it is a good one.
    #[must_use]
    pub fn record(&self) -> Record {
        Record::Doubt {
            doubt: "nothing-learned".to_owned(),
            text: self.to_string(),
            location: None,
        }
    }
}

impl fmt::Display for NothingLearned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NothingLearned::NotLoaded => f.write_str(
                "The program did not load the runtime, so nothing was learned; does it clear its \
                 environment? Try `coz-rs run -v -- …`.",
            ),
            NothingLearned::NoPoints => f.write_str(
                "No progress point was visited, so nothing was learned. Mark where a piece of work \
                 is done: `progress_points::progress!();` in Rust, `COZ_PROGRESS;` from \
                 progress-points/include/coz.h in C. Or name one without touching the source: \
                 `--progress FILE:LINE` or `--progress-fn SYMBOL`.",
            ),
            NothingLearned::NoVisits { names } => write!(
                f,
                "The progress points ({}) were visited too seldom to measure anything; place one \
                 where work is done at least every few seconds, or run longer with `--for 2m`.",
                names.join(", ")
            ),
            NothingLearned::NoDebugInformation { problem } => {
                write!(f, "Nothing was learned: {problem}")
            }
            NothingLearned::NothingInScope { samples } => write!(
                f,
                "None of {samples} samples fell on a source line in scope, so nothing was learned; \
                 name the sources or binaries that are yours, for instance \
                 `--source-scope 'src/%'` or `--binary-scope 'libmine%'`."
            ),
            NothingLearned::NoSamples { milliseconds } => write!(
                f,
                "The program used too little CPU time in {milliseconds} ms to be sampled, so \
                 nothing was learned; give it more work, or repeat it with `--repeat 20`."
            ),
            NothingLearned::TooFewRuns { runs } => write!(
                f,
                "The program was run {runs} times end to end, too few for one experiment; run it \
                 more often with `-n 20`."
            ),
            NothingLearned::TooShort { milliseconds } => write!(
                f,
                "The program ended after {milliseconds} ms, before an experiment was complete; give \
                 it more work, or repeat it with `--for 1m`."
            ),
            NothingLearned::MissingLine { sentence } => {
                write!(f, "Nothing was learned: {sentence}.")
            }
            NothingLearned::OnlyVoid { cause } => write!(
                f,
                "No experiment could be measured ({cause}); place a progress point where the work \
                 is done steadily, or run longer with `--for 2m`."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_says_what_is_printed() {
        let doubt = Doubt::TooManyRanges {
            location: "a.c:3".to_owned(),
        };
        let Record::Doubt {
            doubt: name,
            text,
            location,
        } = doubt.record()
        else {
            panic!("another record");
        };
        assert_eq!(
            (name.as_str(), text),
            ("too-many-ranges", doubt.to_string())
        );
        assert_eq!(location.as_deref(), Some("a.c:3"));
    }
}
