//! One curve through the levels of a line: a slope, then a knee.
//!
//! Making a line faster helps until something else holds the program up, so the program speedup
//! grows in proportion to the line's and then stays: g(s) = a·min(s, k). If the levels contradict
//! that (a line whose speedup brings contention), a second slope after the knee is fitted too.
//! Least squares over the levels, weighted by their variances; in profiles without blocks the
//! levels share a baseline and so an error. Where the knee is, the levels say only roughly: the
//! curve is the mean over all knees, each weighted by how well it fits, and its interval contains
//! that doubt.
//! To the noise comes what the mechanism itself may be off by (module `allowance`).

use serde::Serialize;

use super::allowance::widened;
use super::distributions::{t_95, two_sided};

/// Knees are tried in steps of this many parts of 1.
const KNEES: usize = 20;
/// The curve is given at these steps.
pub(super) const STEP: f64 = 0.05;
/// A slope after the knee is believed when levels without one would be this improbable.
const SECOND_SLOPE: f64 = 0.005;

/// One level as the fit sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Weighted {
    pub speedup: f64,
    /// ln(period(s)/period(0)).
    pub log_ratio: f64,
    /// Its variance without that of a shared baseline.
    pub variance: f64,
}

/// A place on the curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The virtual speedup of the line, 0..=1.
    pub speedup: f64,
    /// The program speedup.
    pub gain: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
}

/// A slope, then a knee.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// Program speedup per speedup of the line, before the knee.
    pub slope: f64,
    /// The speedup of the line at the knee; nothing if the levels show none.
    pub knee: Option<f64>,
    /// Where the knee may be (95 %).
    pub knee_low: f64,
    /// Where the knee may be (95 %).
    pub knee_high: f64,
    /// The curve from 0 to the largest speedup tried, in steps of 5 %.
    pub points: Vec<CurvePoint>,
    /// Probability of effects so large, in either direction, if the line has none.
    #[serde(skip)]
    pub(super) p_value: f64,
    /// Whether the effect that `p_value` is about is a gain.
    #[serde(skip)]
    pub(super) rises: bool,
}

impl Curve {
    /// The curve at a speedup; nothing beyond the largest speedup tried.
    #[must_use]
    pub fn at(&self, speedup: f64) -> Option<CurvePoint> {
        let near = |point: &&CurvePoint| (point.speedup - speedup).abs() < 1e-6;
        if let Some(point) = self.points.iter().find(near) {
            return Some(*point);
        }
        let after = self
            .points
            .iter()
            .position(|point| point.speedup > speedup)?;
        let (left, right) = (self.points.get(after.checked_sub(1)?)?, &self.points[after]);
        let part = (speedup - left.speedup) / (right.speedup - left.speedup);
        let between = |a: f64, b: f64| a + (b - a) * part;
        Some(CurvePoint {
            speedup,
            gain: between(left.gain, right.gain),
            low: between(left.low, right.low),
            high: between(left.high, right.high),
        })
    }
}

/// The levels as gains with the inverse of their covariance.
struct Problem {
    speedups: Vec<f64>,
    gains: Vec<f64>,
    weights: Vec<f64>,
    /// What one unit of the shared baseline's error does to each gain,
    shared: Vec<f64>,
    /// and the factor of the Sherman-Morrison formula, 0 without a shared baseline.
    factor: f64,
}

impl Problem {
    fn new(levels: &[Weighted], shared: f64, expected: impl Fn(f64) -> f64) -> Problem {
        // d gain/d log ratio = −(1 − gain); from the fit before, as the weights must not depend
        // on the noise of the levels themselves.
        let scale: Vec<f64> = levels
            .iter()
            .map(|level| (1.0 - expected(level.speedup)).max(0.05))
            .collect();
        let weights: Vec<f64> = levels
            .iter()
            .zip(&scale)
            .map(|(level, scale)| 1.0 / (level.variance * scale * scale).max(1e-12))
            .collect();
        // The mean of exp(noise) is exp(variance/2).
        let gain = |level: &Weighted| {
            1.0 - (level.log_ratio - ((level.variance + shared) / 2.0).min(0.5)).exp()
        };
        let spread: f64 = weights
            .iter()
            .zip(&scale)
            .map(|(weight, scale)| weight * scale * scale)
            .sum();
        Problem {
            speedups: levels.iter().map(|level| level.speedup).collect(),
            gains: levels.iter().map(gain).collect(),
            weights,
            shared: scale,
            factor: shared / (1.0 + shared * spread),
        }
    }

    /// xᵀ V⁻¹ y.
    fn product(&self, x: &[f64], y: &[f64]) -> f64 {
        let mut direct = 0.0;
        let (mut along_x, mut along_y) = (0.0, 0.0);
        for (i, weight) in self.weights.iter().enumerate() {
            direct += weight * x[i] * y[i];
            along_x += weight * self.shared[i] * x[i];
            along_y += weight * self.shared[i] * y[i];
        }
        direct - self.factor * along_x * along_y
    }
}

