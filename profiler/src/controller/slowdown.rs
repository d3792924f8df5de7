//! Whether work comes by the clock: some blocks slow all threads down alike and speed up no line.
//!
//! Virtual time holds only while every source of work is paused too. In such a block's second kind
//! of window G grows without a hit. If all work comes from inside, visits per virtual time stay
//! what they were; what another process or a timer sends keeps its pace in wall time. The estimates
//! decide; this only measures, and only programs that have time to wait for work.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use coz_rs_plot::record::{Record, SlowdownPoint};

use super::block::Block;
use crate::experiments::window::{Measured, Stretch};
use crate::targets::shared_region::PointKind;
use crate::targets::target::{Point, Target};

/// Part of the wall time that is pauses while all threads are slowed down: enough to be seen in a
/// few windows, and less than a virtual speedup of 50 % of a busy line brings.
const PART: f64 = 0.25;
/// Longest wait between two additions to G, ns: pauses come in small portions.
pub(super) const STEP: u64 = 4_000_000;
/// Blocks of this kind a program,
const WANTED: u32 = 6;
/// one in so many.
const EVERY: u32 = 3;
/// with windows so much longer than others, as the answer decides about all of them.
pub(super) const LONGER: u64 = 2;
/// A program that uses more of the processors it could use does not wait for work;
const BUSY: f64 = 0.95;
/// nor does one with more threads than processors, which wait for each other's processor and so
/// for pauses too, that uses more than this.
const CROWDED: f64 = 0.6;
/// Visits that a stretch must have to count.
const VISITS: u64 = 5;

/// What was done so far, by executable.
#[derive(Debug, Clone, Default)]
pub struct Slowdowns {
    programs: HashMap<PathBuf, Progress>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    done: u32,
    blocks: u32,
    /// CPU time per wall time in baseline windows, running mean.
    load: Option<f64>,
    /// Processors that its threads could use.
    usable: f64,
    crowded: bool,
}

impl Slowdowns {
    /// Notes a completed block: CPU time per wall time in its baseline windows, how many threads
    /// were busy, and whether it was a slowdown.
    pub(super) fn note(&mut self, program: &Path, load: f64, busy: usize, slowed: bool) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let progress = self.programs.entry(program.to_owned()).or_default();
        progress.blocks += 1;
        progress.done += u32::from(slowed);
        progress.load = Some(progress.load.map_or(load, |mean| mean * 0.7 + load * 0.3));
        progress.usable = busy.clamp(1, processors) as f64;
        progress.crowded = busy > processors;
    }

    /// Whether the next block of the program should be one.
    pub(super) fn wanted(&self, program: &Path) -> bool {
        let Some(progress) = self.programs.get(program) else {
            return false;
        };
        let limit = if progress.crowded { CROWDED } else { BUSY };
        let waits = (progress.load).is_some_and(|load| load < limit * progress.usable);
        waits && progress.done < WANTED && progress.blocks > EVERY * progress.done
    }
}

/// G's growth under way in a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slowing {
    /// Up to when G has grown.
    pub since: u64,
}

impl Slowing {
    /// Lets G grow up to `time`.
    pub fn go_on(&mut self, target: &Target, time: u64) {
        let passed = time.saturating_sub(self.since);
        target.region.slow_down((passed as f64 * PART) as u64);
        self.since = time;
    }
}

/// The record of a completed block.
pub(super) fn record(block: &Block, target: &Target) -> Record {
    let windows = |slowed: bool| {
        let all = block.order().windows().iter().zip(block.measured());
        all.filter(move |(at, _)| **at == slowed)
            .map(|(_, measured)| measured)
    };
    let compare = |index: usize, name: &str, latency: bool| {
        let plain = sum(windows(false), index)?;
        let slowed = sum(windows(true), index)?;
        Some(SlowdownPoint {
            name: name.to_owned(),
            latency,
            plain: plain.duration as f64 / plain.visits as f64,
            slowed: slowed.duration as f64 / slowed.visits as f64,
            paused: 1.0 - slowed.duration as f64 / slowed.wall as f64,
        })
    };
    let one = |(index, point): (usize, &Point)| match point.kind {
        PointKind::Throughput => compare(index, &point.name, false),
        PointKind::Begin => compare(index, &point.name, true),
        PointKind::End => None,
    };
    Record::Slowdown {
        points: target.points.iter().enumerate().filter_map(one).collect(),
    }
}

/// The stretches of a point in several windows together.
fn sum<'a>(windows: impl Iterator<Item = &'a Measured>, point: usize) -> Option<Stretch> {
    let mut sum = Stretch {
        visits: 0,
        duration: 0,
        wall: 0,
    };
    for window in windows {
        let stretch = (*window.stretches.get(point)?)?;
        sum.visits += stretch.visits;
        sum.duration += stretch.duration;
        sum.wall += stretch.wall;
    }
    (sum.visits >= VISITS && sum.wall > 0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_that_wait_are_slowed_down_and_not_often() {
        let program = Path::new("/bin/app");
        let mut slowdowns = Slowdowns::default();
        assert!(!slowdowns.wanted(program));
        slowdowns.note(program, 1.0, 1, false);
        assert!(!slowdowns.wanted(program), "busy all the time");
        let mut slowdowns = Slowdowns::default();
        let mut slowed = 0;
        for _ in 0..100 {
            let now = slowdowns.wanted(program);
            slowed += u32::from(now);
            slowdowns.note(program, 0.4, 1, now);
        }
        assert_eq!(slowed, WANTED);
    }

    #[test]
    fn a_program_with_more_threads_than_processors_must_idle_more() {
        let program = Path::new("/bin/app");
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        for (load, wanted) in [(0.8, false), (0.5, true)] {
            let mut slowdowns = Slowdowns::default();
            slowdowns.note(program, load * processors as f64, processors + 1, false);
            assert_eq!(slowdowns.wanted(program), wanted);
        }
    }
}
