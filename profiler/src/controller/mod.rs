//! The controller's event loop for one run of the program: targets come, samples are attributed,
//! experiments run, until the program ends. Its end is never delayed.

mod attribution;
mod block;
mod cost;
mod knowledge;
mod outcome;
mod slowdown;
mod status_line;
mod whole_run;

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::Signal;
use nix::sys::time::TimeSpec;

use crate::clock::now;
use crate::doubt::Doubt;
use crate::experiments::choice::Chooser;
use crate::experiments::window::Void;
use crate::launch::program::Program;
use crate::launch::signals::Signals;
use crate::line_tally::LineTally;
use crate::profile_log::ProfileLog;
use crate::symbols::Scope;
use crate::targets::greeting_server::GreetingServer;
use crate::targets::rest::Seen;
use crate::targets::target::Target;
use attribution::Attribution;
use block::Block;
use whole_run::Whole;

pub use cost::Cost;
pub use knowledge::Knowledge;
pub use outcome::{End, Learned};
pub use slowdown::Slowdowns;
pub use status_line::StatusLine;
pub use whole_run::{RunMeasured, WholeRun};

/// What the user decided about experiments.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Which lines may be selected.
    pub scope: Scope,
    /// The lines to select, if not chosen by samples.
    pub fixed_lines: Vec<String>,
    /// The time before the first experiment, if not chosen by what was seen.
    pub warm_up: Option<Duration>,
    /// The shortest window, ns.
    pub window: u64,
    /// When experiments end, ns of `CLOCK_MONOTONIC`.
    pub until: Option<u64>,
    /// The longest pause of a thread at a stretch, ns; 0: no bound.
    pub max_pause: u64,
    /// Whether targets may go over from the sigtrap to the timer sampler.
    pub may_go_over: bool,
}

/// What lasts from one run of the program to the next.
#[derive(Debug)]
pub struct Session {
    /// The user's decisions.
    pub plan: Plan,
    /// Random choices.
    pub chooser: Chooser,
    /// Samples by line.
    pub tally: LineTally,
    /// The profile.
    pub log: ProfileLog,
    /// What came into doubt.
    pub doubts: BTreeSet<Doubt>,
    /// The line on the terminal.
    pub status: StatusLine,
    /// What was learned so far.
    pub learned: Learned,
    /// What the estimates said last.
    pub knowledge: Knowledge,
    /// Blocks that slowed all threads down.
    pub slowdowns: Slowdowns,
}

/// Where the session is.
#[derive(Debug)]
enum Phase {
    /// Learning which lines and points there are.
    WarmUp,
    /// An experiment runs.
    Experiment(Box<Block>),
    /// Nothing to measure for a while, until this time.
    Rest(u64),
    /// The whole run is one window.
    Whole,
    /// No more experiments; the program runs on at full speed.
    Over,
}

/// One run of the program.
#[derive(Debug)]
pub struct Controller<'a> {
    session: &'a mut Session,
    signals: &'a mut Signals,
    server: &'a mut GreetingServer,
    program: Program,
    targets: Vec<Target>,
    attribution: Attribution,
    phase: Phase,
    started: u64,
    first_target: Option<u64>,
    /// The target and line that were last selected.
    last_selected: Option<(u32, u64)>,
    next_window: u64,
    next_block: u64,
    samples_written: u64,
    interrupted: bool,
    void_in_a_row: u32,
    whole: Option<Whole>,
}

/// Time between looks at the targets while nothing is measured.
const IDLE_STEP: u64 = 20_000_000;
/// And when no experiments come any more.
const OVER_STEP: u64 = 100_000_000;
/// Windows stay in force so long without us, ns.
const DEADLINE: u64 = 500_000_000;
/// Samples in scope after which experiments begin,
const WARM_SAMPLES: u64 = 200;
/// or fewer after this time, ns.
const WARM_TIME: u64 = 4_000_000_000;
const FEW_SAMPLES: u64 = 20;
/// The choice of a sampler delays them by this at most, ns.
const SETTLE_TIME: u64 = 800_000_000;
/// The profile learns of new samples this often, ns.
const WRITE_SAMPLES_EVERY: u64 = 10_000_000_000;
/// A program that cannot be measured now is left alone for so long, ns.
const REST: u64 = 250_000_000;

