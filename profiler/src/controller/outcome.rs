//! How a run ended, what it brought, and why it brought nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitStatus;

use coz_rs_plot::record::{PointVisits, Record};
use coz_rs_runtime_preload::layout::fault;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use super::{Controller, Cost, RunMeasured};
use crate::clock::now;
use crate::doubt::{Doubt, NothingLearned};
use crate::experiments::window::Void;
use crate::launch::tracer::tracer_of;
use crate::targets::shared_region::PointKind;
use crate::targets::target::{Sampler, Target};

/// How one run of the program ended.
#[derive(Debug)]
pub struct End {
    /// As the system says.
    pub status: ExitStatus,
    /// Whether somebody wanted it to end.
    pub interrupted: bool,
    /// The run as one window, if it was one.
    pub whole: Option<RunMeasured>,
}

/// What the session learned, counted.
#[derive(Debug, Clone, Default)]
pub struct Learned {
    experiments: u64,
    targets: u64,
    windows_void: BTreeMap<&'static str, u32>,
    points: BTreeMap<String, u64>,
    /// Visits in the run under way.
    visits: BTreeMap<(String, PointKind), u64>,
    latency: BTreeMap<String, (u64, u64)>,
    with_points: BTreeSet<u32>,
    /// The largest number of such processes in one run of the program.
    most_with_points: usize,
    samples: u64,
    cut: u64,
    milliseconds: u64,
    problems: Vec<String>,
    has_debug_info: Option<bool>,
    /// Lines that the user named and that do not exist.
    missing_lines: BTreeSet<String>,
    exclude_kernel: bool,
    cost: Cost,
}

fn cause(void: Void) -> &'static str {
    match void {
        Void::NoVisits => "no progress point was visited meanwhile",
        Void::Idle => "the program was idle",
        Void::Stalled => "the profiler or the machine was stopped meanwhile",
        Void::Blurred => "visits could not be timed precisely on this busy machine",
        Void::Standing => "at that virtual speedup pauses took nearly all of the time",
        Void::Bounded => "--max-pause kept threads from the pauses that they owed",
    }
}

impl Learned {
    /// Nothing learned yet; `exclude_kernel` says whether samples leave out the kernel.
    #[must_use]
    pub fn new(exclude_kernel: bool) -> Learned {
        Learned {
            exclude_kernel,
            ..Learned::default()
        }
    }

    /// Experiments completed.
    #[must_use]
    pub fn experiments(&self) -> u64 {
        self.experiments
    }

    /// What the profiling cost.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Lines that the user named and that do not exist, as sentences.
    pub fn missing_lines(&self) -> impl Iterator<Item = &str> {
        self.missing_lines.iter().map(String::as_str)
    }

    /// Counts an experiment.
    pub fn note_experiment(&mut self) {
        self.experiments += 1;
    }

    pub(super) fn note_void(&mut self, void: Void) {
        *self.windows_void.entry(cause(void)).or_default() += 1;
    }

    pub(super) fn note_missing_line(&mut self, sentence: String) {
        self.missing_lines.insert(sentence);
    }

    pub(super) fn note_target(&mut self, target: &Target, doubts: &mut BTreeSet<Doubt>) {
        self.targets += 1;
        if let Some(tracer) = tracer_of(target.pid).filter(|_| target.sampler != Sampler::Sigtrap) {
            let pid = target.pid;
            doubts.insert(Doubt::Traced { pid, tracer });
        }
        if target.perf_errno != 0 && target.sampler == Sampler::Timer {
            let error = std::io::Error::from_raw_os_error(target.perf_errno);
            doubts.insert(Doubt::TimerSampler {
                cause: format!("process {} may not open perf events ({error})", target.pid),
            });
        }
    }

