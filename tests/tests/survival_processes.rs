//! Programs that start others, replace themselves or go into the background keep every status.

use std::process::{Command, Stdio};

use anyhow::Result;
use coz_rs_tests::build;
use coz_rs_tests::run::profile_path;
use coz_rs_tests::survival::{End, is_unharmed, profiler, program};

#[test]
fn forked_children_live_on() -> Result<()> {
    for sampler in ["sigtrap", "timer"] {
        is_unharmed("processes", &["forks"], &["--sampler", sampler])?;
    }
    is_unharmed("processes", &["forks"], &["--no-follow"])?;
    Ok(())
}

#[test]
fn started_programs_end_as_they_do() -> Result<()> {
    is_unharmed("processes", &["spawns"], &[])?;
    Ok(())
}

#[test]
fn a_program_replaces_itself() -> Result<()> {
    // A sample that is due at that moment would end the new program.
    for sampler in ["sigtrap", "timer"] {
        is_unharmed("processes", &["exec", "12"], &["--sampler", sampler])?;
    }
    Ok(())
}

#[test]
fn descriptors_may_all_be_closed_and_files_limited() -> Result<()> {
    for what in ["closes", "limits"] {
        let errors = is_unharmed("processes", &[what], &[])?;
        assert!(!errors.contains("No experiment"), "{what}: {errors}");
    }
    Ok(())
}

#[test]
fn a_daemon_goes_on_after_the_profiler() -> Result<()> {
    let note = profile_path("daemon")?;
    is_unharmed("processes", &["daemon", &note.display().to_string()], &[])?;
    // Once by the plain run's daemon, removed; the profiled run's writes again.
    for _ in 0..100 {
        if std::fs::read_to_string(&note).is_ok_and(|text| text == "daemon was here\n") {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    anyhow::bail!("no daemon wrote {}", note.display())
}

#[test]
fn it_gets_what_the_profiler_was_given() -> Result<()> {
    let path = program("processes")?;
    for (script, what) in [
        ("exec \"$@\"", "nothing"),
        ("trap '' PIPE USR1 XFSZ; exec \"$@\"", "ignored signals"),
        ("exec \"$@\" <&-", "a closed standard input"),
        ("exec 7</dev/null; exec \"$@\"", "a descriptor"),
        (
            "umask 077; exec nice -n 3 \"$@\"",
            "a niceness and an umask",
        ),
    ] {
        let run = |command: &Command| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script, "sh"]);
            shell.arg(command.get_program()).args(command.get_args());
            shell.stdin(Stdio::null()).output()
        };
        let mut plain = Command::new(&path);
        plain.arg("inherited");
        let (mut profiled, _) = profiler("inherited", &["--no-follow"])?;
        profiled.arg("--").arg(&path).arg("inherited");
        let (plain, profiled) = (run(&plain)?, run(&profiled)?);
        assert_eq!(End::from(&plain).said, End::from(&profiled).said, "{what}");
    }
    Ok(())
}

#[test]
fn wrapper_scripts_are_seen_through() -> Result<()> {
    let path = program("processes")?;
    let script = format!("{} exec 1; exit 5", path.display());
    let output = Command::new(build::profiler()?)
        .args(["run", "-o"])
        .arg(profile_path("wrapper")?)
        .args(["--", "sh", "-c", &script])
        .output()?;
    let end = End::from(&output);
    assert_eq!(end.code, Some(5), "{end:?}");
    assert!(end.said.contains("replaced"), "{end:?}");
    Ok(())
}
