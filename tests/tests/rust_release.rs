//! Release programs of Rust profile on their own lines: whatever the optimisation, time in
//! iterator adaptors, sorting, hashing and allocation belongs to the lines that asked for it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use coz_rs_plot::estimates::analyse;
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::Record;
use coz_rs_tests::{build, run};

/// Builds both crates with these words for the compiler.
fn program(name: &str, words: &[&str]) -> Result<PathBuf> {
    let folder = build::root().join("tests/programs/rust_release");
    let output = build::output().join(format!("rust-release-{name}"));
    std::fs::create_dir_all(&output)?;
    let compile = |source: &str, crate_name: &str, more: &[String]| {
        let mut rustc = Command::new("rustc");
        rustc
            .args(["--edition", "2024", "-g", "--crate-name", crate_name])
            .args(words)
            .args(more)
            .arg("--out-dir")
            .arg(&output)
            .arg(folder.join(source));
        build::succeed(&mut rustc)
    };
    compile("kernels.rs", "kernels", &["--crate-type=rlib".to_owned()])?;
    let links = [
        format!(
            "--extern=kernels={}",
            output.join("libkernels.rlib").display()
        ),
        format!("--extern=progress_points={}", build::points()?.display()),
    ];
    compile("main.rs", "main", &links)?;
    Ok(output.join("main"))
}

#[test]
fn own_lines_own_the_samples() -> Result<()> {
    for (name, words) in [
        ("plain", &["-Copt-level=3"][..]),
        ("one-unit", &["-Copt-level=2", "-Ccodegen-units=1"]),
        ("lto", &["-Copt-level=3", "-Ccodegen-units=1", "-Clto=fat"]),
    ] {
        let program = program(name, words)?;
        let profiled = run::profiled(&["--warm-up", "3600"], &program, &["--seconds", "2"])?;
        let profile = Profile::read(&profiled.profile).with_context(|| profiled.stderr())?;
        let mut files = Vec::new();
        for record in &profile.records {
            if let Record::Samples { location, .. } = record {
                let file = location.rsplit('/').next().unwrap_or_default();
                let (file, _) = file.split_once(':').context("a line")?;
                ensure!(
                    ["main.rs", "kernels.rs"].contains(&file),
                    "{name}: {location}"
                );
                files.push(file.to_owned());
            }
        }
        ensure!(files.iter().any(|file| file == "kernels.rs"), "{name}");
        let scope = analyse(&profile.records).scope;
        let own = scope.samples - scope.dropped;
        ensure!(scope.samples > 1500, "{name}: {} samples", scope.samples);
        ensure!(
            own * 100 >= scope.samples * 90,
            "{name}: own lines have {own} of {} samples: {:?}",
            scope.samples,
            scope.left_out
        );
    }
    Ok(())
}