/// A fit with one knee: coefficients of `min(s, k)` and `max(0, s − k)`.
struct Fit {
    knee: f64,
    slopes: [f64; 2],
    covariance: [[f64; 2]; 2],
    misfit: f64,
}

impl Fit {
    fn basis(knee: f64, speedup: f64) -> [f64; 2] {
        [speedup.min(knee), (speedup - knee).max(0.0)]
    }

    fn at(&self, speedup: f64) -> (f64, f64) {
        let basis = Fit::basis(self.knee, speedup);
        let mean = self.slopes[0] * basis[0] + self.slopes[1] * basis[1];
        let variance = (0..2)
            .flat_map(|i| (0..2).map(move |j| (i, j)))
            .map(|(i, j)| basis[i] * self.covariance[i][j] * basis[j])
            .sum::<f64>();
        (mean, variance.max(0.0))
    }

    fn one_slope(problem: &Problem, knee: f64) -> Option<Fit> {
        let basis: Vec<f64> = problem.speedups.iter().map(|s| s.min(knee)).collect();
        let norm = problem.product(&basis, &basis);
        let slope = problem.product(&basis, &problem.gains) / norm;
        let all = problem.product(&problem.gains, &problem.gains);
        (norm > 0.0 && slope.is_finite()).then(|| Fit {
            knee,
            slopes: [slope, 0.0],
            covariance: [[1.0 / norm, 0.0], [0.0, 0.0]],
            misfit: (all - slope * slope * norm).max(0.0),
        })
    }

    fn two_slopes(problem: &Problem, knee: f64) -> Option<Fit> {
        let bases: Vec<[f64; 2]> = problem
            .speedups
            .iter()
            .map(|s| Fit::basis(knee, *s))
            .collect();
        let [first, second] = [0, 1].map(|i| bases.iter().map(|b| b[i]).collect::<Vec<f64>>());
        let (a, b, c) = (
            problem.product(&first, &first),
            problem.product(&first, &second),
            problem.product(&second, &second),
        );
        let determinant = a * c - b * b;
        if determinant <= 1e-9 * a * c {
            return None;
        }
        let (x, y) = (
            problem.product(&first, &problem.gains),
            problem.product(&second, &problem.gains),
        );
        let covariance = [
            [c / determinant, -b / determinant],
            [-b / determinant, a / determinant],
        ];
        let slopes = [
            covariance[0][0] * x + covariance[0][1] * y,
            covariance[1][0] * x + covariance[1][1] * y,
        ];
        let all = problem.product(&problem.gains, &problem.gains);
        Some(Fit {
            knee,
            slopes,
            covariance,
            misfit: (all - slopes[0] * x - slopes[1] * y).max(0.0),
        })
    }
}

/// Fits the curve; `shared` is the variance of a baseline that all levels share, `freedom` the
/// degrees of freedom of the variances. Nothing if no level has a variance.
pub(super) fn fit(levels: &[Weighted], shared: f64, freedom: f64) -> Option<Curve> {
    let levels: Vec<Weighted> = levels
        .iter()
        .copied()
        .filter(|level| level.speedup > 0.0 && level.variance.is_finite())
        .collect();
    let (first, last) = (levels.first()?.speedup, levels.last()?.speedup);
    let mut problem = Problem::new(&levels, shared, |_| 0.0);
    let mut fits = Vec::new();
    for _ in 0..2 {
        fits = all_knees(&problem, first, last, freedom);
        if fits.is_empty() {
            return None;
        }
        problem = Problem::new(&levels, shared, |speedup| mean(&fits, speedup).0);
    }
    let fits = with_second_slope(&problem, fits, first, last, freedom);
    Some(describe(&problem, &fits, last, freedom))
}

/// Fits with one slope at every knee, each with its weight.
fn all_knees(problem: &Problem, first: f64, last: f64, freedom: f64) -> Vec<(f64, Fit)> {
    let fits = knees(first, last).filter_map(|knee| Fit::one_slope(problem, knee));
    weigh(fits.collect(), freedom)
}

/// Knees that the levels can tell apart: not before the first level, the last one meaning none.
fn knees(first: f64, last: f64) -> impl Iterator<Item = f64> {
    let steps = (1..KNEES).map(|step| step as f64 / KNEES as f64);
    steps
        .filter(move |knee| *knee > first - 1e-9 && *knee < last - 1e-9)
        .chain([last])
}

