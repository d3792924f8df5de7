//! `coz-rs run --end-to-end`: the program runs again and again, each run is one window, and what is
//! to get shorter is the run itself. No progress point is needed.
//!
//! Each run has its own random memory layout (its environment is longer by a random number of
//! bytes, which moves the stack), so that layout is averaged out rather than measured.

use coz_rs_plot::estimates::{Analysis, LineEstimate, Verdict, analyse};
use coz_rs_plot::record::{Experiment, PointEdges, Record, WHOLE_RUN};

use crate::controller::{End, RunMeasured, Session, WholeRun};
use crate::doubt::Doubt;
use crate::experiments::choice::{Candidate, LEVELS, Order, STEP};
use crate::line_tally::LineNumber;

/// Runs at most, if the user gives neither a number nor a time and no verdict becomes clear.
const MOST_RUNS: u32 = 200;
/// Samples that a survey should bring before lines are chosen by them.
const SAMPLES: u64 = 200;
/// Runs that a survey may take.
const MOST_SURVEYS: u32 = 5;
/// Lines with less of the samples need no verdict before the session ends.
const SMALL: f64 = 0.05;
/// A line that is selected after so much of the run misses what matters.
const LATE: f64 = 0.05;

/// Why there is no further run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// All was done that was asked for.
    Enough,
    /// Another run would not be like the others.
    Because(&'static str),
}

/// The state of a session of whole runs.
struct Runs<'a, F> {
    session: &'a mut Session,
    limit: Option<u32>,
    run: F,
    done: u32,
    block: u64,
    last: Option<End>,
}

