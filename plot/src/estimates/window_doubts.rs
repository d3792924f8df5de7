//! What the windows themselves say against the result: too few visits, drift, rare hits, threads
//! that wait for processors.

use std::collections::BTreeMap;

use super::DoubtNote;
use crate::record::{Experiment, Record, WHOLE_RUN};
use crate::safe_text::one_line;

/// Fewer windows say nothing about the usual one.
const FEWEST: usize = 6;
/// Threads that wait for a processor for so much of the wall time, together, are too many.
const CROWDED: f64 = 0.25;
/// Visits that a window should have at least.
const VISITS: u64 = 5;
/// A program whose pace changes by more than this from the first to the last third of a run,
const DRIFT: f64 = 0.2;
/// and by so many standard errors, drifts.
const ERRORS: f64 = 4.0;
/// A line with fewer hits a window is hardly sped up.
const HITS: f64 = 2.0;

/// The baseline windows of one point in one run: when, log period, visits.
type Windows = Vec<(u64, f64, u64)>;

/// The doubts that the windows raise.
pub(super) fn of_windows(records: &[Record]) -> Vec<DoubtNote> {
    let mut waits = Vec::new();
    let mut points: BTreeMap<(&str, usize), Windows> = BTreeMap::new();
    let mut hits: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut run = 0;
    let mut current: Option<&Experiment> = None;
    for record in records {
        match record {
            Record::Session(_) | Record::Startup { .. } => {
                run += 1;
                current = None;
            }
            Record::Experiment(window) => {
                // Coz's windows know none of this.
                current = Some(window).filter(|window| window.block.is_some());
                let Some(window) = current else { continue };
                if window.speedup > 0.0 {
                    let hits = hits.entry(&window.selected).or_default();
                    hits.0 += window.selected_samples;
                    hits.1 += 1;
                } else {
                    waits.extend(window.waited);
                }
            }
            Record::ThroughputPoint { name, delta } if name != WHOLE_RUN => {
                let baseline = current.filter(|window| window.speedup <= 0.0);
                let Some(window) = baseline else { continue };
                let windows = points.entry((name, run)).or_default();
                let period = window.duration.max(1) as f64 / (*delta).max(1) as f64;
                windows.push((window.start.unwrap_or(0), period.ln(), *delta));
            }
            _ => {}
        }
    }
    let mut notes = Vec::new();
    notes.extend(crowded(waits));
    for (name, windows) in by_name(points) {
        notes.extend(few_visits(name, &windows));
        notes.extend(drift(name, &windows));
    }
    notes.extend(rare_hits(&hits));
    notes
}

/// The runs of each point.
fn by_name(points: BTreeMap<(&str, usize), Windows>) -> BTreeMap<&str, Vec<Windows>> {
    let mut names: BTreeMap<&str, Vec<Windows>> = BTreeMap::new();
    for ((name, _), windows) in points {
        names.entry(name).or_default().push(windows);
    }
    names
}

fn crowded(mut waits: Vec<f64>) -> Option<DoubtNote> {
    waits.retain(|wait| wait.is_finite());
    waits.sort_by(f64::total_cmp);
    let median = *waits.get(waits.len() / 2)?;
    (waits.len() >= FEWEST && median > CROWDED).then(|| note(
        "crowded",
        format!(
            "Threads that could run waited for a processor all the time ({:.0} % of the wall time, \
             together): there are more runnable threads than processors. Pauses then keep the \
             processor busy, and how it was shared out is known only roughly, so that predictions are \
             rougher; give the program fewer threads, or run it where it has more processors to itself.",
            median * 100.0
        ),
    ))
}

fn few_visits(name: &str, runs: &[Windows]) -> Option<DoubtNote> {
    let mut visits: Vec<u64> = runs
        .iter()
        .flatten()
        .map(|(_, _, visits)| *visits)
        .collect();
    visits.sort_unstable();
    let median = *visits.get(visits.len() / 2)?;
    (visits.len() >= FEWEST && median < VISITS).then(|| note(
        "few-visits",
        format!(
            "`{}` is visited {median} times in the usual window, too seldom to time it well; place \
             a progress point where smaller pieces of work are done, or run longer with \
             `--for 10m`.",
            one_line(name)
        ),
    ))
}