    /// Takes in what a target leaves behind.
    pub(super) fn note_end(&mut self, target: &Target, doubts: &mut BTreeSet<Doubt>) {
        let ledgers = target.region.ledgers();
        self.samples = self.samples.saturating_add(ledgers.samples);
        self.cut = self.cut.saturating_add(target.region.cut_samples());
        self.cost.paused = self.cost.paused.saturating_add(ledgers.g);
        let count = target.region.deep_bindings();
        if count > 0 {
            doubts.insert(Doubt::DeepBinding { count });
        }
        if let Some(unseen) = target.blocking.finding() {
            let pid = target.pid;
            doubts.insert(Doubt::UnseenBlocking { pid, unseen });
        }
        let mut visited = false;
        for (index, point) in target.points.iter().enumerate() {
            let visits = target.region.visits(index);
            log::info!(
                "process {} visited `{}` {visits} times",
                target.pid,
                point.name
            );
            match point.kind {
                PointKind::Throughput => {}
                PointKind::Begin => self.latency.entry(point.name.clone()).or_default().0 += visits,
                PointKind::End => self.latency.entry(point.name.clone()).or_default().1 += visits,
            }
            *self.points.entry(point.name.clone()).or_default() += visits;
            let one = (point.name.clone(), point.kind);
            *self.visits.entry(one).or_default() += visits;
            visited |= visits > 0;
        }
        if visited {
            self.with_points.insert(target.pid);
        }
        // A shell in between owes nobody debug information.
        if let Some(symbols) = target.symbols.as_ref().filter(|_| visited) {
            let known = self.has_debug_info.unwrap_or(false);
            self.has_debug_info = Some(known || symbols.has_debug_info());
            self.problems.extend(symbols.problems());
        }
        let cause = match target.region.turned_off() {
            Some(fault::PANIC) => Some("a fault of coz-rs"),
            Some(fault::RESOLVE) => Some("a function of the C library was not found"),
            Some(fault::SECCOMP) => Some("the program locked itself up with seccomp"),
            _ => None,
        };
        if let Some(cause) = cause {
            let pid = target.pid;
            doubts.insert(Doubt::RuntimeStopped { pid, cause });
        }
        let (points, threads) = target.region.lost_for_want_of_room();
        if points > 0 {
            doubts.insert(Doubt::TooManyPoints { lost: points });
        }
        if threads > 0 {
            doubts.insert(Doubt::TooManyThreads { lost: threads });
        }
    }

    /// One run of the program is over: processes of the next one do not wait for its own.
    /// The visits of its points, if it had any.
    fn note_run_end(&mut self) -> Option<Record> {
        self.most_with_points = self.most_with_points.max(self.with_points.len());
        self.with_points.clear();
        let visits = std::mem::take(&mut self.visits);
        let points = visits.into_iter().map(|((name, kind), count)| PointVisits {
            name,
            kind: kind.name().to_owned(),
            count,
        });
        let points: Vec<PointVisits> = points.collect();
        (!points.is_empty()).then_some(Record::Visits { points })
    }

