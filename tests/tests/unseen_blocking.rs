//! Threads that wait past all hooks are named; those that wait through them are not.

use anyhow::{Context as _, Result};
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::Record;
use coz_rs_tests::build::{self, Compiler};
use coz_rs_tests::run;

/// The sentences of the doubt `name` after a run of the program in this mode.
fn doubts(mode: &str) -> Result<(Vec<String>, String)> {
    let program = build::program("unseen_futex.c", Compiler::C(&[]))?;
    let line = build::marked_line("unseen_futex.c", "hot")?;
    let options = [
        "--warm-up",
        "100ms",
        "--fixed-line",
        &format!("unseen_futex.c:{line}"),
    ];
    let profiled = run::profiled(&options, &program, &[mode, "5"])?;
    let records = Profile::read(&profiled.profile)
        .with_context(|| profiled.stderr())?
        .records;
    let texts = records.into_iter().filter_map(|record| match record {
        Record::Doubt { doubt, text, .. } if doubt == "unseen-blocking" => Some(text),
        _ => None,
    });
    Ok((texts.collect(), profiled.stderr()))
}

#[test]
fn futex_calls_in_assembly_are_named() -> Result<()> {
    // On a machine so busy that few windows are measured there are few looks.
    let mut said = String::new();
    for _ in 0..3 {
        let (texts, stderr) = doubts("asm")?;
        if let Some(text) = texts.first() {
            assert!(text.contains("unseen_futex_c"), "{text}");
            assert!(stderr.contains("slept in futex calls"), "{stderr}");
            return Ok(());
        }
        said = stderr;
    }
    anyhow::bail!("no doubt: {said}")
}

#[test]
fn futex_calls_through_libc_are_not() -> Result<()> {
    let (texts, stderr) = doubts("libc")?;
    assert!(texts.is_empty(), "{texts:?}");
    assert!(stderr.contains("experiments"), "{stderr}");
    Ok(())
}