/// The pace of the first third of a run against that of the last, averaged over runs.
fn drift(name: &str, runs: &[Windows]) -> Option<DoubtNote> {
    let mut changes = Vec::new();
    for run in runs.iter().filter(|run| run.len() >= 2 * FEWEST) {
        let mut run = run.clone();
        run.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let third = run.len() / 3;
        let (first, first_error) = mean(&run[..third]);
        let (last, last_error) = mean(&run[run.len() - third..]);
        let error = (first_error + last_error).sqrt();
        changes.push((last - first, error));
    }
    let worst = changes
        .into_iter()
        .filter(|(change, error)| change.abs() > DRIFT && change.abs() > ERRORS * error)
        .max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
    let percent = (worst.0.exp() - 1.0) * 100.0;
    let (percent, word) = if percent > 0.0 {
        (percent, "longer")
    } else {
        (-percent, "shorter")
    };
    Some(note(
        "drift",
        format!(
            "The time per visit of `{}` became {percent:.0} % {word} during a run, so what holds at \
             its beginning may not hold at its end; begin later with `--warm-up 10s`, or profile \
             its phases apart.",
            one_line(name)
        ),
    ))
}

/// Mean of log periods and the square of its standard error.
fn mean(windows: &[(u64, f64, u64)]) -> (f64, f64) {
    let count = windows.len() as f64;
    let mean = windows.iter().map(|(_, period, _)| period).sum::<f64>() / count;
    let squares: f64 = windows
        .iter()
        .map(|(_, period, _)| (period - mean).powi(2))
        .sum();
    (mean, squares / (count - 1.0).max(1.0) / count)
}

fn rare_hits(lines: &BTreeMap<&str, (u64, u64)>) -> Option<DoubtNote> {
    let rare: Vec<&str> = lines
        .iter()
        .filter(|(_, (hits, windows))| *windows >= 3 && (*hits as f64) < HITS * *windows as f64)
        .map(|(location, _)| *location)
        .collect();
    let first = *rare.first()?;
    let lines = match rare.len() {
        1 => one_line(first),
        count => format!("{} and {} other lines", one_line(first), count - 1),
    };
    Some(DoubtNote {
        doubt: "rare-hits".to_owned(),
        text: format!(
            "{lines} had less than {HITS} hits a window, so speeding up could hardly be felt; give \
             it more time with `--fixed-line FILE:LINE --for 5m`, or leave it."
        ),
        location: (rare.len() == 1).then(|| first.to_owned()),
    })
}

fn note(doubt: &str, text: String) -> DoubtNote {
    DoubtNote {
        doubt: doubt.to_owned(),
        text,
        location: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of baseline windows and windows at 50 %, each with its wait, visits and hits.
    fn records(
        windows: u64,
        waited: f64,
        visits: u64,
        hits: u64,
        pace: impl Fn(u64) -> f64,
    ) -> Vec<Record> {
        let mut records = vec![Record::Startup { time: 1 }];
        for number in 0..windows {
            for speedup in [0.0, 0.5] {
                records.push(Record::Experiment(Experiment {
                    selected: "a.c:1".to_owned(),
                    speedup,
                    duration: (1e6 * pace(number) * visits as f64) as u64,
                    selected_samples: hits,
                    block: Some(number),
                    start: Some(number * 1000),
                    waited: Some(waited),
                    ..Experiment::default()
                }));
                records.push(Record::ThroughputPoint {
                    name: "p".to_owned(),
                    delta: visits,
                });
            }
        }
        records
    }

    fn names(records: &[Record]) -> Vec<String> {
        of_windows(records)
            .into_iter()
            .map(|note| note.doubt)
            .collect()
    }

    #[test]
    fn good_windows_raise_no_doubt() {
        let steady = |number: u64| 1.0 + 0.01 * (number % 3) as f64;
        assert!(names(&records(30, 0.05, 50, 20, steady)).is_empty());
        assert!(names(&[]).is_empty());
        // Coz's windows are in no block.
        let mut of_coz = records(30, 0.9, 1, 0, |_| 1.0);
        for record in &mut of_coz {
            if let Record::Experiment(window) = record {
                window.block = None;
            }
        }
        assert!(names(&of_coz).is_empty());
    }

    #[test]
    fn each_fault_raises_its_doubt() {
        let steady = |_| 1.0;
        assert_eq!(names(&records(12, 0.6, 50, 20, steady)), ["crowded"]);
        assert_eq!(names(&records(12, 0.0, 2, 20, steady)), ["few-visits"]);
        assert_eq!(names(&records(12, 0.0, 50, 1, steady)), ["rare-hits"]);
        let slower = |number: u64| 1.0 + 0.05 * number as f64;
        assert_eq!(names(&records(12, 0.0, 50, 20, slower)), ["drift"]);
    }

    #[test]
    fn a_few_windows_raise_none_and_noise_is_no_drift() {
        assert!(names(&records(3, 0.9, 1, 9, |_| 1.0)).is_empty());
        let noisy = |number: u64| if number.is_multiple_of(2) { 1.0 } else { 2.0 };
        assert!(names(&records(30, 0.0, 50, 20, noisy)).is_empty());
    }
}
