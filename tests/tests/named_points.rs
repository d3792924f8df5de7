//! Progress points that are named on the command line are counted exactly, whatever the compiler
//! made of the line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use coz_rs::points::uprobes::Uprobes;
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::Record;
use coz_rs_tests::build::{self, Compiler};
use coz_rs_tests::run;

const C: &str = "points/places.c";
const RUST: &str = "points/places.rs";
const FORKS: &str = "points/forks.c";

/// Ways to count that work here; prints why one is skipped.
fn ways() -> Vec<&'static [&'static str]> {
    let mut ways: Vec<&[&str]> = vec![&["--progress-by", "breakpoint"]];
    match Uprobes::new(1) {
        Ok(_) => ways.push(&["--progress-by", "uprobe"]),
        Err(error) => eprintln!("skipped: uprobes are refused here: {error:#}"),
    }
    ways
}

fn has(compiler: &str) -> bool {
    let there = Command::new(compiler).arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: there is no {compiler}");
    }
    there
}

/// All visits of each point in the profile.
fn visits(profile: &Path) -> Result<BTreeMap<String, u64>> {
    let mut visits = BTreeMap::new();
    for record in Profile::read(profile)?.records {
        if let Record::Visits { points } = record {
            for point in points {
                *visits.entry(point.name).or_default() += point.count;
            }
        }
    }
    Ok(visits)
}

/// Runs the program with points on these options; what it says it did must be what was counted.
fn is_exact(program: &Path, options: &[String], words: &[&str]) -> Result<()> {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let profiled = run::profiled(&options, program, words)?;
    let said = String::from_utf8_lossy(&profiled.output.stdout).into_owned();
    let counted = visits(&profiled.profile).with_context(|| profiled.stderr())?;
    let mut expected = BTreeMap::new();
    for line in said.lines() {
        let (name, count) = line.split_once(' ').context("NAME COUNT")?;
        expected.insert(name.to_owned(), count.parse::<u64>()?);
    }
    ensure!(!expected.is_empty(), "{}", profiled.stderr());
    let mut wrong = Vec::new();
    for (name, count) in &expected {
        let found = counted.get(name);
        if found != Some(count) {
            wrong.push(format!("{name}: {found:?} instead of {count}"));
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} {words:?} {options:?}: {}\n{}",
        program.display(),
        wrong.join("; "),
        profiled.stderr()
    );
    Ok(())
}

/// Points on all marked lines of a source, and on its function `work`.
fn all_points(source: &str, way: &[&str]) -> Result<Vec<String>> {
    let mut options: Vec<String> = way.iter().map(|&word| word.to_owned()).collect();
    let file = source.rsplit('/').next().unwrap_or(source);
    for label in [
        "body", "head", "inlined", "return", "early", "arm", "unrolled", "calls",
    ] {
        let line = build::marked_line(source, label)?;
        options.extend(["--progress".to_owned(), format!("{label}={file}:{line}")]);
    }
    options.extend(["--progress-fn".to_owned(), "work=work".to_owned()]);
    Ok(options)
}

fn line_of(label: &str) -> Result<String> {
    Ok(format!(
        "tick=forks.c:{}",
        build::marked_line(FORKS, label)?
    ))
}

