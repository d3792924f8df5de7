//! `coz-rs run`: from the command line to the exit status.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use coz_rs_plot::record::{FORMAT_VERSION, Record, Session as SessionRecord};
use nix::sys::signal::Signal;
use rand::RngExt as _;

use crate::clock::now;
use crate::commands::in_one_sentence;
use crate::controller::{
    Controller, Cost, End, Knowledge, Learned, Plan, Session, Slowdowns, StatusLine, WholeRun,
};
use crate::doctor::{Finding, examine_after};
use crate::doubt::{Doubt, NothingLearned};
use crate::end_to_end;
use crate::experiments::choice::Chooser;
use crate::experiments::pacing;
use crate::launch::executable::{Executable, inspect};
use crate::launch::preload_library;
use crate::launch::program::{Program, StandardInput};
use crate::launch::sampler_probe::{Probe, Sigtrap, may_sample_kernel};
use crate::launch::signals::Signals;
use crate::line_tally::LineTally;
use crate::point_arguments::PointArguments;
use crate::points::placer::Placer;
use crate::points::spec;
use crate::private_directory::PrivateDirectory;
use crate::profile_log::ProfileLog;
use crate::scope_arguments::ScopeArguments;
use crate::symbols::{LineNotFound, Scope, Symbols};
use crate::targets::greeting_server::{GreetingServer, Terms};
use crate::targets::target::Sampler;
use crate::targets::thread_changes;

/// Time between two samples of a thread, ns of CPU time: no divisor of round numbers, so that it
/// does not beat with the program's own rhythm.
pub const PERIOD: u64 = 997_000;

/// What the user asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The profile.
    pub output: PathBuf,
    /// What experiments may select.
    pub scope: ScopeArguments,
    /// Lines to select, `file:line`.
    pub fixed_lines: Vec<String>,
    /// Progress points without marks in the source.
    pub points: PointArguments,
    /// The virtual speedups to try, 0..=1; none means the usual ones.
    pub fixed_speedups: Vec<f64>,
    /// Measure whole runs.
    pub end_to_end: bool,
    /// Seed of everything random.
    pub seed: Option<u64>,
    /// Time before the first experiment.
    pub warm_up: Option<Duration>,
    /// Time to gather in all.
    pub time: Option<Duration>,
    /// How often to run the program at most.
    pub repeat: Option<u32>,
    /// The sampler; nothing means the best that works.
    pub sampler: Option<Sampler>,
    /// Leave processes alone that the program starts.
    pub no_follow: bool,
    /// Append to a profile of another program.
    pub force: bool,
    /// The longest pause of a thread at a stretch.
    pub max_pause: Option<Duration>,
    /// Show the ranking on the whole terminal meanwhile.
    pub live: bool,
}

/// How it went.
#[derive(Debug)]
pub struct Finished {
    /// The program's last status.
    pub status: ExitStatus,
    /// The profile's records of this session.
    pub records: Vec<Record>,
    /// Where the profile is.
    pub profile: PathBuf,
    /// What came into doubt.
    pub doubts: BTreeSet<Doubt>,
    /// Why the profile is not whole, one sentence.
    pub unwritten: Option<String>,
    /// Why nothing was learned.
    pub nothing: Option<NothingLearned>,
    /// What the profiling cost.
    pub cost: Cost,
    /// What is wrong with the program or the limits, if nothing was learned.
    pub diagnosis: Vec<Finding>,
    /// What the user should know besides, one sentence each.
    pub notes: Vec<String>,
    /// What came of the points that the user named, one sentence each.
    pub points: Vec<String>,
}

