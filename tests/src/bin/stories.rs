//! Predictions beside real gains for the examples' stories:
//! `cargo run --release -p coz-rs-tests --bin stories -- [OPTION] [STORY …]`.
//!
//! Options: `--write` (put the table into docs/examples.md), `--seconds S` (under the profiler, a
//! line; 8), `--pairs N` (of runs that measure a change; 2), `--sampler timer` (the fallback),
//! `--check` (fail unless predictions and real gains agree). All of it takes about eight minutes on
//! a machine that does nothing else; figures of a busy one are worthless.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use coz_rs_tests::build;
use coz_rs_tests::stories::catalogue::forms;
use coz_rs_tests::stories::little::Latencies;
use coz_rs_tests::stories::ordinary_profile::hottest;
use coz_rs_tests::stories::table::{Row, markdown, replaced};
use coz_rs_tests::stories::{Length, tell};

fn main() -> Result<()> {
    let (mut write, mut check) = (false, false);
    let mut length = Length {
        a_line: 8.0,
        real: 1.0,
        pairs: 2,
    };
    let mut options = Vec::new();
    let mut names = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} needs a value"))
        };
        match word.as_str() {
            "--write" => write = true,
            "--check" => check = true,
            "--seconds" => length.a_line = value()?.parse()?,
            "--pairs" => length.pairs = value()?.parse()?,
            "--sampler" => options = vec!["--sampler".to_owned(), value()?],
            name if !name.starts_with('-') => names.push(name.to_owned()),
            other => bail!("{other}: not an option of the stories"),
        }
    }
    if write && !names.is_empty() {
        bail!("--write is for the whole table; name no story");
    }
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let forms = forms(&names)?;
    build::profiler()?;
    let begin = Instant::now();
    let mut rows: Vec<Row> = Vec::new();
    let mut failures = 0;
    let mut latencies = String::from(
        "| story | latency by Little's law | by the program's own clock | difference |\n\
         |---|--:|--:|--:|\n",
    );
    let mut ordinary = String::from("| story | hottest functions by `perf record` |\n|---|---|\n");
    for form in &forms {
        match tell(form, length, &options) {
            Ok(told) => {
                told.iter().for_each(|row| println!("{row}"));
                rows.extend(told);
            }
            // The others can still be told.
            Err(error) => {
                eprintln!("{}: {error:#}", form.name);
                failures += 1;
            }
        }
        if Latencies::are_told_by(form) {
            match Latencies::of(form, length.a_line, &options) {
                Ok(told) => latencies += &format!("| {} | {told} |\n", form.name),
                Err(error) => {
                    eprintln!("{}: {error:#}", form.name);
                    failures += 1;
                }
            }
        }
        match hottest(form, length.real) {
            Ok(text) => ordinary += &format!("| {} | {text} |\n", form.name),
            Err(error) => eprintln!("{}: no ordinary profile: {error:#}", form.name),
        }
    }
    if latencies.ends_with("--|\n") {
        latencies.clear();
    }
    let table = format!("{}\n{latencies}\n{ordinary}", markdown(&rows));
    println!("\n{table}{:.0} s", begin.elapsed().as_secs_f64());
    if write {
        let path = build::root().join("docs/examples.md");
        let page = std::fs::read_to_string(&path)?;
        let page = replaced(&page, &table).context("docs/examples.md has no place for a table")?;
        std::fs::write(&path, page)?;
    }
    if failures > 0 {
        bail!("{failures} stories could not be told");
    }
    if check && !rows.iter().all(Row::agrees) {
        bail!("predictions and real gains do not agree");
    }
    Ok(())
}
