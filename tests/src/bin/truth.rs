//! The truth suite: `cargo run --release -p coz-rs-tests --bin truth -- [OPTION] [PROGRAM …]`.
//!
//! Options: `--quick` (12 s under the profiler a line in place of 30, shorter truths), `--reduced`
//! (the form for a gate: some programs, at most 5 minutes, wide bounds, one repetition with another
//! seed), `--sampler timer` (the fallback), `--seed N`, `--markdown FILE` (the table for the
//! documentation), `--check` (fail when the bounds are broken; `--reduced` implies it).

use anyhow::{Context, Result, bail};
use coz_rs_tests::truth::catalogue::PROGRAMS;
use coz_rs_tests::truth::measure::Effort;
use coz_rs_tests::truth::suite::{Bounds, Plan, run};

/// What is asked of the whole suite on a quiet machine, in points: with the fallback sampler the
/// means may be twice as large.
const FULL: Bounds = Bounds {
    mean: 2.0,
    worst: 6.0,
    crowded_mean: 5.0,
    coverage: 0.88,
    flagged: 0.05,
};

/// What holds for the reduced suite on a shared two-core machine. A profiler whose pauses reach
/// nobody, or everybody, is off by more than twenty points on average.
const REDUCED: Bounds = Bounds {
    mean: 6.0,
    worst: 30.0,
    crowded_mean: 15.0,
    coverage: 0.0,
    flagged: 0.35,
};

/// When fewer of the reduced suite's pairs count, others used the processors too much for a verdict.
const JUDGED: f64 = 0.5;

/// Times that the reduced suite is tried, with another seed each.
const TRIES: u64 = 2;

struct Options {
    quick: bool,
    reduced: bool,
    check: bool,
    sampler: String,
    seed: u64,
    markdown: Option<String>,
    names: Vec<String>,
}

fn options() -> Result<Options> {
    let mut options = Options {
        quick: false,
        reduced: false,
        check: false,
        sampler: "auto".to_owned(),
        seed: 1,
        markdown: None,
        names: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} needs a value"))
        };
        match word.as_str() {
            "--quick" => options.quick = true,
            "--reduced" => options.reduced = true,
            "--check" => options.check = true,
            "--sampler" => options.sampler = value()?,
            "--seed" => options.seed = value()?.parse().context("the seed")?,
            "--markdown" => options.markdown = Some(value()?),
            name if !name.starts_with('-') => options.names.push(name.to_owned()),
            other => bail!("{other}: not an option of the truth suite"),
        }
    }
    Ok(options)
}

impl Options {
    fn plan(&self) -> Plan {
        let wanted = |name: &str| {
            self.names.is_empty()
                || self
                    .names
                    .iter()
                    .any(|start| name.starts_with(start.as_str()))
        };
        let programs = PROGRAMS
            .iter()
            .filter(|program| wanted(program.name()) && (program.reduced || !self.reduced));
        let (predicted, effort) = if self.reduced {
            let effort = Effort {
                seconds: 0.4,
                fewest: 2,
                most: 3,
                enough: 0.06,
                repeats: 2,
            };
            (7.0, effort)
        } else if self.quick {
            let effort = Effort {
                seconds: 0.7,
                fewest: 3,
                most: 8,
                enough: 0.02,
                repeats: 15,
            };
            (12.0, effort)
        } else {
            let effort = Effort {
                seconds: 1.5,
                fewest: 4,
                most: 12,
                enough: 0.015,
                repeats: 20,
            };
            (30.0, effort)
        };
        Plan {
            programs: programs.collect(),
            speedups: if self.reduced {
                &[0.4, 0.8]
            } else {
                &[0.2, 0.4, 0.6, 0.8]
            },
            predicted,
            effort,
            sampler: self.sampler.clone(),
            seed: self.seed,
        }
    }

    fn bounds(&self) -> Bounds {
        let bounds = if self.reduced { REDUCED } else { FULL };
        if self.sampler == "timer" {
            Bounds {
                mean: bounds.mean * 2.0,
                worst: bounds.worst * 2.0,
                crowded_mean: bounds.crowded_mean * 1.6,
                ..bounds
            }
        } else {
            bounds
        }
    }
}

fn main() -> Result<()> {
    let options = options()?;
    let mut plan = options.plan();
    if plan.programs.is_empty() {
        bail!("no program of the suite is called so");
    }
    let tries = if options.reduced { TRIES } else { 1 };
    let mut broken = Vec::new();
    let mut judged = false;
    for _ in 0..tries {
        println!("seed {}", plan.seed);
        let outcome = run(&plan)?;
        println!("{}", outcome.summary());
        if let Some(file) = &options.markdown {
            std::fs::write(file, outcome.markdown()).with_context(|| format!("writing {file}"))?;
        }
        judged = outcome.judged() >= JUDGED;
        broken = outcome.broken(&options.bounds());
        for bound in &broken {
            println!("broken: {bound}");
        }
        if broken.is_empty() && judged {
            break;
        }
        plan.seed += 1;
    }
    if options.reduced && !judged {
        println!(
            "NOT JUDGED: others used the processors all the time; run it on a quieter machine"
        );
        return Ok(());
    }
    if !broken.is_empty() && (options.check || options.reduced) {
        bail!("the bounds are broken");
    }
    Ok(())
}