/// Profiles the program.
///
/// # Errors
/// If something failed before or beside the program; it has run to its end if it was started.
pub fn run(options: &Options) -> anyhow::Result<Finished> {
    // Before threads exist: a fork, and the signal mask that threads inherit.
    let exclude_kernel = !may_sample_kernel();
    let mut signals = Signals::hold()?;
    if options.live {
        signals.hold_stops()?;
    }
    let probe = (options.sampler != Some(Sampler::Timer)).then(|| Probe::start(exclude_kernel));
    let Some(name) = options.command.first() else {
        anyhow::bail!("no program was named; try `coz-rs run -- ./app`");
    };
    let executable = inspect(name)?;
    let scope = options.scope.scope()?;
    check_fixed_lines(options, &executable, &scope)?;
    let placer = place_points(options, &executable)?;
    let seed = options
        .seed
        .unwrap_or_else(|| rand::rng().random::<u32>().into());
    let directory = PrivateDirectory::make()?;
    let library = preload_library::install(directory.path())?;
    let (sampler, cause) = choose_sampler(options.sampler, probe)?;
    let description = describe(options, &executable, &scope, seed, sampler);
    let log =
        ProfileLog::open(&options.output, &description, options.force).map_err(in_one_sentence)?;
    let terms = Terms {
        period: PERIOD,
        sampler,
        fall_back: options.sampler.is_none(),
        exclude_kernel: exclude_kernel && sampler == Sampler::Sigtrap,
        no_follow: options.no_follow,
    };
    let mut server = GreetingServer::start(directory.path(), terms, placer.clone())?;
    let begin = now();
    let mut session = Session {
        plan: Plan {
            scope,
            fixed_lines: options.fixed_lines.clone(),
            warm_up: options.warm_up,
            window: pacing::SHORTEST,
            max_pause: options.max_pause.map_or(0, nanoseconds),
            may_go_over: options.sampler.is_none() && thread_changes::are_dear(),
            until: options
                .time
                .map(|time| begin.saturating_add(nanoseconds(time))),
        },
        chooser: Chooser::new(seed, options.fixed_speedups.iter().copied()),
        tally: LineTally::default(),
        log,
        doubts: BTreeSet::new(),
        status: StatusLine::new(),
        learned: Learned::new(terms.exclude_kernel),
        knowledge: Knowledge::default(),
        slowdowns: Slowdowns::default(),
    };
    if let Some(cause) = cause {
        eprintln!("coz-rs: the timer sampler runs: {cause}");
        session.doubts.insert(Doubt::TimerSampler { cause });
    }
    if options.live {
        session.status.go_live(&description.command.join(" "))?;
    }
    log::info!(
        "seed {seed}, sampler {}, profile {}",
        sampler.name(),
        options.output.display()
    );
    let input = StandardInput::remember();
    let mut launcher = Launcher {
        options,
        signals: &mut signals,
        server: &mut server,
        library: &library,
        input,
    };
    if options.end_to_end {
        session.log.append(&[Record::Session(description)]);
        let (status, runs) = launcher.run_whole(&mut session)?;
        let finished = conclude(session, status, &executable, Some(runs));
        return Ok(with_notes(finished, placer.as_deref()));
    }
    let mut runs = 0;
    let status = loop {
        if runs > 0 {
            launcher.input.rewind();
        }
        session.log.append(&[Record::Session(description.clone())]);
        launcher.note_start(&mut session);
        let end = launcher.run_once(&mut session, None)?;
        runs += 1;
        if !again(options, &mut session, &launcher.input, &end, runs) {
            break end.status;
        }
    };
    let finished = conclude(session, status, &executable, None);
    Ok(with_notes(finished, placer.as_deref()))
}

/// Adds what is to be said of the points that the user named.
fn with_notes(mut finished: Finished, placer: Option<&Mutex<Placer>>) -> Finished {
    if let Some(placer) = placer {
        let mut placer = placer.lock().unwrap_or_else(PoisonError::into_inner);
        finished.points = placer.notes(&finished.records);
        // It says that none is compiled in, which is why they were named.
        finished
            .diagnosis
            .retain(|finding| finding.check != "points");
    }
    finished
}

/// The points that the user named, ready to be put into processes.
fn place_points(
    options: &Options,
    executable: &Executable,
) -> anyhow::Result<Option<Arc<Mutex<Placer>>>> {
    let specs = spec::points(&options.points.wanted())?;
    if specs.is_empty() {
        return Ok(None);
    }
    let (path, is_script) = (&executable.path, executable.is_script());
    let placer = Placer::new(specs, path, is_script, options.points.way())?;
    Ok(Some(Arc::new(Mutex::new(placer))))
}

