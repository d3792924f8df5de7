//! Refusals that name the cure: an unwritable profile, a line without code, no perf events.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::Result;
use coz_rs_tests::build;

/// Builds a C program of this test's own.
fn small(name: &str, text: &str, words: &[&str]) -> Result<PathBuf> {
    let folder = build::output().join("refusals");
    fs::create_dir_all(&folder)?;
    let source = folder.join(format!("{name}.c"));
    fs::write(&source, text)?;
    let built = folder.join(name);
    let mut command = Command::new("cc");
    command
        .args(["-O1", "-pthread", "-I"])
        .arg(build::root().join("progress-points/include"));
    command.args(words).arg("-o").arg(&built).arg(&source);
    build::succeed(&mut command)?;
    Ok(built)
}

const VISITING: &str = "#include \"coz.h\"\nint main(void) { volatile long x = 0; \
    for (long i = 0; i < 1500; i++) { for (long j = 0; j < 1000000; j++) x += j; \
    COZ_PROGRESS_NAMED(\"step\"); } return 0; }";

fn run(profile: &str, program: &str) -> Result<(Output, String)> {
    let output = Command::new(build::profiler()?)
        .args(["run", "--force", "-o", profile, "--", program])
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output, text))
}

fn profile(name: &str) -> Result<String> {
    Ok(coz_rs_tests::run::profile_path(name)?.display().to_string())
}

fn path(program: &std::path::Path) -> String {
    program.display().to_string()
}

#[test]
fn a_profile_that_cannot_be_written_is_said_before_the_program_starts() -> Result<()> {
    let program = small(
        "unwritable",
        "#include <stdio.h>\nint main(void) { puts(\"ran\"); }",
        &[],
    )?;
    let (output, text) = run("/no-such-folder/profile.coz", &path(&program))?;
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("/no-such-folder/profile.coz") && text.contains("-o"),
        "{text}"
    );
    assert!(output.stdout.is_empty());
    Ok(())
}

#[test]
fn a_line_without_code_is_answered_with_its_neighbours() -> Result<()> {
    let program = small("fixed", VISITING, &["-g"])?;
    let output = Command::new(build::profiler()?)
        .args([
            "run",
            "--force",
            "--fixed-line",
            "fixed.c:7777",
            "-o",
            &profile("fixed")?,
            "--",
        ])
        .arg(&program)
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("no code on line 7777") && text.contains("nearest"),
        "{text}"
    );
    Ok(())
}

#[test]
fn a_refused_perf_event_leaves_the_timer_and_names_the_cause() -> Result<()> {
    let program = small("timer", VISITING, &["-g"])?;
    let profile = profile("timer")?;
    let output = Command::new(build::profiler()?)
        .args(["run", "--force", "--sampler", "timer", "-o", &profile, "--"])
        .arg(&program)
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{text}");
    let profile = fs::read_to_string(profile)?;
    assert!(profile.contains("\"sampler\":\"timer\""), "{profile}");
    assert!(profile.contains("\"type\":\"samples\""), "{profile}");
    Ok(())
}

#[test]
fn each_way_to_refuse_perf_events_is_named_for_what_it_is() -> Result<()> {
    let launcher = coz_rs_tests::survival::program("refusing_launcher")?;
    let program = small("refused_events", VISITING, &["-g"])?;
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let strict = level.trim().parse::<i32>().is_ok_and(|level| level > 2);
    // EPERM, EACCES, ENOSYS, EINVAL.
    for (errno, part) in [
        ("1", "forbidden"),
        ("13", "forbidden"),
        ("38", "no perf_event_open"),
        ("22", "5.13"),
    ] {
        let output = Command::new(&launcher)
            .arg(errno)
            .arg(build::profiler()?)
            .args(["run", "--warm-up", "3600", "-o", &profile("events")?, "--"])
            .arg(&program)
            .output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("the timer sampler runs"), "{errno}: {text}");
        let part = if strict && matches!(errno, "1" | "13") {
            "perf_event_paranoid"
        } else {
            part
        };
        assert!(text.contains(part), "{errno}: {text}");
        // A setting that is fine already is not to be changed.
        assert!(strict || !text.contains("sysctl"), "{errno}: {text}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_preloaded_is_refused_in_one_sentence() -> Result<()> {
    let plain = "int main(void) { return 0; }";
    let folder = build::output().join("refusals");
    let script = folder.join("no_interpreter");
    fs::create_dir_all(&folder)?;
    fs::write(&script, "#!/no/such/interpreter\nexit 0\n")?;
    let mut cases = vec![
        (small("static", plain, &["-static"])?, "statically linked"),
        (
            small(
                "musl",
                plain,
                &["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"],
            )?,
            "needs glibc",
        ),
        (script.clone(), "no such program"),
        (folder.join("missing"), "no such program"),
    ];
    let set_user = small("set_user", plain, &[])?;
    let mut own = Command::new("chown");
    if own.arg("nobody").arg(&set_user).output()?.status.success() {
        cases.push((set_user, "changes its user"));
    } else {
        println!("skipped: only root can make a program of another user's");
    }
    let narrow = folder.join("narrow");
    let mut bytes = fs::read("/bin/true")?;
    bytes[4] = 1;
    fs::write(&narrow, bytes)?;
    cases.push((narrow, "32-bit"));
    for (path, part) in cases {
        if path.exists() {
            let mode = if part == "changes its user" {
                "4755"
            } else {
                "755"
            };
            build::succeed(Command::new("chmod").arg(mode).arg(&path))?;
        }
        let (output, text) = run("/no-such-folder/x.coz", &path.display().to_string())?;
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(part), "{part}: {text}");
        assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    }
    Ok(())
}
