//! The truth: what really shortening a line gains.
//!
//! One round runs the program whole and with the line at every share, in random order; each share
//! is compared with the whole run of its round, so that the machine's drift cancels. Rounds are
//! added while the truth's own noise is large. A run during which others used the processors is
//! void and repeated.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::machine::{TOO_MUCH, Watch};
use crate::random::Random;

/// A program speedup with the half width of its 95 % interval.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// 1 − period(shortened)/period(whole).
    pub gain: f64,
    /// Half width of the 95 % interval.
    pub noise: f64,
    /// Pairs it stands on.
    pub pairs: usize,
}

/// How much is done for a truth.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Length of one run, s.
    pub seconds: f64,
    /// Rounds at least.
    pub fewest: usize,
    /// Rounds at most.
    pub most: usize,
    /// Half width that is good enough.
    pub enough: f64,
    /// Runs that may be repeated because others used the processors, of one line.
    pub repeats: usize,
}

/// The truths of one line.
#[derive(Debug, Clone)]
pub struct Truths {
    /// At each speedup asked for.
    pub levels: Vec<Measured>,
    /// Runs that were repeated.
    pub repeated: usize,
    /// Runs that others disturbed and that were kept, as no more could be repeated.
    pub disturbed: usize,
    /// Processors that others kept busy, on average over the runs that were kept.
    pub others: f64,
}

/// Runs the program and reads the rate that it prints: `rate R` (visits per second).
///
/// # Errors
/// If it fails or prints no rate.
pub fn rate(program: &Path, arguments: &[String]) -> Result<f64> {
    let output = Command::new(program).args(arguments).output()?;
    ensure!(
        output.status.success(),
        "{} failed: {}",
        program.display(),
        output.status
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text
        .split_whitespace()
        .skip_while(|word| *word != "rate")
        .skip(1);
    let rate = words
        .next()
        .with_context(|| format!("no rate in {text:?}"))?;
    let rate: f64 = rate.parse().with_context(|| format!("the rate {rate:?}"))?;
    ensure!(
        rate.is_finite() && rate > 0.0,
        "{}: no visits",
        program.display()
    );
    Ok(rate)
}

/// Truths of shortening the line behind `knob` by each of `speedups`.
///
/// # Errors
/// If a run fails.
pub fn truths(
    program: &Path,
    common: &[&str],
    knob: &str,
    speedups: &[f64],
    effort: &Effort,
    random: &mut Random,
) -> Result<Truths> {
    let mut repeated = 0;
    let mut disturbed = 0;
    let mut others = (0.0, 0.0);
    let mut one = |speedup: f64| -> Result<f64> {
        let mut words: Vec<String> = common.iter().map(ToString::to_string).collect();
        words.extend(["--seconds".into(), effort.seconds.to_string()]);
        words.extend([knob.into(), format!("{:.4}", 1.0 - speedup)]);
        loop {
            let watch = Watch::start()?;
            let rate = rate(program, &words)?;
            let now = watch.others()?;
            if now > TOO_MUCH && repeated < effort.repeats {
                repeated += 1;
                continue;
            }
            disturbed += usize::from(now > TOO_MUCH);
            others = (others.0 + now, others.1 + 1.0);
            return Ok(rate);
        }
    };
    let mut ratios = vec![Vec::new(); speedups.len()];
    for round in 0..effort.most {
        let open = |at: usize| {
            let noise = measured(&ratios[at]).noise;
            round < effort.fewest || noise.is_nan() || noise > effort.enough
        };
        let mut order: Vec<Option<usize>> = (0..speedups.len())
            .filter(|at| open(*at))
            .map(Some)
            .collect();
        if order.is_empty() {
            break;
        }
        order.push(None);
        random.shuffle(&mut order);
        let mut whole = None;
        let mut parts = Vec::new();
        for step in order {
            let rate = one(step.map_or(0.0, |at| speedups[at]))?;
            match step {
                Some(at) => parts.push((at, rate)),
                None => whole = Some(rate),
            }
        }
        for (at, part) in parts {
            ratios[at].extend(whole.map(|whole| (whole / part).ln()));
        }
    }
    Ok(Truths {
        levels: ratios.iter().map(|ratios| measured(ratios)).collect(),
        repeated,
        disturbed,
        others: others.0 / others.1,
    })
}

/// The gain from log ratios of periods, shortened over whole.
fn measured(ratios: &[f64]) -> Measured {
    let count = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / count;
    let variance = ratios
        .iter()
        .map(|ratio| (ratio - mean).powi(2))
        .sum::<f64>()
        / (count - 1.0).max(1.0);
    let half = student(ratios.len().saturating_sub(1)) * (variance / count).sqrt();
    Measured {
        gain: 1.0 - mean.exp(),
        noise: half * mean.exp(),
        pairs: ratios.len(),
    }
}

/// Two-sided 95 % quantile of Student's t (any table of it).
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 16] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120,
    ];
    freedom
        .checked_sub(1)
        .map_or(f64::NAN, |at| TABLE.get(at).copied().unwrap_or(2.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truth_is_the_mean_of_its_pairs_with_their_noise() {
        let halved = measured(&[0.5f64.ln(), 0.5f64.ln()]);
        assert!((halved.gain - 0.5).abs() < 1e-12 && halved.noise < 1e-12);
        assert!(measured(&[0.1]).noise.is_nan());
        // Three pairs, standard deviation 0.01: ±4.303·0.01/√3.
        let noisy = measured(&[-0.01, 0.0, 0.01]);
        assert!((noisy.noise - 0.02484).abs() < 1e-4 && noisy.gain.abs() < 1e-12);
    }
}