#[test]
fn each_passage_of_a_line_counts_once_in_every_build() -> Result<()> {
    let mut programs: Vec<(&str, PathBuf)> = Vec::new();
    let c: &[&'static [&'static str]] = &[&[], &["-O0"], &["-O1"], &["-O3", "-no-pie"]];
    for words in c {
        programs.push((C, build::program(C, Compiler::C(words))?));
    }
    let others: &[(&'static str, &'static [&'static str])] = &[
        ("clang", &[]),
        ("clang", &["-O0", "-no-pie"]),
        ("g++", &["-x", "c++"]),
    ];
    for (compiler, words) in others {
        if has(compiler) {
            programs.push((C, build::program(C, Compiler::Other(compiler, words))?));
        }
    }
    let lto: &[&str] = &["-Copt-level=3", "-Ccodegen-units=1", "-Clto=fat"];
    programs.push((RUST, build::program(RUST, Compiler::Rust(&[]))?));
    programs.push((RUST, build::program(RUST, Compiler::Rust(lto))?));
    for way in ways() {
        for (source, program) in &programs {
            let options = all_points(source, way)?;
            is_exact(program, &options, &["3000", "1"])?;
            is_exact(program, &options, &["1000", "4"])?;
        }
    }
    Ok(())
}

/// A file's marked lines as points of their labels.
fn points_on(source: &str, labels: &[&str], way: &[&str]) -> Result<Vec<String>> {
    let mut options: Vec<String> = way.iter().map(|&word| word.to_owned()).collect();
    let file = source.rsplit('/').next().unwrap_or(source);
    for label in labels {
        let line = build::marked_line(source, label)?;
        options.extend(["--progress".to_owned(), format!("{label}={file}:{line}")]);
    }
    Ok(options)
}

#[test]
fn exceptions_and_calls_through_pointers_pass_points() -> Result<()> {
    const SOURCE: &str = "points/exceptions.cpp";
    if !has("g++") {
        return Ok(());
    }
    let labels = ["virtual", "jump", "pointer", "caught", "template"];
    for words in [&[][..], &["-O0"][..], &["-no-pie"][..]] {
        let program = build::program(SOURCE, Compiler::Other("g++", words))?;
        for way in ways() {
            let mut options = points_on(SOURCE, &labels, way)?;
            options.extend(["--progress-fn".to_owned(), "last=last".to_owned()]);
            is_exact(&program, &options, &["2000"])?;
        }
    }
    Ok(())
}

/// Handlers, waits and threads that block all signals: a trap that is blocked would be deadly.
#[test]
fn breakpoints_are_passed_wherever_signals_are_blocked() -> Result<()> {
    const SOURCE: &str = "points/handlers.c";
    let program = build::program(SOURCE, Compiler::C(&["-w"]))?;
    for sampler in ["sigtrap", "timer"] {
        let way = ["--progress-by", "breakpoint", "--sampler", sampler];
        is_exact(&program, &points_on(SOURCE, &["tick"], &way)?, &[])?;
    }
    Ok(())
}

/// Latency without marks: each arrival and each departure, and what experiments make of them.
#[test]
fn begins_and_ends_are_stamped() -> Result<()> {
    const SOURCE: &str = "points/pairs.c";
    let program = build::program(SOURCE, Compiler::C(&[]))?;
    let line = |label| build::marked_line(SOURCE, label);
    let place = |label| Ok::<_, anyhow::Error>(format!("unit=pairs.c:{}", line(label)?));
    let (begin, end, early) = (place("begin")?, place("end")?, place("early")?);
    let work = format!("pairs.c:{}", line("work")?);
    let mut options = vec!["--begin", &begin, "--end", &end, "--end", &early];
    options.extend([
        "--fixed-line",
        &work,
        "--fixed-speedup",
        "50",
        "--warm-up",
        "100ms",
    ]);
    let mut seen = String::new();
    // A busy machine may leave no window whole.
    for _ in 0..3 {
        let options: Vec<String> = options.iter().map(|&word| word.to_owned()).collect();
        is_exact(&program, &options, &["0.3"])?;
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let profiled = run::profiled(&options, &program, &["3"])?;
        seen = profiled.stderr();
        let records = Profile::read(&profiled.profile)?.records;
        let measured = records.iter().any(|record| match record {
            Record::LatencyPoint {
                name,
                arrivals,
                departures,
                mean_in_flight,
                ..
            } => {
                name == "unit"
                    && arrivals.min(departures) > &50
                    && mean_in_flight.is_some_and(|mean| (0.0..70.0).contains(&mean))
            }
            _ => false,
        });
        if measured {
            return Ok(());
        }
    }
    anyhow::bail!("no latency was measured:\n{seen}")
}

#[test]
fn latency_is_not_counted_by_the_kernel() -> Result<()> {
    let program = build::program(FORKS, Compiler::C(&[]))?;
    let options = [
        "--begin",
        "main",
        "--end",
        "tick",
        "--progress-by",
        "uprobe",
    ];
    let profiled = run::profiled(&options, &program, &["10"])?;
    let said = profiled.stderr();
    ensure!(profiled.output.status.code() == Some(2), "{said}");
    ensure!(said.contains("need breakpoints"), "{said}");
    let profiled = run::profiled(&["--begin", "main"], &program, &["10"])?;
    ensure!(
        profiled.stderr().contains("no --end"),
        "{}",
        profiled.stderr()
    );
    Ok(())
}

#[test]
fn children_and_replaced_programs_count_too() -> Result<()> {
    let program = build::program(FORKS, Compiler::C(&[]))?;
    for way in ways() {
        let mut options: Vec<String> = way.iter().map(|&word| word.to_owned()).collect();
        options.extend(["--progress".to_owned(), line_of("tick")?]);
        is_exact(&program, &options, &["2000"])?;
    }
    Ok(())
}

/// What somebody else ships: no debug information, no symbols but those that it shares.
#[test]
fn functions_of_stripped_programs_are_counted() -> Result<()> {
    let whole = build::program(FORKS, Compiler::C(&["-rdynamic"]))?;
    let folder = build::output().join(format!("stripped-{}", std::process::id()));
    let debug_folder = folder.join(".debug");
    std::fs::create_dir_all(&debug_folder)?;
    let (stripped, debug) = (folder.join("forks"), debug_folder.join("forks.debug"));
    std::fs::copy(&whole, &stripped)?;
    build::succeed(
        Command::new("objcopy")
            .arg("--only-keep-debug")
            .arg(&whole)
            .arg(&debug),
    )?;
    build::succeed(Command::new("strip").arg("--strip-all").arg(&stripped))?;
    for way in ways() {
        let mut options: Vec<String> = way.iter().map(|&word| word.to_owned()).collect();
        options.extend(["--progress-fn".to_owned(), "tick=tick".to_owned()]);
        is_exact(&stripped, &options, &["1000"])?;
        let profiled = run::profiled(&["--progress", "forks.c:14"], &stripped, &["10"])?;
        let said = profiled.stderr();
        ensure!(said.contains("has no debug information"), "{said}");
        ensure!(said.contains("--progress-fn"), "{said}");
    }
    // With the debug information beside it the lines are known again.
    let mut link = Command::new("objcopy");
    link.arg("--add-gnu-debuglink").arg(&debug).arg(&stripped);
    build::succeed(&mut link)?;
    for way in ways() {
        let mut options: Vec<String> = way.iter().map(|&word| word.to_owned()).collect();
        options.extend(["--progress".to_owned(), line_of("tick")?]);
        is_exact(&stripped, &options, &["1000"])?;
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

#[test]
fn what_is_not_there_is_refused_with_what_is() -> Result<()> {
    let program = build::program(FORKS, Compiler::C(&[]))?;
    let refused = |options: &[&str]| -> Result<String> {
        let profiled = run::profiled(options, &program, &["10"])?;
        let said = profiled.stderr();
        ensure!(profiled.output.stdout.is_empty(), "it ran: {said}");
        ensure!(profiled.output.status.code() == Some(2), "{said}");
        Ok(said)
    };
    let said = refused(&["--progress", "forks.c:2"])?;
    ensure!(said.contains("no code on line 2"), "{said}");
    ensure!(said.contains("nearest lines with code are"), "{said}");
    let line = build::marked_line(FORKS, "tick")?;
    ensure!(said.contains(&format!(" {line}")), "{said}");
    let said = refused(&["--progress", "0x1"])?;
    ensure!(
        said.contains("0x1 is not the address of an instruction"),
        "{said}"
    );
    let said = refused(&["--progress", "x="])?;
    ensure!(said.contains("names no place"), "{said}");
    // A library to come might have it, so the program runs, and the end says it.
    let profiled = run::profiled(&["--progress-fn", "tock"], &program, &["10"])?;
    let said = profiled.stderr();
    ensure!(said.contains("`tock` was not placed"), "{said}");
    let profiled = run::profiled(&[], &program, &["10"])?;
    ensure!(
        profiled.stderr().contains("--progress"),
        "{}",
        profiled.stderr()
    );
    Ok(())
}