/// Runs the program until the verdict is clear or as often as wanted; the last end, and how many
/// runs there were. `run` makes one run and says whether another can be made.
///
/// # Errors
/// If the program could not be run.
pub fn run_all<F>(
    session: &mut Session,
    limit: Option<u32>,
    run: F,
) -> anyhow::Result<(Option<End>, u32)>
where
    F: FnMut(&mut Session, WholeRun) -> anyhow::Result<(End, Result<(), &'static str>)>,
{
    let mut runs = Runs {
        session,
        limit,
        run,
        done: 0,
        block: 0,
        last: None,
    };
    let stop = runs.all()?;
    if let Stop::Because(cause) = stop {
        runs.session.doubts.insert(Doubt::NotRepeated { cause });
    }
    Ok((runs.last, runs.done))
}

impl<F> Runs<'_, F>
where
    F: FnMut(&mut Session, WholeRun) -> anyhow::Result<(End, Result<(), &'static str>)>,
{
    fn all(&mut self) -> anyhow::Result<Stop> {
        if self.session.plan.fixed_lines.is_empty() {
            for _ in 0..MOST_SURVEYS {
                if let Err(stop) = self.one(WholeRun::default())? {
                    return Ok(stop);
                }
                if self.session.tally.in_scope() >= SAMPLES {
                    break;
                }
            }
        }
        loop {
            let left = self.limit.unwrap_or(MOST_RUNS).saturating_sub(self.done);
            let time = self.session.plan.until;
            if left < 2 || time.is_some_and(|until| crate::clock::now() >= until) {
                return Ok(Stop::Enough);
            }
            let Some((line, candidate)) = self.choose() else {
                return Ok(Stop::Enough);
            };
            if let Err(stop) = self.block(line, &candidate, left)? {
                return Ok(stop);
            }
            let forever = self.limit.is_none() && time.is_none();
            if forever && is_clear(&analyse(self.session.log.records())) {
                return Ok(Stop::Enough);
            }
        }
    }

    fn choose(&mut self) -> Option<(String, Candidate)> {
        let session = &mut *self.session;
        let fixed = &session.plan.fixed_lines;
        if !fixed.is_empty() {
            let chosen = session.chooser.any_of(fixed.len())?;
            let location = fixed.get(chosen)?.clone();
            let known = session.tally.at(&location).map(|line| line.candidate(1.0));
            let candidate = known.unwrap_or(Candidate {
                samples: 1,
                tried: [0; LEVELS],
                limit: LEVELS,
                open: 1.0,
                knee: None,
            });
            return Some((location, candidate));
        }
        let all: Vec<(LineNumber, Candidate)> = session.tally.all();
        let candidates: Vec<Candidate> = all.iter().map(|(_, line)| line.clone()).collect();
        let (number, candidate) = all.get(session.chooser.line(&candidates)?)?;
        let location = session.tally.line(*number)?.location.clone();
        Some((location, candidate.clone()))
    }

    /// One block: two or three runs with one line.
    fn block(
        &mut self,
        location: String,
        candidate: &Candidate,
        left: u32,
    ) -> anyhow::Result<Result<(), Stop>> {
        let speedup = self.session.chooser.speedup(candidate);
        let order = match self.session.chooser.order() {
            Order::Between if left < 3 => Order::BaselineFirst,
            order => order,
        };
        self.block += 1;
        let mut records = Vec::new();
        for at_speedup in order.windows() {
            let wanted = WholeRun {
                line: Some(location.clone()),
                speedup: if *at_speedup { speedup } else { 0.0 },
                padding: self.session.chooser.padding(),
            };
            let at = wanted.speedup;
            let measured = match self.one(wanted)? {
                Ok(measured) => measured,
                Err(stop) => return Ok(Err(stop)),
            };
            let Some(after) = measured.selected_after else {
                return Ok(Err(Stop::Because("no process of it had the selected line")));
            };
            if after as f64 > LATE * measured.wall as f64 {
                let percent = (after * 100 / measured.wall.max(1)).min(100);
                let percent = u32::try_from(percent).unwrap_or(100);
                self.session.doubts.insert(Doubt::LateSelection { percent });
            }
            records.extend(self.records(&location, at, measured));
        }
        self.session.log.append(&records);
        self.session.learned.note_experiment();
        let level = (speedup * 100.0 / f64::from(STEP)).round() as usize;
        if let Some(line) = self.session.tally.at(&location)
            && (1..=LEVELS).contains(&level)
        {
            line.tried[level - 1] += 1;
        }
        self.session.think();
        Ok(Ok(()))
    }

    /// One run, unless it was one too many.
    fn one(&mut self, wanted: WholeRun) -> anyhow::Result<Result<RunMeasured, Stop>> {
        if self.limit.is_some_and(|limit| self.done >= limit) {
            return Ok(Err(Stop::Enough));
        }
        let (end, again) = (self.run)(self.session, wanted)?;
        self.done += 1;
        let measured = end.whole.unwrap_or_default();
        let interrupted = end.interrupted;
        self.last = Some(end);
        Ok(match again {
            _ if interrupted => Err(Stop::Enough),
            // The last run that was wanted needs no other.
            Err(_) if self.limit == Some(self.done) => Ok(measured),
            Err(cause) => Err(Stop::Because(cause)),
            Ok(()) => Ok(measured),
        })
    }

    fn records(&self, location: &str, speedup: f64, measured: RunMeasured) -> [Record; 2] {
        [
            Record::Experiment(Experiment {
                selected: location.to_owned(),
                speedup,
                duration: measured.duration,
                selected_samples: measured.hits,
                block: Some(self.block),
                wall: Some(measured.wall),
                start: Some(0),
                samples: Some(measured.samples),
                layout: measured.layout,
                edges: vec![PointEdges {
                    name: WHOLE_RUN.to_owned(),
                    visits: 1,
                    duration: measured.duration,
                    wall: measured.wall,
                }],
                ..Experiment::default()
            }),
            Record::ThroughputPoint {
                name: WHOLE_RUN.to_owned(),
                delta: 1,
            },
        ]
    }
}

/// Whether every line that may matter has its verdict.
fn is_clear(analysis: &Analysis) -> bool {
    let Some(point) = analysis.points.iter().find(|point| point.name == WHOLE_RUN) else {
        return false;
    };
    let matters = |line: &&LineEstimate| line.sample_share >= SMALL || line.samples == 0;
    let untried = analysis.untried.iter();
    let decided = |line: &LineEstimate| !matches!(line.verdict, Verdict::Undecided { .. });
    !point.lines.is_empty()
        && point.lines.iter().filter(matters).all(decided)
        && !untried.into_iter().any(|line| line.sample_share >= SMALL)
}