/// Refuses a line that the program cannot have. What starts other programs is not asked.
fn check_fixed_lines(
    options: &Options,
    executable: &Executable,
    scope: &Scope,
) -> anyhow::Result<()> {
    let mut symbols = Symbols::new(scope.clone(), &executable.path);
    if options.fixed_lines.is_empty() || executable.is_script() || !symbols.has_debug_info() {
        return Ok(());
    }
    for line in &options.fixed_lines {
        match symbols.find_line(line) {
            // Another process or a library may have it.
            Ok(_) | Err(LineNotFound::NoSuchFile { .. } | LineNotFound::NoSuchFunction { .. }) => {}
            Err(error) => return Err(in_one_sentence(error).context("--fixed-line")),
        }
    }
    Ok(())
}

/// What every run of the program needs.
struct Launcher<'a> {
    options: &'a Options,
    signals: &'a mut Signals,
    server: &'a mut GreetingServer,
    library: &'a std::path::Path,
    input: StandardInput,
}

impl Launcher<'_> {
    /// Notes in the profile that the program begins.
    fn note_start(&self, session: &mut Session) {
        let epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        session.log.append(&[Record::Startup {
            time: epoch.map_or(0, nanoseconds),
        }]);
    }

    /// Runs the program once, as one window if `whole` says so.
    fn run_once(&mut self, session: &mut Session, whole: Option<WholeRun>) -> anyhow::Result<End> {
        let started = now();
        // The terminal sent these while there was no program to send them to.
        let early: Vec<_> = std::iter::from_fn(|| self.signals.take()).collect();
        let program = Program::start(
            &self.options.command,
            self.library,
            self.server.path(),
            self.signals.inherited(),
            whole.as_ref().map_or(0, |whole| whole.padding),
            session.status.program_output()?,
        )?;
        for arrived in early {
            if arrived.signal != Signal::SIGTSTP {
                program.signal(arrived.signal);
            }
        }
        // Waits of half a millisecond should last that long; after the start, as children inherit
        // it.
        // SAFETY: no pointer involved.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 20_000) };
        let controller = Controller::new(session, self.signals, self.server, program, started);
        let end = match whole {
            Some(whole) => controller.as_whole_run(whole).run(),
            None => controller.run(),
        };
        // SAFETY: no pointer involved; 0 means the default.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 0) };
        end
    }

    /// Runs the program again and again, each run as one window: the last status, and how many
    /// runs there were.
    fn run_whole(&mut self, session: &mut Session) -> anyhow::Result<(ExitStatus, u32)> {
        // Blocks go over several runs, which are one in the profile.
        self.note_start(session);
        let limit = self.options.repeat;
        let mut first = true;
        let (end, runs) = end_to_end::run_all(session, limit, |session, whole| {
            if !std::mem::take(&mut first) {
                self.input.rewind();
            }
            let end = self.run_once(session, Some(whole))?;
            let again = may_repeat(&self.input, &end);
            Ok((end, again))
        })?;
        let end = end.context("the program was not run")?;
        Ok((end.status, runs))
    }
}

/// Whether another run would be like this one, or why not.
fn may_repeat(input: &StandardInput, end: &End) -> Result<(), &'static str> {
    if !end.status.success() {
        Err("it did not end well")
    } else if input.runs_dry() {
        Err("its standard input is a pipe and was read; give it a file instead")
    } else {
        Ok(())
    }
}

/// Whether to run the program once more.
fn again(
    options: &Options,
    session: &mut Session,
    input: &StandardInput,
    end: &End,
    runs: u32,
) -> bool {
    let wanted = match (options.repeat, options.time) {
        (Some(repeat), _) => runs < repeat,
        (None, time) => time.is_some(),
    };
    let time_left = session.plan.until.is_none_or(|until| now() < until);
    if !wanted || !time_left {
        return false;
    }
    let hopeless = session.learned.nothing(1).is_some_and(is_final);
    if end.interrupted || hopeless {
        return false;
    }
    let Err(cause) = may_repeat(input, end) else {
        return true;
    };
    session.doubts.insert(Doubt::NotRepeated { cause });
    false
}

