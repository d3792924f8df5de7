//! Stacks are walked to their end, and those that cannot be do no harm.

use std::collections::HashMap;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::Record;
use coz_rs_tests::build::{self, Compiler};
use coz_rs_tests::run::{self, Profiled};
use coz_rs_tests::truth::catalogue::PROGRAMS;

/// Samples whose stacks were cut, of all: what `-v` says.
fn cut(profiled: &Profiled) -> Result<(u64, u64)> {
    let stderr = profiled.stderr();
    let said = " stacks were not walked to their end";
    let line = stderr.lines().find(|line| line.ends_with(said));
    let line = line.with_context(|| stderr.clone())?;
    let mut numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
    Ok((
        numbers.next().context("cut samples")?,
        numbers.next().context("all samples")?,
    ))
}

#[test]
fn nearly_all_samples_of_ordinary_programs_reach_main_or_the_threads_start() -> Result<()> {
    for source in [
        "libc_callers.c",
        "lock.c",
        "pipeline_std.rs",
        "two_threads.rs",
    ] {
        let program = PROGRAMS.iter().find(|program| program.source == source);
        let program = program.with_context(|| source.to_owned())?;
        let built = build::program(source, program.compiler)?;
        let options = ["-v", "--warm-up", "3600"];
        // Samples of the first hundredths of a second, before the tables are there, are cut.
        let profiled = run::profiled(&options, &built, &["--seconds", "4"])?;
        let (cut, all) = cut(&profiled)?;
        ensure!(all > 200, "{source}: {all} samples");
        ensure!(cut * 50 <= all, "{source}: {cut} of {all} are cut");
    }
    Ok(())
}

#[test]
fn odd_stacks_end_cleanly_and_their_time_is_found() -> Result<()> {
    let source = "stacks.c";
    let program = build::program(source, Compiler::C(&[]))?;
    let arguments = ["--rounds", "400"];
    let plain = Command::new(&program).args(arguments).output()?;
    let profiled = run::profiled(&["-v"], &program, &arguments)?;
    ensure!(profiled.output.status.success(), "{}", profiled.stderr());
    ensure!(profiled.output.stdout == plain.stdout, "another checksum");
    let mut samples: HashMap<u32, u64> = HashMap::new();
    for record in Profile::read(&profiled.profile)?.records {
        if let Record::Callers { location, chains } = record {
            let own = location.rsplit_once(':').map(|(_, line)| line);
            let lines = chains.iter().flat_map(|chain| {
                let callers = chain.frames.iter().map(|frame| frame.location());
                let lines = callers.filter_map(|at| Some(at.rsplit_once(':')?.1));
                lines.map(move |line| (line, chain.count))
            });
            let own = own.map(|line| (line, chains.iter().map(|chain| chain.count).sum()));
            for (line, count) in lines.chain(own) {
                *samples.entry(line.parse()?).or_default() += count;
            }
        }
    }
    // Each has a fifth of the rounds' time or more, but for the clock.
    for (label, least) in [("fibre", 150), ("handler", 150), ("called_back", 150)] {
        let line = build::marked_line(source, label)?;
        let count = samples.get(&line).copied().unwrap_or(0);
        ensure!(
            count >= least,
            "{label}: {count} of {samples:?}\n{}",
            profiled.stderr()
        );
    }
    let (cut, all) = cut(&profiled)?;
    ensure!(
        cut > 100,
        "what nothing describes ends the walk: {cut} of {all}"
    );
    Ok(())
}
