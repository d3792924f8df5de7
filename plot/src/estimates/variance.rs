//! The variance of one paired block at each level of each line, when levels have few blocks.
//!
//! Two or three blocks tell little about their own variance: an interval by Student's t on them
//! alone is four to thirteen standard errors wide. But a profile has many levels, and what makes a
//! window noisy (the machine, the scheduler, the length of a window) is much the same for all of
//! them. So each variance is drawn towards a common one, as far as the levels are alike:
//! s̃² = (d0·s0² + d·s²)/(d0 + d), with t on d0 + d degrees of freedom (G. K. Smyth, "Linear models
//! and empirical Bayes methods for assessing differential expression in microarray experiments",
//! Statistical Applications in Genetics and Molecular Biology 3:3, 2004). s0² and d0 are those that
//! make the observed s²/s0² ~ F(d, d0) most likely, so levels that differ widely (d0 small) are
//! left alone and levels that agree (d0 infinite) share one variance.

use super::distributions::ln_gamma;

/// What a level's own blocks say of its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Observed {
    /// Sum of squared deviations.
    pub squares: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

/// The common variance and how far to trust it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Common {
    /// s0²; not a number if there was nothing to learn it from.
    pub variance: f64,
    /// d0.
    pub freedom: f64,
    /// Degrees of freedom that both were learned from: no interval can claim more.
    pub limit: f64,
}

/// A variance with its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Variance {
    pub value: f64,
    pub freedom: f64,
}

/// Candidates for d0.
const FREEDOMS: [f64; 9] = [1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, f64::INFINITY];

impl Common {
    /// Learns the common variance from all levels.
    pub fn learn(levels: &[Observed]) -> Common {
        let known: Vec<Observed> = levels
            .iter()
            .copied()
            .filter(|level| level.freedom > 0.0 && level.squares.is_finite())
            .collect();
        let limit: f64 = known.iter().map(|level| level.freedom).sum();
        let squares: f64 = known.iter().map(|level| level.squares).sum();
        let mean = squares / limit;
        let nothing = Common {
            variance: mean,
            freedom: 0.0,
            limit,
        };
        // One level is its own common variance; without noise there is nothing to weigh.
        if known.len() < 2 || mean <= 0.0 || !mean.is_finite() {
            return nothing;
        }
        let mut best = (f64::NEG_INFINITY, nothing);
        for freedom in FREEDOMS {
            let variance = likeliest(&known, mean, freedom);
            let likelihood = likelihood(&known, variance, freedom);
            // From the heaviest tails on: lighter ones must be better, not just as good.
            if likelihood > best.0 + 1e-9 {
                best = (
                    likelihood,
                    Common {
                        variance,
                        freedom,
                        limit,
                    },
                );
            }
        }
        best.1
    }

    /// A level's variance, drawn towards the common one.
    pub fn moderate(&self, level: Observed) -> Variance {
        let own = level.freedom.max(0.0);
        let squares = if own > 0.0 { level.squares } else { 0.0 };
        let value = if self.freedom.is_infinite() {
            self.variance
        } else if self.freedom + own > 0.0 {
            // Without a common variance its weight is 0, and so must be its part.
            let common = if self.freedom > 0.0 {
                self.freedom * self.variance
            } else {
                0.0
            };
            (common + squares) / (self.freedom + own)
        } else {
            f64::NAN
        };
        Variance {
            value,
            freedom: (self.freedom + own).min(self.limit),
        }
    }
}

/// Variances of lines and of their levels.
///
/// Noise differs between lines (how much they are paused) and, less, between the levels of one. So
/// the variance of a line, from all its levels, is drawn towards that of all lines, and the
/// variance of a level towards its line's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shared {
    lines: Common,
    /// Of variances of levels in units of their line's.
    levels: Common,
}

impl Shared {
    /// Learns from the levels of each line.
    pub fn learn(lines: &[Vec<Observed>]) -> Shared {
        let of_lines: Vec<Observed> = lines.iter().map(|levels| sum(levels)).collect();
        let lines_common = Common::learn(&of_lines);
        let relative = lines.iter().zip(&of_lines).flat_map(|(levels, line)| {
            let variance = lines_common.moderate(*line).value;
            levels.iter().map(move |level| Observed {
                squares: level.squares / variance,
                freedom: level.freedom,
            })
        });
        Shared {
            lines: lines_common,
            levels: Common::learn(&relative.collect::<Vec<_>>()),
        }
    }

