//! How much of the variation between whole runs comes from where their stacks happened to lie.
//!
//! Runs with the same line and speedup differ by chance and by memory layout. Their residuals (log
//! run time minus the mean of their group) are put into classes of where the stack began in its
//! page; the share is omega squared of a one-way analysis of variance (W. L. Hays, Statistics,
//! 1963), which is 0 on average when layout does not matter.

use std::collections::BTreeMap;

use crate::record::{Experiment, Record};

/// Bytes of a page, and of one class of it.
const PAGE: u64 = 4096;
const CLASS: u64 = 512;
/// Fewer runs say nothing of eight classes.
const FEWEST: usize = 24;

/// A variance of log run times below this is that of rounding.
const ROUNDING: f64 = 1e-18;

/// The share of the variance, 0..=1; nothing without enough runs whose layout is known.
pub(super) fn share(records: &[Record]) -> Option<f64> {
    let mut groups: BTreeMap<(&str, u64), Vec<(u64, f64)>> = BTreeMap::new();
    for record in records {
        let Record::Experiment(Experiment {
            selected,
            speedup,
            duration,
            layout: Some(layout),
            ..
        }) = record
        else {
            continue;
        };
        if *duration > 0 {
            let group = groups.entry((selected, speedup.to_bits())).or_default();
            group.push((*layout % PAGE / CLASS, (*duration as f64).ln()));
        }
    }
    let mut residuals: Vec<(u64, f64)> = Vec::new();
    for group in groups.values().filter(|group| group.len() > 1) {
        let count = group.len() as f64;
        let mean = group.iter().map(|(_, time)| time).sum::<f64>() / count;
        // A group's own mean takes up a part of its variance.
        let scale = (count / (count - 1.0)).sqrt();
        residuals.extend(
            group
                .iter()
                .map(|(class, time)| (*class, (time - mean) * scale)),
        );
    }
    omega_squared(residuals)
}

fn omega_squared(mut residuals: Vec<(u64, f64)>) -> Option<f64> {
    if residuals.len() < FEWEST {
        return None;
    }
    residuals.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let count = residuals.len() as f64;
    let mean = residuals.iter().map(|(_, r)| r).sum::<f64>() / count;
    let all: f64 = residuals.iter().map(|(_, r)| (r - mean).powi(2)).sum();
    let (mut between, mut classes) = (0.0, 0.0);
    for class in residuals.chunk_by(|a, b| a.0 == b.0) {
        let size = class.len() as f64;
        let of_class = class.iter().map(|(_, r)| r).sum::<f64>() / size;
        between += size * (of_class - mean).powi(2);
        classes += 1.0;
    }
    if classes < 2.0 || count <= classes || all <= count * ROUNDING {
        return None;
    }
    let within = (all - between) / (count - classes);
    Some(((between - (classes - 1.0) * within) / (all + within)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(count: u64, time: impl Fn(u64, u64) -> f64) -> Vec<Record> {
        let mut state = 1_u64;
        (0..count)
            .map(|run| {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                let layout = (state >> 40) % PAGE / 16 * 16;
                Record::Experiment(Experiment {
                    selected: "a.c:1".to_owned(),
                    speedup: if run.is_multiple_of(2) { 0.0 } else { 0.5 },
                    duration: (1e9 * time(run, layout)) as u64,
                    layout: Some(layout),
                    ..Experiment::default()
                })
            })
            .collect()
    }

    fn noise(run: u64) -> f64 {
        (run.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 53) as f64
    }

    #[test]
    fn layout_that_decides_all_has_all_of_the_variance() {
        let records = runs(200, |run, layout| {
            1.0 - 0.3 * (run % 2) as f64 + if layout < 1024 { 0.1 } else { 0.0 }
        });
        assert!(share(&records).unwrap() > 0.9, "{:?}", share(&records));
    }

    #[test]
    fn layout_that_decides_nothing_has_nothing() {
        let records = runs(400, |run, _| 1.0 + 0.1 * noise(run));
        assert!(share(&records).unwrap() < 0.06, "{:?}", share(&records));
        let half = runs(400, |run, layout| {
            1.0 + 0.1 * noise(run) + if layout < 2048 { 0.0577 } else { 0.0 }
        });
        // Equal variances of noise (0.1²/12) and of layout (0.0577²/4).
        assert!(
            (0.35..0.65).contains(&share(&half).unwrap()),
            "{:?}",
            share(&half)
        );
    }

    #[test]
    fn few_runs_and_other_windows_say_nothing() {
        assert_eq!(share(&runs(10, |_, _| 1.0)), None);
        assert_eq!(share(&[]), None);
        assert_eq!(share(&runs(100, |_, _| 1.0)), None);
    }
}