fn weigh(fits: Vec<Fit>, freedom: f64) -> Vec<(f64, Fit)> {
    let least = fits
        .iter()
        .map(|fit| fit.misfit)
        .fold(f64::INFINITY, f64::min);
    // The likelihood of Student's t, as the variances are estimates themselves.
    let likelihood = |misfit: f64| {
        if freedom > 1e5 {
            (-(misfit - least) / 2.0).exp()
        } else {
            ((freedom + least) / (freedom + misfit)).powf(freedom.midpoint(1.0))
        }
    };
    let total: f64 = fits.iter().map(|fit| likelihood(fit.misfit)).sum();
    fits.into_iter()
        .map(|fit| (likelihood(fit.misfit) / total, fit))
        .collect()
}

/// Adds a slope after the knee if the levels cannot be understood without it, and widens the
/// intervals if not even with it.
fn with_second_slope(
    problem: &Problem,
    fits: Vec<(f64, Fit)>,
    first: f64,
    last: f64,
    freedom: f64,
) -> Vec<(f64, Fit)> {
    let count = problem.speedups.len();
    let least = |fits: &[(f64, Fit)]| {
        let misfits = fits.iter().map(|(_, fit)| fit.misfit);
        misfits.fold(f64::INFINITY, f64::min)
    };
    let mut fits = fits;
    let mut left = count.saturating_sub(2);
    if count >= 4 {
        // One level beside the knee would be believed whatever it says: two are asked for.
        let both_sides = |knee: &f64| {
            let before = problem
                .speedups
                .partition_point(|speedup| *speedup <= knee + 1e-9);
            before >= 1 && count - before >= 2
        };
        let two = knees(first, last)
            .filter(both_sides)
            .filter_map(|knee| Fit::two_slopes(problem, knee));
        let two = weigh(two.collect(), freedom);
        let better = least(&fits) - least(&two);
        if !two.is_empty() && two_sided(better.max(0.0).sqrt(), freedom) < SECOND_SLOPE {
            fits = two;
            left = count - 3;
        }
    }
    if left > 0 {
        let widen = (least(&fits) / left as f64).max(1.0);
        // Mean misfit is 1; what lies within its own noise is no reason to widen.
        let widen = if widen > 1.0 + 2.0 * (2.0 / left as f64).sqrt() {
            widen
        } else {
            1.0
        };
        for (_, fit) in &mut fits {
            for row in &mut fit.covariance {
                row.iter_mut().for_each(|value| *value *= widen);
            }
        }
    }
    fits
}

/// Mean and variance over the knees.
fn mean(fits: &[(f64, Fit)], speedup: f64) -> (f64, f64) {
    let at: Vec<(f64, f64, f64)> = fits
        .iter()
        .map(|(weight, fit)| {
            let (mean, variance) = fit.at(speedup);
            (*weight, mean, variance)
        })
        .collect();
    let mean: f64 = at.iter().map(|(weight, mean, _)| weight * mean).sum();
    let variance = at
        .iter()
        .map(|(weight, one, variance)| weight * (variance + (one - mean).powi(2)))
        .sum();
    (mean, variance)
}

fn describe(problem: &Problem, fits: &[(f64, Fit)], last: f64, freedom: f64) -> Curve {
    let t = t_95(freedom);
    let mut speedups: Vec<f64> = (0..=KNEES).map(|step| step as f64 * STEP).collect();
    speedups.retain(|speedup| *speedup < last - 1e-9);
    speedups.push(last);
    let points = speedups.into_iter().map(|speedup| {
        let (gain, variance) = mean(fits, speedup);
        let reach = if speedup > 0.0 {
            widened(t * variance.sqrt(), speedup, gain)
        } else {
            0.0
        };
        // Nothing becomes faster than no time at all.
        CurvePoint {
            speedup,
            gain: gain.min(1.0),
            low: (gain - reach).min(1.0),
            high: (gain + reach).min(1.0),
        }
    });
    let points = points.collect();
    let below = |part: f64| {
        let mut sum = 0.0;
        let found = fits.iter().find(|(weight, _)| {
            sum += weight;
            sum >= part - 1e-9
        });
        found.map_or(last, |(_, fit)| fit.knee)
    };
    // A knee is one if the levels would be ill understood without.
    let (knee_low, knee_high) = (below(0.025), below(0.975));
    let knee = (knee_high < last - 1e-9).then(|| below(0.5));
    let slope = fits
        .iter()
        .map(|(weight, fit)| weight * fit.slopes[0])
        .sum();
    // Against "no effect at all": one number, whose shape lies between a line and a plateau, so
    // that no choice of knee has to be paid for. It has 96 % of the power of the true shape.
    let shape: Vec<f64> = problem.speedups.iter().map(|s| s.min(0.5)).collect();
    let along = problem.product(&shape, &problem.gains);
    let size = along / problem.product(&shape, &shape).sqrt();
    Curve {
        slope,
        knee,
        knee_low,
        knee_high,
        points,
        p_value: two_sided(size, freedom),
        rises: along > 0.0,
    }
}
