//! One process that loaded the runtime.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Instant;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::crowd::Crowd;
use super::rest::{Rest, Seen};
use super::shared_region::{PointKind, SharedRegion};
use super::thread_changes::ThreadChanges;
use super::tracing::Tracing;
use super::unseen_blocking::UnseenBlocking;
use crate::clock::now;
use crate::symbols::Symbols;

/// An exec that takes longer than this has failed, ns.
const EXEC_PATIENCE: u64 = 100_000_000;

/// The event outlives the first thread's timer by this, ns, so that every thread that runs has taken
/// one by then. Those that sleep take theirs in their first hook of a window.
const HAND_OVER: u64 = 200_000_000;

static NEXT_NUMBER: AtomicU32 = AtomicU32::new(1);

/// How a target is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampler {
    /// One inherited perf event that raises SIGTRAP.
    Sigtrap,
    /// A CPU-time timer a thread.
    Timer,
    /// Not at all.
    None,
}

impl Sampler {
    /// Its name in profiles and options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Sampler::Sigtrap => "sigtrap",
            Sampler::Timer => "timer",
            Sampler::None => "none",
        }
    }
}

/// A progress point as the controller knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// What it is.
    pub kind: PointKind,
    /// Its name.
    pub name: String,
}

/// One process that loaded the runtime.
#[derive(Debug)]
pub struct Target {
    /// Its number in this run: a process that calls exec becomes another target with the same id.
    pub number: u32,
    /// Process id.
    pub pid: u32,
    /// What is shared with it.
    pub region: SharedRegion,
    /// How it is sampled.
    pub sampler: Sampler,
    /// Why the perf event was refused, 0 if it was not.
    pub perf_errno: i32,
    /// The executable that it ran when it arrived.
    pub executable: PathBuf,
    /// Its modules and lines, once it has been sampled.
    pub symbols: Option<Symbols>,
    /// Its progress points, in the order of the region's counters.
    pub points: Vec<Point>,
    /// When its modules were last looked at.
    pub modules_seen: Option<Instant>,
    /// How many of its threads want to run at once.
    pub crowd: Crowd,
    /// How its threads sleep past the hooks.
    pub blocking: UnseenBlocking,
    end: OwnedFd,
    /// Sampling ends when the last descriptor of the event is closed.
    event: Option<OwnedFd>,
    tracing: Tracing,
    rest: Rest,
    changes: ThreadChanges,
    going_over: GoingOver,
}

/// From the sigtrap to the timer sampler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GoingOver {
    /// Not yet, and perhaps never.
    No,
    /// Threads have been asked to take timers; turns on a processor a second of CPU time.
    Asked(u64),
    /// They are taking them, since this time; the event is still there for the others.
    Under(u64, u64),
    /// It has been tried.
    Over,
}

impl Target {
    /// A target that has just got ready.
    #[must_use]
    pub fn new(
        pid: u32,
        end: OwnedFd,
        region: SharedRegion,
        sampler: Sampler,
        perf_errno: i32,
        event: Option<OwnedFd>,
    ) -> Target {
        let link = format!("/proc/{pid}/exe");
        Target {
            number: NEXT_NUMBER.fetch_add(1, Relaxed),
            pid,
            region,
            sampler,
            perf_errno,
            executable: std::fs::read_link(&link).unwrap_or_else(|_| Path::new(&link).to_owned()),
            symbols: None,
            points: Vec::new(),
            modules_seen: None,
            crowd: Crowd::new(pid),
            blocking: UnseenBlocking::default(),
            end,
            event,
            tracing: Tracing::default(),
            rest: Rest::default(),
            changes: ThreadChanges::default(),
            going_over: GoingOver::No,
        }
    }

    /// Whether the process has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let mut fds = [PollFd::new(self.end.as_fd(), PollFlags::POLLIN)];
        matches!(poll(&mut fds, PollTimeout::ZERO), Ok(count) if count > 0)
    }

    /// Readable once the process has ended.
    #[must_use]
    pub fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    /// Stops sampling while a debugger traces the process; the tracer, when one has just come.
    pub fn mind_tracer(&mut self) -> Option<u32> {
        let event = self.event.as_ref()?;
        if self.region.exec_failed(now(), EXEC_PATIENCE) {
            self.tracing.switch(event);
        }
        self.tracing.look(self.pid, event)
    }

    /// Ends its sampling by perf event for good: an event is gone with its last descriptor.
    pub fn end_sampling(&mut self) {
        self.event = None;
    }

    /// Lets sampling rest or go on, as what was seen suggests. Only to be called while no experiment
    /// is under way.
    pub fn let_rest(&mut self, seen: Seen) {
        let rests = self.rest.go_on(seen) && !self.is_going_over();
        self.switch(rests);
    }

    /// Samples are wanted from now on.
    pub fn wake(&mut self) {
        self.rest.wake();
        self.switch(false);
    }

    fn switch(&mut self, rests: bool) {
        let replaces = self.region.is_replacing();
        if let Some(event) = &self.event {
            self.tracing.rest(rests, event, replaces);
        }
    }

    /// Whether its threads are about to be sampled by other means: no time for an experiment.
    #[must_use]
    pub fn is_going_over(&self) -> bool {
        matches!(self.going_over, GoingOver::Asked(_) | GoingOver::Under(..))
    }

    /// Whether it is known how its threads are best sampled.
    #[must_use]
    pub fn sampler_is_settled(&self) -> bool {
        match self.going_over {
            GoingOver::No => self.event.is_none() || self.changes.is_known(),
            GoingOver::Over => true,
            GoingOver::Asked(_) | GoingOver::Under(..) => false,
        }
    }

    /// Goes over to the timer sampler, step by step, if threads change so often that the perf event
    /// costs too much; how often, in turns on a processor a second of CPU time, when that is done.
    /// Only to be called while no experiment is under way.
    pub fn mind_thread_changes(&mut self) -> Option<u64> {
        match self.going_over {
            GoingOver::No => {
                if self.event.is_some() && !self.is_traced() {
                    let rate = self.changes.look(self.pid)?;
                    self.region.ask_to_go_over(true);
                    self.going_over = GoingOver::Asked(rate);
                    self.wake();
                }
            }
            GoingOver::Asked(rate) => match self.region.gone_over() {
                Some(true) => self.going_over = GoingOver::Under(rate, now()),
                Some(false) => {
                    self.region.ask_to_go_over(false);
                    self.going_over = GoingOver::Over;
                }
                None => {}
            },
            GoingOver::Under(rate, since) if now().saturating_sub(since) > HAND_OVER => {
                self.event = None;
                self.sampler = Sampler::Timer;
                self.going_over = GoingOver::Over;
                return Some(rate);
            }
            GoingOver::Under(..) | GoingOver::Over => {}
        }
        None
    }

    /// Whether a debugger keeps it from being sampled now.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.tracing.is_traced()
    }

    /// Learns of progress points visited for the first time; whether there were any.
    pub fn find_points(&mut self) -> bool {
        let before = self.points.len();
        while self.points.len() < self.region.point_count() {
            let Some((kind, name)) = self.region.point(self.points.len()) else {
                break;
            };
            self.points.push(Point { kind, name });
        }
        self.points.len() > before
    }
}
