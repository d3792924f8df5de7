//! What programs with points do: without a profiler, under one, and under one that refuses.
//!
//! The runtime is `fake_runtime.c`, preloaded. Everything is built without cargo, as the profiler's
//! demo is: `rustc` alone from the sources.

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use support::{fake_runtime, fake_runtime_with, run_under, scratch, succeed};

fn visits() -> PathBuf {
    let package = support::package();
    let folder = scratch("visits");
    let library = folder.join("libprogress_points.rlib");
    let program = folder.join("visits");
    succeed(
        Command::new("rustc")
            .args([
                "--edition",
                "2024",
                "-O",
                "--crate-type",
                "rlib",
                "-D",
                "warnings",
            ])
            .args(["--crate-name", "progress_points", "-o"])
            .arg(&library)
            .arg(package.join("src/lib.rs")),
    );
    succeed(
        Command::new("rustc")
            .args(["--edition", "2024", "-O", "-D", "warnings", "--extern"])
            .arg(format!("progress_points={}", library.display()))
            .arg("-o")
            .arg(&program)
            .arg(package.join("tests/programs/visits.rs")),
    );
    program
}

#[test]
fn visits_are_counted_once_each() {
    let (output, counts) = run_under(&fake_runtime(), &mut Command::new(visits()));
    assert_eq!(output, "done\n");
    let source = support::package().join("tests/programs/visits.rs");
    let line = std::fs::read_to_string(&source)
        .expect("the program's source")
        .lines()
        .position(|line| line.trim() == "progress!();")
        .expect("it has an unnamed point")
        + 1;
    let unnamed = format!("1 {}:{line}", source.display());
    let expected = [
        ("1 shared", 80_001),
        (&unnamed[..], 3),
        ("1 constant", 3),
        ("1 inside", 3),
        ("1 generic", 2),
        ("2 shared", 2),
        ("3 shared", 1),
        ("2 scope", 2),
        ("3 scope", 2),
        ("2 two", 2),
        ("3 two", 2),
        ("2 panics", 1),
        ("3 panics", 1),
    ];
    let expected: BTreeMap<String, u64> = expected
        .into_iter()
        .map(|(name, count)| (name.to_owned(), count))
        .collect();
    let points: BTreeMap<_, _> = counts
        .clone()
        .into_iter()
        .filter(|(name, _)| !name.starts_with("0 "))
        .collect();
    assert_eq!(points, expected);
    // Seventeen places; the eight threads may all have been first at theirs.
    assert!(
        (17..=24).contains(&counts["0 asked"]),
        "asked {} times",
        counts["0 asked"]
    );
}

/// It counts them itself, so they must not be counted twice.
#[test]
fn a_runtime_that_times_begins_and_ends_is_called_for_each() {
    let plain = run_under(&fake_runtime(), &mut Command::new(visits())).1;
    let runtime = fake_runtime_with(&["-DVISITS"]);
    let mut timed = run_under(&runtime, &mut Command::new(visits())).1;
    let pairs: u64 = plain
        .iter()
        .filter(|(name, _)| name.starts_with("2 ") || name.starts_with("3 "))
        .map(|(_, count)| count)
        .sum();
    assert_eq!(timed.remove("0 called"), Some(pairs));
    timed.insert("0 asked".to_owned(), plain["0 asked"]);
    assert_eq!(timed, plain);
}

#[test]
fn a_profiler_that_refuses_is_asked_once_a_place() {
    let mut command = Command::new(visits());
    let (output, counts) = run_under(&fake_runtime(), command.env("FAKE_RUNTIME_NULL", "1"));
    assert_eq!(output, "done\n");
    assert!(
        (17..=24).contains(&counts["0 asked"]),
        "asked {} times",
        counts["0 asked"]
    );
    assert_eq!(counts["1 shared"], 0);
}

#[test]
fn without_a_profiler_nothing_happens() {
    assert_eq!(succeed(&mut Command::new(visits())), "done\n");
}
