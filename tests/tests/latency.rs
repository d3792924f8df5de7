//! Latency that falls is an improvement, and work that comes by the clock is recognised; with
//! bounds that hold on a busy machine (the binary `latency_truth` measures how good it is).

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use coz_rs_plot::estimates::{Analysis, PointKind, Verdict};
use coz_rs_tests::truth::latency::{Source, line, point, profiled, server};

/// One after another: two at once would share the processors.
static ALONE: Mutex<()> = Mutex::new(());
/// Tries, each with another seed: the machine may be busy with something else.
const TRIES: [&str; 3] = ["1", "2", "3"];

fn one_try_is_good(
    source: Source,
    options: &[&str],
    good: impl Fn(&Analysis) -> Result<bool>,
) -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let server = server()?;
    let mut seen = Vec::new();
    for seed in TRIES {
        let words = [options, &["--seed", seed]].concat();
        let (analysis, text) = profiled(&server, source, 9.0, &words)?;
        if good(&analysis)? {
            return Ok(());
        }
        seen.push(text);
    }
    anyhow::bail!("{source:?}:\n{}", seen.join("\n"))
}

#[test]
fn a_shorter_stage_makes_latency_shorter() -> Result<()> {
    // Truth: about 28 % at half the time for parsing, most of which is that half itself.
    one_try_is_good(Source::Inside, &["--fixed-speedup", "50"], |analysis| {
        let latency = point(analysis, PointKind::Latency).context("no latency point")?;
        let line = line(latency, "parse").context("no such line")?;
        let gain = line.at(0.5).context("no curve")?.gain;
        let doubted = analysis.doubts.iter().any(|d| d.doubt == "short-latency");
        Ok(!doubted && !latency.by_the_clock && (0.15..0.40).contains(&gain))
    })
}

#[test]
fn work_by_the_clock_is_no_advice() -> Result<()> {
    one_try_is_good(Source::Clock, &["--fixed-speedup", "50"], |analysis| {
        let recognised = analysis.points.iter().all(|point| point.by_the_clock);
        let said = analysis.doubts.iter().any(|d| d.doubt == "by-the-clock");
        let lines = || analysis.points.iter().flat_map(|point| &point.lines);
        let advice = lines().any(|line| line.verdict == Verdict::WorthIt);
        Ok(recognised && said && lines().count() > 0 && !advice)
    })
}

#[test]
fn begins_that_the_program_counts_itself_are_doubted() -> Result<()> {
    one_try_is_good(
        Source::InsidePlainly,
        &["--fixed-speedup", "50"],
        |analysis| Ok(analysis.doubts.iter().any(|d| d.doubt == "short-latency")),
    )
}
