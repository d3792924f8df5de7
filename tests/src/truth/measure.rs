//! The truth: what really shortening a line gains.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A program speedup with the half width of its 95 % interval.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// 1 − period(shortened)/period(whole).
    pub gain: f64,
    /// Half width of the 95 % interval.
    pub noise: f64,
}

/// Runs the program and reads the rate that it prints: `rate R` (visits per second).
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
    rate.parse().with_context(|| format!("the rate {rate:?}"))
}

/// Truth of shortening by `speedup`: `pairs` interleaved pairs of `seconds` each.
pub fn truth(
    program: &Path,
    common: &[&str],
    knob: &str,
    speedup: f64,
    pairs: usize,
    seconds: f64,
) -> Result<Measured> {
    let arguments = |share: f64| -> Vec<String> {
        let mut words: Vec<String> = common.iter().map(ToString::to_string).collect();
        words.extend([
            "--seconds".into(),
            seconds.to_string(),
            knob.into(),
            share.to_string(),
        ]);
        words
    };
    let mut ratios = Vec::new();
    for pair in 0..pairs {
        let (whole, part) = if pair % 2 == 0 {
            let whole = rate(program, &arguments(1.0))?;
            (whole, rate(program, &arguments(1.0 - speedup))?)
        } else {
            let part = rate(program, &arguments(1.0 - speedup))?;
            (rate(program, &arguments(1.0))?, part)
        };
        ratios.push((whole / part).ln());
    }
    let count = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / count;
    let variance = ratios
        .iter()
        .map(|ratio| (ratio - mean).powi(2))
        .sum::<f64>()
        / (count - 1.0).max(1.0);
    let half = student(ratios.len().saturating_sub(1)) * (variance / count).sqrt();
    Ok(Measured {
        gain: 1.0 - mean.exp(),
        noise: half * mean.exp(),
    })
}

/// Two-sided 95 % quantile of Student's t (any table of it).
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 10] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    ];
    freedom
        .checked_sub(1)
        .map_or(f64::NAN, |at| TABLE.get(at).copied().unwrap_or(2.0))
}