    /// Doubts that show only when everything is over.
    pub fn doubts(&self, doubts: &mut BTreeSet<Doubt>) {
        for problem in &self.problems {
            doubts.insert(Doubt::DebugInformation {
                problem: problem.clone(),
            });
        }
        let percent = percent(self.cut, self.samples);
        if percent >= 5 {
            doubts.insert(Doubt::CutStacks { percent });
        }
        if self.most_with_points > 1 {
            doubts.insert(Doubt::SeveralProcesses {
                count: self.most_with_points,
            });
        }
        for (name, (begins, ends)) in &self.latency {
            // Some are always in flight; a tenth that never comes back is a missing end.
            if begins.saturating_sub(*ends) > 20 + begins / 10 {
                doubts.insert(Doubt::UnfinishedBegins { name: name.clone() });
            }
        }
        let void: u32 = self.windows_void.values().sum();
        let all = u64::from(void) + self.experiments;
        if let Some(cause) = self
            .usual_void()
            .filter(|_| u64::from(void) * 2 > all && void > 4)
        {
            let of = u32::try_from(all).unwrap_or(u32::MAX);
            doubts.insert(Doubt::VoidWindows { void, of, cause });
        }
        if self.exclude_kernel
            && let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN)
        {
            let system = usage
                .system_time()
                .num_milliseconds()
                .max(0)
                .cast_unsigned();
            let user = usage.user_time().num_milliseconds().max(0).cast_unsigned();
            let percent = self::percent(system, system + user);
            if percent > 5 {
                doubts.insert(Doubt::KernelNotSampled { percent });
            }
        }
    }

    fn usual_void(&self) -> Option<&'static str> {
        let usual = self.windows_void.iter().max_by_key(|(_, count)| **count)?;
        Some(usual.0)
    }

    /// Why nothing was learned, if nothing was; `in_scope` is the number of samples in scope.
    #[must_use]
    pub fn nothing(&self, in_scope: u64) -> Option<NothingLearned> {
        if self.experiments > 0 {
            return None;
        }
        let milliseconds = self.milliseconds;
        let visited = self.points.values().any(|visits| *visits > 0);
        Some(if self.targets == 0 {
            NothingLearned::NotLoaded
        } else if !visited {
            NothingLearned::NoPoints
        } else if self.samples < 20 {
            NothingLearned::NoSamples { milliseconds }
        } else if self.has_debug_info == Some(false) {
            let problem = self.problems.first().cloned().unwrap_or_default();
            NothingLearned::NoDebugInformation { problem }
        } else if let Some(sentence) = self.missing_lines.first().cloned() {
            NothingLearned::MissingLine { sentence }
        } else if in_scope == 0 {
            NothingLearned::NothingInScope {
                samples: self.samples,
            }
        } else if let Some(cause) = self.usual_void() {
            NothingLearned::OnlyVoid { cause }
        } else if milliseconds > 10_000 {
            let names = self.points.keys().cloned().collect();
            NothingLearned::NoVisits { names }
        } else {
            NothingLearned::TooShort { milliseconds }
        })
    }
}

fn percent(part: u64, whole: u64) -> u32 {
    let percent = (u128::from(part) * 100).checked_div(u128::from(whole));
    u32::try_from(percent.unwrap_or(0)).unwrap_or(100)
}

impl Controller<'_> {
    /// After the program's end: reads what is left and completes the profile.
    pub(super) fn finish(mut self, status: ExitStatus) -> End {
        let ran = now().saturating_sub(self.started);
        // A program that ends at once may be gone before its greeting is over.
        let patience = now() + 100_000_000;
        while self.server.is_greeting() && now() < patience {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        for target in self.server.arrived() {
            self.adopt(target);
        }
        let all = std::mem::take(&mut self.targets);
        for target in &all {
            super::block::release(target);
        }
        self.dismiss(all);
        let session = &mut *self.session;
        let visits = session.learned.note_run_end();
        session.learned.milliseconds += ran / 1_000_000;
        session.learned.cost.ran += ran;
        let (read, lost) = self.attribution.totals();
        let percent = percent(lost, read + lost);
        if percent >= 2 {
            session.doubts.insert(Doubt::LostSamples { percent });
        }
        if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
            let used =
                usage.user_time().num_milliseconds() + usage.system_time().num_milliseconds();
            session.learned.cost.own = used.max(0).cast_unsigned() * 1_000_000;
            log::info!(
                "coz-rs itself has used {used} ms of CPU time in {} ms, and {} KiB of memory",
                ran / 1_000_000,
                usage.max_rss()
            );
        }
        log::info!(
            "{} of {} stacks were not walked to their end",
            session.learned.cut,
            session.learned.samples
        );
        let mut records = session.tally.records(true);
        records.extend(visits);
        records.push(Record::Runtime { time: ran });
        session.log.append(&records);
        session.status.clear();
        End {
            status,
            interrupted: self.interrupted,
            whole: self.whole.as_mut().map(|whole| whole.finish(ran)),
        }
    }
}
