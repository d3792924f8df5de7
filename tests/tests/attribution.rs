//! Time inside libc belongs to the line that called it, whatever compiler and linker built the
//! program, without frame pointers.

use std::collections::HashMap;

use anyhow::Result;
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::Record;
use coz_rs_tests::build::{self, Compiler};
use coz_rs_tests::run;

/// Samples by line number of the program's own file.
fn samples(source: &str, compiler: Compiler) -> Result<HashMap<u32, u64>> {
    let program = build::program(source, compiler)?;
    let profiled = run::profiled(&["--warm-up", "3600"], &program, &["--seconds", "3"])?;
    let profile = Profile::read(&profiled.profile)?;
    let mut samples = HashMap::new();
    for record in &profile.records {
        if let Record::Samples {
            location, count, ..
        } = record
            && let Some((file, line)) = location.rsplit_once(':')
            && file.ends_with(source)
        {
            *samples.entry(line.parse()?).or_default() += count;
        }
    }
    Ok(samples)
}

fn share(samples: &HashMap<u32, u64>, source: &str, label: &str) -> Result<f64> {
    let line = build::marked_line(source, label)?;
    let all: u64 = samples.values().sum();
    Ok(samples.get(&line).copied().unwrap_or(0) as f64 / all as f64)
}

#[test]
fn memcpy_and_qsort_are_their_callers_time() -> Result<()> {
    for compiler in [
        Compiler::C(&[]),
        Compiler::C(&["-gdwarf-4", "-fomit-frame-pointer"]),
    ] {
        let source = "libc_callers.c";
        let found = samples(source, compiler)?;
        // The comparison function, beneath qsort, has lines of its own, as has plain work.
        for label in ["memcpy", "qsort"] {
            let share = share(&found, source, label)?;
            assert!(
                share > 0.1,
                "{compiler:?}: {label} has {share} of {found:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn rust_lines_are_right_under_either_linker() -> Result<()> {
    let source = "two_threads.rs";
    for compiler in [
        Compiler::Rust(&[]),
        Compiler::Rust(&["-Clink-arg=-fuse-ld=bfd"]),
    ] {
        let found = samples(source, compiler)?;
        let own = build::marked_line(source, "a")?;
        let other = build::marked_line(source, "b")?;
        // Either the marked lines, or the loop of the function that they call.
        let lines: Vec<_> = found.iter().filter(|(_, count)| **count > 20).collect();
        assert!(!lines.is_empty(), "{compiler:?}: {found:?}");
        let length = std::fs::read_to_string(build::root().join("tests/programs").join(source))?;
        let lines_in_file = u32::try_from(length.lines().count())?;
        assert!(
            found.keys().all(|line| (1..=lines_in_file).contains(line)),
            "{found:?}"
        );
        assert!(own != other);
    }
    Ok(())
}
