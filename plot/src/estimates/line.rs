//! One line: its levels, its curve, and the evidence that the verdict looks at.

use super::allowance::{allowance, widened};
use super::analysis::{Level, LineEstimate};
use super::curve::{self, Curve, CurvePoint, Weighted};
use super::distributions;
use super::tally::Facts;
use super::variance::{Observed, Shared};
use super::verdict::{Evidence, Verdict};
use super::windows::{LevelData, LineData};

fn one(level: &LevelData) -> Observed {
    Observed {
        squares: level.squares,
        freedom: level.freedom,
    }
}

/// What the levels of a line say of the variance. A line with one block a level says it by the
/// differences between neighbouring levels, as its curve is smooth (J. Rice, "Bandwidth choice for
/// nonparametric regression", Annals of Statistics 12, 1984), which errs to the safe side.
pub(super) fn observed(line: &LineData) -> Vec<Observed> {
    let levels = &line.levels;
    if line.baseline.is_some() {
        return levels.iter().chain(&line.baseline).map(one).collect();
    }
    if levels.iter().any(|level| level.freedom > 0.0) || levels.len() < 3 {
        return levels.iter().map(one).collect();
    }
    // Second differences, so that a slope does not count.
    let squares = levels.windows(3).map(|three| {
        let [a, b, c] = three else { return (0.0, 0) };
        let part = (b.speedup - a.speedup) / (c.speedup - a.speedup);
        let bend = b.log_ratio - a.log_ratio * (1.0 - part) - c.log_ratio * part;
        let variance = 1.0 / b.information
            + (1.0 - part).powi(2) / a.information
            + part.powi(2) / c.information;
        (bend * bend / variance, 1)
    });
    let (squares, count) = squares.fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    vec![Observed {
        squares,
        freedom: f64::from(count),
    }]
}

pub(super) fn estimate(
    line: &LineData,
    variances: &Shared,
    facts: &Facts,
) -> (LineEstimate, Evidence) {
    let of_line = variances.line(&observed(line));
    let variance = |level: &LevelData| variances.level(of_line, one(level));
    let shared = line
        .baseline
        .as_ref()
        .map(|level| (variance(level), level.information));
    let shared_variance =
        shared.map_or(0.0, |(variance, information)| variance.value / information);
    let mut levels = Vec::with_capacity(line.levels.len());
    let mut weighted = Vec::with_capacity(line.levels.len());
    for level in &line.levels {
        let own = variance(level);
        let own_variance = own.value / level.information;
        let (half, gain) = (
            half_width(
                own_variance,
                own.freedom,
                shared_variance,
                shared.map(|(v, _)| v.freedom),
            ),
            1.0 - level.log_ratio.exp(),
        );
        let (low, high) = (level.log_ratio + half, level.log_ratio - half);
        let with_allowance = |noise: f64| widened(noise, level.speedup, gain);
        levels.push(Level {
            speedup: level.speedup,
            gain,
            low: gain - with_allowance(gain - (1.0 - low.exp())),
            high: if half.is_finite() {
                (gain + with_allowance(1.0 - high.exp() - gain)).min(1.0)
            } else {
                f64::INFINITY
            },
            pairs: level.pairs,
            each: level.each.iter().map(|ratio| 1.0 - ratio.exp()).collect(),
        });
        weighted.push(Weighted {
            speedup: level.speedup,
            log_ratio: level.log_ratio,
            variance: own_variance,
        });
    }
    let freedom = of_line.freedom;
    let curve = (freedom > 0.0)
        .then(|| curve::fit(&weighted, shared_variance, freedom))
        .flatten();
    let best = curve.as_ref().and_then(best_of);
    let evidence = Evidence {
        gain: best.map_or(0.0, |best| best.gain),
        low: best.map_or(f64::NEG_INFINITY, |best| best.low),
        high: best.map_or(f64::INFINITY, |best| best.high),
        reach: curve.as_ref().map_or(f64::INFINITY, reach),
        p_value: curve.as_ref().map_or(1.0, |curve| curve.p_value),
        rises: curve.as_ref().is_some_and(|curve| curve.rises),
        pairs: line.levels.iter().map(|level| level.pairs).sum(),
        seconds: line.seconds,
        allowance: best.map_or(0.0, |best| allowance(best.speedup, best.gain)),
        strictness: 1.0,
    };
    let estimate = LineEstimate {
        location: facts.location.clone(),
        function: facts.function.clone(),
        samples: facts.samples,
        sample_share: facts.sample_share,
        hit_share: facts.hit_share,
        pairs: evidence.pairs,
        levels,
        curve,
        best,
        verdict: Verdict::Undecided { more_seconds: None },
        p_value: evidence.p_value,
        seconds: line.seconds,
        open: 0.0,
    };
    (estimate, evidence)
}

/// Half the 95 % interval of a log ratio, with the degrees of freedom of a sum of two variances
/// (F. E. Satterthwaite, 1946) if the baseline is shared.
fn half_width(own: f64, own_freedom: f64, shared: f64, shared_freedom: Option<f64>) -> f64 {
    let sum = own + shared;
    if sum.is_nan() {
        return f64::INFINITY;
    }
    let freedom = match shared_freedom {
        Some(shared_freedom) if sum > 0.0 => {
            sum * sum / (own * own / own_freedom + shared * shared / shared_freedom)
        }
        _ => own_freedom,
    };
    if freedom > 0.0 {
        distributions::t_95(freedom) * sum.sqrt()
    } else {
        f64::INFINITY
    }
}

/// The smallest speedup that brings (nearly) all there is to gain, or to lose.
fn best_of(curve: &Curve) -> Option<CurvePoint> {
    let points = || curve.points.iter().filter(|point| point.speedup > 0.0);
    let highest = points().max_by(|a, b| a.gain.total_cmp(&b.gain))?;
    let extreme = if highest.low > 0.0 {
        highest
    } else {
        points().max_by(|a, b| a.gain.abs().total_cmp(&b.gain.abs()))?
    };
    if curve.knee.is_none() {
        return Some(*extreme);
    }
    points()
        .find(|point| {
            point.gain.signum() == extreme.gain.signum()
                && point.gain.abs() >= 0.97 * extreme.gain.abs()
        })
        .copied()
}

fn reach(curve: &Curve) -> f64 {
    let ends = curve
        .points
        .iter()
        .map(|point| point.low.abs().max(point.high.abs()));
    ends.fold(0.0, f64::max)
}