impl<'a> Controller<'a> {
    /// A controller for a program that has just been started at `started`.
    pub fn new(
        session: &'a mut Session,
        signals: &'a mut Signals,
        server: &'a mut GreetingServer,
        program: Program,
        started: u64,
    ) -> Controller<'a> {
        let scope = session.plan.scope.clone();
        Controller {
            session,
            signals,
            server,
            program,
            targets: Vec::new(),
            attribution: Attribution::new(scope),
            phase: Phase::WarmUp,
            started,
            first_target: None,
            last_selected: None,
            next_window: 1,
            next_block: 0,
            samples_written: started,
            interrupted: false,
            void_in_a_row: 0,
            whole: None,
        }
    }

    /// Makes the whole run one window.
    #[must_use]
    pub fn as_whole_run(mut self, wanted: WholeRun) -> Controller<'a> {
        self.phase = Phase::Whole;
        self.whole = Some(Whole::new(wanted));
        self
    }

    /// Runs until the program has ended.
    ///
    /// # Errors
    /// If the system does not tell how it ended.
    pub fn run(mut self) -> anyhow::Result<End> {
        let mut wait = IDLE_STEP;
        let status = loop {
            self.sleep(wait);
            self.pass_signals_on();
            for target in self.server.arrived() {
                self.adopt(target);
            }
            if let Some(status) = self.program.ended()? {
                break status;
            }
            wait = self.go_on();
        };
        Ok(self.finish(status))
    }

    /// Waits for something to happen, or so many ns.
    fn sleep(&self, time: u64) {
        let mut fds = [
            PollFd::new(self.program.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.server.as_fd(), PollFlags::POLLIN),
        ];
        // An interrupted wait is a short wait.
        let _ = ppoll(
            &mut fds,
            Some(TimeSpec::from(Duration::from_nanos(time))),
            None,
        );
    }

    fn pass_signals_on(&mut self) {
        while let Some(arrived) = self.signals.take() {
            if arrived.signal == Signal::SIGTSTP {
                self.session.status.stop_with_program();
                continue;
            }
            self.interrupted |= arrived.signal != Signal::SIGQUIT;
            if arrived.by_process {
                self.program.signal(arrived.signal);
            }
        }
    }

    /// One step; how long to wait for the next, ns.
    fn go_on(&mut self) -> u64 {
        match std::mem::replace(&mut self.phase, Phase::WarmUp) {
            Phase::Experiment(block) => self.go_on_with(block),
            Phase::WarmUp => {
                self.look_around();
                self.let_rest();
                if self.is_warm() {
                    self.next_experiment()
                } else {
                    IDLE_STEP
                }
            }
            Phase::Rest(until) => {
                self.look_around();
                self.let_rest();
                if now() >= until {
                    self.next_experiment()
                } else {
                    self.phase = Phase::Rest(until);
                    IDLE_STEP
                }
            }
            Phase::Whole => {
                self.go_on_with_whole_run();
                self.phase = Phase::Whole;
                IDLE_STEP
            }
            Phase::Over => {
                self.look_around();
                self.phase = Phase::Over;
                OVER_STEP
            }
        }
    }

    /// Everything that is left undone while a window is measured.
    fn look_around(&mut self) {
        let session = &mut *self.session;
        for target in &mut self.targets {
            if let Some(tracer) = target.mind_tracer() {
                let pid = target.pid;
                session.doubts.insert(Doubt::Traced { pid, tracer });
            }
            self.attribution
                .look_at(target, &mut session.tally, &mut session.doubts);
        }
        self.mind_thread_changes();
        let (ended, alive) = std::mem::take(&mut self.targets)
            .into_iter()
            .partition(Target::has_ended);
        self.targets = alive;
        self.dismiss(ended);
        let time = now();
        if time.saturating_sub(self.samples_written) > WRITE_SAMPLES_EVERY {
            self.samples_written = time;
            let records = self.session.tally.records(false);
            self.session.log.append(&records);
        }
        self.session
            .status
            .show(time, &self.session.learned, self.session.plan.until);
    }

    /// While there is no experiment, lets the targets' samples rest that nobody wants. A warm-up that
    /// the user asked for is for samples, however long it is.
    fn let_rest(&mut self) {
        let time = now();
        let first = self.first_target.unwrap_or(time);
        let waited = Duration::from_nanos(time.saturating_sub(first));
        if self
            .session
            .plan
            .warm_up
            .is_some_and(|warm_up| waited < warm_up)
        {
            return;
        }
        let mut targets = std::mem::take(&mut self.targets);
        for target in &mut targets {
            target.let_rest(Seen {
                time,
                samples: self.attribution.samples(target.number),
                in_scope: self.attribution.in_scope(target.number),
                wants_lines: self.attribution.is_visited(target.number),
            });
        }
        self.targets = targets;
    }

    /// Lets targets whose threads change very often go over to the timer sampler, if the user left
    /// the choice to us.
    fn mind_thread_changes(&mut self) {
        if !self.session.plan.may_go_over || self.whole.is_some() {
            return;
        }
        let mut targets = std::mem::take(&mut self.targets);
        for target in &mut targets {
            if !target.is_going_over() && !self.attribution.is_visited(target.number) {
                continue;
            }
            if let Some(rate) = target.mind_thread_changes() {
                let cause = format!(
                    "the threads of process {} come onto a processor {rate} times a second of CPU \
                     time, and perf events cost something each time; `--sampler sigtrap` keeps \
                     them",
                    target.pid
                );
                let sentence = format!("the timer sampler takes over: {cause}");
                self.session.status.say(&sentence);
                self.session.doubts.insert(Doubt::TimerSampler { cause });
            }
        }
        self.targets = targets;
    }

    fn adopt(&mut self, target: Target) {
        self.first_target.get_or_insert_with(now);
        target.region.set_max_pause(self.session.plan.max_pause);
        self.session
            .learned
            .note_target(&target, &mut self.session.doubts);
        // The same process after exec: its old memory is gone.
        let pid = target.pid;
        let (old, others) = std::mem::take(&mut self.targets)
            .into_iter()
            .partition(|other: &Target| other.pid == pid);
        self.targets = others;
        self.dismiss(old);
        log::debug!(
            "process {pid} ({}) is ready, sampler {}",
            target.executable.display(),
            target.sampler.name()
        );
        let mut target = self.begin_whole_run(target);
        if matches!(self.phase, Phase::Over) {
            target.end_sampling();
        }
        self.targets.push(target);
    }

    fn dismiss(&mut self, ended: Vec<Target>) {
        for mut target in ended {
            let session = &mut *self.session;
            self.attribution
                .look_at(&mut target, &mut session.tally, &mut session.doubts);
            session.learned.note_end(&target, &mut session.doubts);
            if let Some(whole) = &mut self.whole {
                whole.note_end(&target);
            }
            session.tally.forget_target(target.number);
            self.attribution.forget(target.number);
        }
    }

    fn is_warm(&self) -> bool {
        let Some(first) = self.first_target else {
            return false;
        };
        let waited = now().saturating_sub(first);
        let samples = self.session.tally.in_scope();
        let fixed = !self.session.plan.fixed_lines.is_empty();
        let visited = self
            .targets
            .iter()
            .any(|target| self.attribution.is_visited(target.number));
        if let Some(warm_up) = self.session.plan.warm_up {
            return u128::from(waited) >= warm_up.as_nanos() && visited && (samples > 0 || fixed);
        }
        let sampled = samples >= WARM_SAMPLES || (waited > WARM_TIME && samples >= FEW_SAMPLES);
        let settled = !self.session.plan.may_go_over
            || waited > SETTLE_TIME
            || self.targets.iter().all(Target::sampler_is_settled);
        visited && settled && (sampled || fixed && waited > WARM_TIME / 8)
    }

    /// Begins the next experiment, if there is one to begin.
    fn next_experiment(&mut self) -> u64 {
        let time_up = self.session.plan.until.is_some_and(|until| now() >= until);
        if time_up {
            self.release_all();
            // The rest runs at full speed.
            self.look_around();
            self.targets.iter_mut().for_each(Target::end_sampling);
            self.phase = Phase::Over;
            return OVER_STEP;
        }
        if let Some(block) = self.choose_block() {
            return self.begin(block);
        }
        self.release_all();
        self.phase = Phase::Rest(now() + REST);
        IDLE_STEP
    }

    fn release_all(&mut self) {
        for target in &self.targets {
            block::release(target);
        }
        self.last_selected = None;
    }

    /// After a window that could not be measured.
    fn after_void(&mut self, void: Void) -> u64 {
        self.session.learned.note_void(void);
        self.void_in_a_row += 1;
        self.look_around();
        if self.void_in_a_row >= 3 {
            self.release_all();
            self.phase = Phase::Rest(now() + REST);
            return IDLE_STEP;
        }
        self.next_experiment()
    }
}
