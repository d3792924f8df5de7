//! The table of cycles per element.

use std::cell::Cell;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use crate::bounds;
use crate::clock::Clock;
use crate::kernels::{self, Kernel};
use crate::line_fit::{Line, fit};
use crate::number::{Add, Multiply, Operation};
use crate::series::measure;
use crate::vector::Vector;
use crate::vector_instructions::Instructions;

/// Sizes of the vectors: 128 to 4096. The largest fills two thirds of a first-level cache of 48 KB.
const SIZES: [usize; 8] = [128, 256, 512, 1024, 1536, 2048, 3072, 4096];
/// Elements that a measurement goes over, whatever their size: some 20 µs, or the clock's own grain
/// and cost would show.
const ELEMENTS: usize = 16_384;
/// More noise than this, and the machine was not ours.
const TOO_NOISY: f64 = 0.20;

/// One line of the table.
struct Row {
    name: String,
    line: Line,
    /// The largest of the sizes' noises.
    noise: f64,
}

/// Measures and prints everything; fails if the result deserves no trust.
pub fn print(runs: usize) -> ExitCode {
    let clock = Clock::calibrate(runs);
    let mut tables = vec![
        section::<i64, Add>(&clock, runs),
        section::<i64, Multiply>(&clock, runs),
        section::<f64, Add>(&clock, runs),
        section::<f64, Multiply>(&clock, runs),
    ];
    // The clock may have changed meanwhile, which nothing else would show.
    let after = Clock::calibrate(runs);
    let reasons = reasons(&clock, &after, &tables);
    let mut text = format!(
        "clock: {:.2} GHz (one dependent addition a cycle)\n",
        clock.frequency
    );
    for (title, rows) in &mut tables {
        let _ = writeln!(
            text,
            "\n{title:<19}    CPE  overhead  worst residual  noise"
        );
        for Row { name, line, noise } in rows {
            let mark = if *noise > TOO_NOISY { " !" } else { "" };
            let _ = writeln!(
                text,
                "{name:<19} {:>6.2}  {:>8.0}  {:>12.1} %  {:>3.0} %{mark}",
                line.slope,
                line.intercept,
                100.0 * line.worst,
                100.0 * *noise,
            );
        }
    }
    let trusted = reasons.is_empty();
    if trusted {
        text.push_str(
            "\nCPE and overhead in cycles, a line through the times at 128 to 4096 elements.\n",
        );
    } else {
        text.insert_str(0, "NOT TRUSTWORTHY, see below.\n\n");
        for reason in reasons {
            let _ = writeln!(text, "\nNot trustworthy: {reason}.");
        }
        text.push_str("End what else runs on this machine and measure again.\n");
    }
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) if trusted => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// What speaks against the measurement.
fn reasons(before: &Clock, after: &Clock, tables: &[(String, Vec<Row>)]) -> Vec<String> {
    let mut reasons = Vec::new();
    for clock in [before, after] {
        if !clock.is_possible() {
            reasons.push(format!(
                "{:.2} GHz is no processor's clock; a dependent addition does not take a cycle here",
                clock.frequency
            ));
        }
        if clock.noise > TOO_NOISY {
            reasons.push(format!(
                "the clock's calibration has {:.0} % noise, more than {:.0} %",
                100.0 * clock.noise,
                100.0 * TOO_NOISY
            ));
        }
    }
    let change = (after.frequency / before.frequency - 1.0).abs();
    if change > 0.05 {
        reasons.push(format!(
            "the clock changed by {:.0} % meanwhile",
            100.0 * change
        ));
    }
    let rows = tables.iter().flat_map(|(_, rows)| rows);
    let noisy = rows.clone().filter(|row| row.noise > TOO_NOISY).count();
    if noisy > 0 {
        reasons.push(format!(
            "{noisy} of {} rows have more than {:.0} % noise",
            rows.count(),
            100.0 * TOO_NOISY
        ));
    }
    reasons
}

/// All kernels and the bounds for one kind of number and one operation.
fn section<T: Instructions, O: Operation<T>>(clock: &Clock, runs: usize) -> (String, Vec<Row>) {
    let mut all: Vec<(String, Kernel<T>)> = kernels::all::<T, O>()
        .map(|(name, kernel)| (name.to_owned(), kernel))
        .into();
    all.push(("latency bound".to_owned(), bounds::latency::<T, O>));
    let chains = format!("bound of {} chains", T::CHAINS);
    all.push((chains, bounds::throughput::<T, O>));
    let row = |(name, kernel)| row(name, kernel, clock, runs);
    let title = format!("{} {}", T::NAME, O::NAME);
    (title, all.into_iter().map(row).collect())
}

fn row<T: Instructions>(name: String, kernel: Kernel<T>, clock: &Clock, runs: usize) -> Row {
    let mut noise = 0.0_f64;
    let points = SIZES.map(|size| {
        let vectors = [(); 2].map(|()| Vector::new((0..size).map(T::sample)));
        let result = Cell::new(T::ZERO);
        let series = measure(runs, ELEMENTS / size, &mut || {
            // Which vector is known when the result before it is: or calls would overlap, and
            // short vectors seem to cost less than nothing.
            kernel(&vectors[result.get().zero_after() & 1], &result);
        });
        noise = noise.max(series.noise);
        (size as f64, series.least * clock.frequency)
    });
    Row {
        name,
        line: fit(&points),
        noise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(frequency: f64, noise: f64) -> Clock {
        Clock { frequency, noise }
    }

    fn table(noise: f64) -> [(String, Vec<Row>); 1] {
        let line = fit(&[(1.0, 1.0), (2.0, 2.0)]);
        let name = "combine1".to_owned();
        [("i64 add".to_owned(), vec![Row { name, line, noise }])]
    }

    #[test]
    fn what_deserves_no_trust_is_told() {
        let good = clock(2.6, 0.01);
        assert!(reasons(&good, &good, &table(0.19)).is_empty());
        assert_eq!(reasons(&good, &good, &table(0.21)).len(), 1);
        assert_eq!(reasons(&clock(2.6, 0.3), &good, &table(0.0)).len(), 1);
        assert_eq!(reasons(&good, &clock(2.8, 0.0), &table(0.0)).len(), 1);
        assert!(!reasons(&clock(9.0, 0.0), &clock(9.0, 0.0), &table(0.0)).is_empty());
    }
}