    /// The variance of a line.
    pub fn line(&self, levels: &[Observed]) -> Variance {
        self.lines.moderate(sum(levels))
    }

    /// The variance of one level of it.
    pub fn level(&self, line: Variance, level: Observed) -> Variance {
        let alike = self.levels.freedom.is_infinite() || self.levels.freedom <= 0.0;
        if alike || line.freedom <= 0.0 {
            return line;
        }
        let prior = Common {
            variance: line.value * self.levels.variance,
            // What the line says of the level is no surer than the line's own variance.
            freedom: 1.0 / (1.0 / self.levels.freedom + 1.0 / line.freedom),
            limit: f64::INFINITY,
        };
        prior.moderate(level)
    }
}

fn sum(levels: &[Observed]) -> Observed {
    let known = || levels.iter().filter(|level| level.freedom > 0.0);
    Observed {
        squares: known().map(|level| level.squares).sum(),
        freedom: known().map(|level| level.freedom).sum(),
    }
}

/// ln of the density of s² when s²/s0² ~ F(d, d0), without what does not depend on s0² and d0.
fn likelihood(levels: &[Observed], variance: f64, freedom: f64) -> f64 {
    levels
        .iter()
        .map(|level| {
            let half = level.freedom / 2.0;
            // d·s²/s0², kept off zero: equal log ratios are rounding, not certainty.
            let x = (level.squares / variance).max(1e-6);
            if freedom.is_infinite() {
                return half * x.ln() - x / 2.0 - half * 2.0_f64.ln() - ln_gamma(half);
            }
            let prior = freedom / 2.0;
            ln_gamma(half + prior) - ln_gamma(half) - ln_gamma(prior) + half * (x / freedom).ln()
                - (half + prior) * (x / freedom).ln_1p()
        })
        .sum()
}

/// The s0² that makes the observed most likely for a given d0: the fixed point of
/// s0² = Σ w·S / Σ d with w = (d + d0)/(d0 + S/s0²), the weights of a t distribution.
fn likeliest(levels: &[Observed], mean: f64, freedom: f64) -> f64 {
    if freedom.is_infinite() {
        return mean;
    }
    let total: f64 = levels.iter().map(|level| level.freedom).sum();
    let mut variance = mean;
    for _ in 0..60 {
        let weighted: f64 = levels
            .iter()
            .map(|level| {
                let weight = (level.freedom + freedom) / (freedom + level.squares / variance);
                weight * level.squares
            })
            .sum();
        let next = weighted / total;
        if next <= 0.0 || !next.is_finite() {
            return variance;
        }
        let done = (next / variance - 1.0).abs() < 1e-4;
        variance = next;
        if done {
            break;
        }
    }
    variance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(squares: f64, freedom: f64) -> Observed {
        Observed { squares, freedom }
    }

    #[test]
    fn levels_that_agree_share_their_variance() {
        let levels: Vec<Observed> = (1..40)
            .map(|i| level(0.9 + 0.005 * f64::from(i), 1.0))
            .collect();
        let common = Common::learn(&levels);
        assert_eq!(common.freedom, f64::INFINITY);
        let moderated = common.moderate(level(0.0, 0.0));
        assert!((moderated.value - 1.0).abs() < 0.01 && moderated.freedom == 39.0);
    }

    #[test]
    fn levels_that_differ_are_left_alone() {
        let levels: Vec<Observed> = (0..20)
            .map(|i| level(10f64.powi(i % 5) * 9.0, 9.0))
            .collect();
        let common = Common::learn(&levels);
        assert!(common.freedom <= 2.0, "{common:?}");
        let loud = common.moderate(level(9e4, 9.0));
        let quiet = common.moderate(level(9.0, 9.0));
        assert!(loud.value > 5e3 && quiet.value < 50.0, "{loud:?} {quiet:?}");
    }

    #[test]
    fn one_level_has_the_plain_variance_and_no_level_has_none() {
        let common = Common::learn(&[level(8.0, 4.0), level(0.0, 0.0)]);
        assert_eq!(
            common.moderate(level(8.0, 4.0)),
            Variance {
                value: 2.0,
                freedom: 4.0
            }
        );
        assert!(Common::learn(&[]).moderate(level(0.0, 0.0)).value.is_nan());
    }
}
