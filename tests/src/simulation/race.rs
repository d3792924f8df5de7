//! How soon each scheme names the right top line of a simulated program and knows it to ±3 points.

use coz_rs_plot::estimates::PointAnalysis;

use super::coz_scheme::{CozSession, Curve};
use super::engine::Noise;
use super::program::Program;
use super::session::{Session, location};
use super::truth::gains;

/// The speedup at which the top line is to be known.
pub const AT: f64 = 0.5;
/// How well, as a program speedup.
pub const CLOSE: f64 = 0.03;

/// The top line, and what it gains at [`AT`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Top {
    /// The line.
    pub line: usize,
    /// Its program speedup.
    pub gain: f64,
}

/// The line that really gains most when it is made as fast as can be.
#[must_use]
pub fn top(program: &Program) -> Top {
    let truths = gains(program, &[AT, 0.95]);
    let best = (0..truths.len()).max_by(|a, b| truths[*a][1].total_cmp(&truths[*b][1]));
    let line = best.unwrap_or(0);
    Top {
        line,
        gain: truths[line][0],
    }
}

/// Seconds after which the answer was right and stayed so until the horizon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settled {
    /// Until the right line is named.
    pub named: Option<f64>,
    /// Until it is also known to ±3 points.
    pub known: Option<f64>,
}

/// Follows answers in order of time.
#[derive(Debug, Default)]
struct Follower {
    named: Option<f64>,
    known: Option<f64>,
}

impl Follower {
    fn take(&mut self, seconds: f64, named: bool, known: bool) {
        let follow = |since: &mut Option<f64>, holds: bool| {
            if holds {
                since.get_or_insert(seconds);
            } else {
                *since = None;
            }
        };
        follow(&mut self.named, named);
        follow(&mut self.known, named && known);
    }

    fn settled(&self) -> Settled {
        Settled {
            named: self.named,
            known: self.known,
        }
    }
}

/// Ours: the first line of the ranking, and its fitted curve.
#[must_use]
pub fn ours(program: &Program, noise: Noise, top: Top, seed: u64, horizon: f64) -> Settled {
    let mut session = Session::new(program, noise, seed);
    let mut follower = Follower::default();
    let mut seconds = 0.0;
    while seconds < horizon {
        seconds += 1.0;
        session.run_until(seconds);
        let analysis = session.analysis();
        let answer = analysis.points.first().and_then(first_of);
        let named = answer
            .as_ref()
            .is_some_and(|(name, _)| *name == location(top.line));
        let known = answer
            .and_then(|(_, gain)| gain)
            .is_some_and(|gain| (gain - top.gain).abs() <= CLOSE);
        follower.take(session.seconds(), named, known);
    }
    follower.settled()
}

fn first_of(point: &PointAnalysis) -> Option<(String, Option<f64>)> {
    let line = point.lines.first()?;
    Some((line.location.clone(), line.at(AT).map(|at| at.gain)))
}

/// How Coz's curves are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranking {
    /// By the slope of a regression line, as in the paper.
    Slope,
    /// By the largest program speedup, as its viewer can.
    Maximum,
}

/// Coz's scheme: the first line by the ranking, and its levels near the speedup.
#[must_use]
pub fn coz(
    program: &Program,
    noise: Noise,
    top: Top,
    ranking: Ranking,
    seed: u64,
    horizon: f64,
) -> Settled {
    let mut session = CozSession::new(program, noise, seed);
    let mut follower = Follower::default();
    let mut seconds = 0.0;
    while seconds < horizon {
        seconds += 2.0;
        session.run_until(seconds);
        let curves = session.curves();
        let first = first_by(&curves, ranking);
        let named = first.is_some_and(|curve| curve.line == top.line);
        let known = first
            .and_then(|curve| curve.near(AT))
            .is_some_and(|gain| (gain - top.gain).abs() <= CLOSE);
        follower.take(seconds, named, known);
    }
    follower.settled()
}

/// The first curve by a ranking.
#[must_use]
pub fn first_by(curves: &[Curve], ranking: Ranking) -> Option<&Curve> {
    let key = |curve: &Curve| match ranking {
        Ranking::Slope => curve.slope(),
        Ranking::Maximum => curve.maximum(),
    };
    curves.iter().max_by(|a, b| key(a).total_cmp(&key(b)))
}
