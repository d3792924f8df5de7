//! `coz-rs doctor` says before a run what the run would stumble over, and how to mend it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result};
use coz_rs_tests::build;

const VISITING: &str = "#include \"coz.h\"\nint main(void) { volatile long x = 0; \
    for (long i = 0; i < 100; i++) { x += i; COZ_PROGRESS_NAMED(\"step\"); } return 0; }";

fn folder() -> Result<PathBuf> {
    let folder = build::output().join("doctor");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn compile(name: &str, text: &str, words: &[&str]) -> Result<PathBuf> {
    let source = folder()?.join(format!("{name}.c"));
    std::fs::write(&source, text)?;
    let built = folder()?.join(name);
    let mut command = Command::new("cc");
    command
        .args(["-O1", "-pthread", "-I"])
        .arg(build::root().join("progress-points/include"))
        .arg("-o")
        .arg(&built)
        .arg(&source)
        .args(words);
    build::succeed(&mut command)?;
    Ok(built)
}

fn doctor(words: &[&str]) -> Result<(Output, serde_json::Value)> {
    let output = Command::new(build::profiler()?)
        .args(["doctor", "--json"])
        .args(words)
        .output()?;
    let json = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok((output, json))
}

/// Outcome and text of a check.
fn finding(diagnosis: &serde_json::Value, check: &str) -> Option<(String, String)> {
    let findings = diagnosis["findings"].as_array()?;
    let found = findings.iter().find(|finding| finding["check"] == check)?;
    let text = |name: &str| found[name].as_str().unwrap_or("").to_owned();
    Some((text("outcome"), text("text") + &text("mend")))
}

fn of(program: &Path, more: &[&str]) -> Result<(Output, serde_json::Value)> {
    let path = program.display().to_string();
    let mut words = more.to_vec();
    words.push(&path);
    doctor(&words)
}

#[test]
fn a_program_with_all_that_is_needed_is_told_so() -> Result<()> {
    let program = compile("whole", VISITING, &["-g"])?;
    let (output, diagnosis) = of(&program, &[])?;
    assert_eq!(output.status.code(), Some(0), "{diagnosis}");
    assert_eq!(diagnosis["format_version"], 1);
    for check in [
        "preload",
        "format",
        "libraries",
        "debug-info",
        "scope",
        "points",
    ] {
        let (outcome, text) = finding(&diagnosis, check).context(check)?;
        assert_eq!(outcome, "good", "{check}: {text}");
    }
    let text = Command::new(build::profiler()?)
        .arg("doctor")
        .arg(&program)
        .output()?;
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains("whole.c") && text.contains("can profile"),
        "{text}"
    );
    Ok(())
}

#[test]
fn what_is_missing_is_named_with_its_cure() -> Result<()> {
    let (output, diagnosis) = of(&compile("bare", VISITING, &[])?, &[])?;
    assert_eq!(output.status.code(), Some(1), "{diagnosis}");
    let (outcome, text) = finding(&diagnosis, "debug-info").context("debug-info")?;
    assert!(outcome == "bad" && text.contains("-g"), "{text}");

    let pointless = "int main(void) { return 0; }";
    let (output, diagnosis) = of(&compile("pointless", pointless, &["-g"])?, &[])?;
    assert_eq!(output.status.code(), Some(1), "{diagnosis}");
    let (outcome, text) = finding(&diagnosis, "points").context("points")?;
    assert!(outcome == "bad" && text.contains("COZ_PROGRESS"), "{text}");

    let whole = compile("scoped", VISITING, &["-g"])?;
    let (output, diagnosis) = of(&whole, &["--source-scope", "/elsewhere/%"])?;
    assert_eq!(output.status.code(), Some(1), "{diagnosis}");
    let (outcome, text) = finding(&diagnosis, "scope").context("scope")?;
    assert!(
        outcome == "bad" && text.contains("--source-scope"),
        "{text}"
    );
    Ok(())
}

#[test]
fn debug_information_in_a_file_of_its_own_is_found() -> Result<()> {
    let program = compile("apart", VISITING, &["-g"])?;
    let debug = folder()?.join("apart.debug");
    let mut keep = Command::new("objcopy");
    build::succeed(keep.arg("--only-keep-debug").arg(&program).arg(&debug))?;
    let mut strip = Command::new("objcopy");
    strip.arg("--strip-all").arg("--add-gnu-debuglink");
    build::succeed(strip.arg(&debug).arg(&program))?;
    let (output, diagnosis) = of(&program, &[])?;
    assert_eq!(output.status.code(), Some(0), "{diagnosis}");
    let (_, text) = finding(&diagnosis, "debug-info").context("debug-info")?;
    assert!(text.contains("apart.debug"), "{text}");
    Ok(())
}

#[test]
fn a_library_that_is_missing_is_named() -> Result<()> {
    let source = folder()?.join("gone.c");
    std::fs::write(&source, "int gone(void) { return 1; }")?;
    let library = folder()?.join("libgone.so");
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-o"]).arg(&library);
    build::succeed(command.arg(&source))?;
    let text = "int gone(void); int main(void) { return gone(); }";
    let path = library.display().to_string();
    let program = compile("needing", text, &["-g", &path])?;
    std::fs::remove_file(&library)?;
    let (output, diagnosis) = of(&program, &[])?;
    assert_eq!(output.status.code(), Some(1), "{diagnosis}");
    let (outcome, text) = finding(&diagnosis, "libraries").context("libraries")?;
    assert!(outcome == "bad" && text.contains("libgone.so"), "{text}");
    Ok(())
}

#[test]
fn limits_that_stop_profiling_are_found() -> Result<()> {
    let script = "ulimit -f 100; ulimit -n 40; exec \"$0\" doctor --json";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(build::profiler()?)
        .output()?;
    assert_eq!(output.status.code(), Some(1));
    let diagnosis: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let (outcome, text) = finding(&diagnosis, "file-size").context("file-size")?;
    assert!(outcome == "bad" && text.contains("ulimit -f"), "{text}");
    let (outcome, _) = finding(&diagnosis, "open-files").context("open-files")?;
    assert_eq!(outcome, "doubtful");
    let (outcome, text) = finding(&diagnosis, "preload").context("preload")?;
    assert_eq!(
        outcome, "bad",
        "no memory can be shared, so the trial fails: {text}"
    );
    Ok(())
}

#[test]
fn a_run_that_learned_nothing_says_what_the_doctor_would() -> Result<()> {
    let program = compile("learned_nothing", "int main(void) { return 0; }", &["-g"])?;
    let output = Command::new(build::profiler()?)
        .args(["run", "-o"])
        .arg(coz_rs_tests::run::profile_path("nothing")?)
        .arg("--")
        .arg(&program)
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("No progress point is compiled in"), "{text}");
    Ok(())
}