/// Whether another run would bring nothing either.
fn is_final(nothing: NothingLearned) -> bool {
    matches!(
        nothing,
        NothingLearned::NotLoaded
            | NothingLearned::NoPoints
            | NothingLearned::NoDebugInformation { .. }
    )
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The sampler, and why it is the timer if the user did not choose it.
fn choose_sampler(
    wanted: Option<Sampler>,
    probe: Option<Probe>,
) -> anyhow::Result<(Sampler, Option<String>)> {
    let Some(answer) = probe.map(Probe::answer) else {
        return Ok((Sampler::Timer, None));
    };
    match (wanted, answer) {
        (_, Sigtrap::Works) => Ok((Sampler::Sigtrap, None)),
        (None, answer) => Ok((Sampler::Timer, Some(answer.to_string()))),
        (Some(_), answer) => {
            anyhow::bail!(
                "the sigtrap sampler does not work here: {answer}; or try `--sampler auto`"
            )
        }
    }
}

fn describe(
    options: &Options,
    executable: &Executable,
    scope: &Scope,
    seed: u64,
    sampler: Sampler,
) -> SessionRecord {
    let symbols = Symbols::new(scope.clone(), &executable.path);
    let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned());
    SessionRecord {
        format_version: FORMAT_VERSION,
        coz_rs_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        host: host.unwrap_or_default(),
        command: options
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        build_id: symbols.build_id().unwrap_or_default(),
        sampler: sampler.name().to_owned(),
        period: PERIOD,
        processors: std::thread::available_parallelism()
            .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
    }
}

/// Completes the profile; `whole_runs` is how often the program was run end to end.
fn conclude(
    mut session: Session,
    status: ExitStatus,
    executable: &Executable,
    whole_runs: Option<u32>,
) -> Finished {
    session.learned.doubts(&mut session.doubts);
    if executable.is_script() && session.learned.experiments() > 0 {
        log::info!(
            "{} is a script; what it started was profiled",
            executable.path.display()
        );
    }
    let nothing = session.learned.nothing(session.tally.in_scope());
    let nothing = nothing.map(|nothing| match (nothing, whole_runs) {
        // It needs neither points nor much time a run.
        (
            NothingLearned::NoPoints
            | NothingLearned::NoVisits { .. }
            | NothingLearned::TooShort { .. },
            Some(runs),
        ) => NothingLearned::TooFewRuns { runs },
        (nothing, _) => nothing,
    });
    let mut records: Vec<Record> = session.doubts.iter().map(Doubt::record).collect();
    records.extend(nothing.as_ref().map(NothingLearned::record));
    session.log.append(&records);
    // The profile is whole by now: closing a view waits for a terminal that takes nothing more.
    session.status.close();
    let diagnosis = nothing.as_ref().map_or_else(Vec::new, |nothing| {
        diagnose(nothing, executable, &session.plan.scope)
    });
    Finished {
        status,
        cost: session.learned.cost(),
        diagnosis,
        unwritten: session.log.failure().map(ToString::to_string),
        nothing,
        points: Vec::new(),
        notes: session.learned.missing_lines().map(str::to_owned).collect(),
        profile: session.log.path().to_owned(),
        records: session.log.records().to_vec(),
        doubts: session.doubts,
    }
}

/// What the doctor says of the program, without what `nothing` has said already.
fn diagnose(nothing: &NothingLearned, executable: &Executable, scope: &Scope) -> Vec<Finding> {
    let mut findings = examine_after(executable.path.as_os_str(), scope);
    if matches!(nothing, NothingLearned::NoDebugInformation { .. }) {
        findings.retain(|finding| finding.check != "debug-info");
    }
    findings
}
