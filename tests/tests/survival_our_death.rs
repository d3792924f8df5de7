//! When the profiler, the program or the disk goes, the rest goes on, and what was learned stays.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::Record;
use coz_rs_tests::build;
use coz_rs_tests::run::profile_path;
use coz_rs_tests::survival::{End, is_unharmed, profiler, program};

fn experiments(profile: &std::path::Path) -> usize {
    let Ok(profile) = Profile::read(profile) else {
        return 0;
    };
    let experiment = |record: &&Record| matches!(record, Record::Experiment(_));
    profile.records.iter().filter(experiment).count()
}

#[test]
fn a_killed_controller_leaves_full_speed_within_a_second() -> Result<()> {
    let path = program("left_alone")?;
    let line = build::marked_line("survival/left_alone.c", "fast")?;
    let profile = profile_path("left_alone")?;
    let mut child = Command::new(build::profiler()?)
        .args([
            "run",
            "--warm-up",
            "20ms",
            "--fixed-speedup",
            "100",
            "--fixed-line",
        ])
        .arg(format!("left_alone.c:{line}"))
        .arg("-o")
        .arg(&profile)
        .arg("--")
        .arg(&path)
        .arg("180")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("its output")?).lines();
    // Killed in the middle of a window in which the other thread stands still.
    let mut before = Vec::new();
    for line in lines.by_ref() {
        let share: u32 = line?.parse()?;
        before.push(share);
        if (share < 40 && before.len() > 10) || before.len() > 120 {
            break;
        }
    }
    child.kill()?;
    child.wait()?;
    let rest: Vec<String> = lines.collect::<Result<_, _>>()?;
    let shares: Vec<u32> = rest.iter().filter_map(|line| line.parse().ok()).collect();
    assert!(before.last() < Some(&40), "never paused: {before:?}");
    assert_eq!(
        rest.last().map(String::as_str),
        Some("ended well"),
        "{rest:?}"
    );
    // From one second on, as fast as the other thread (on a busy machine: about).
    let later = &shares[40.min(shares.len())..];
    let mean = later.iter().sum::<u32>() / u32::try_from(later.len().max(1))?;
    assert!(later.len() > 3 && mean > 60, "{before:?} then {shares:?}");
    Ok(())
}

#[test]
fn a_killed_program_leaves_every_finished_experiment() -> Result<()> {
    let path = program("watchdog")?;
    let (mut command, profile) = profiler("killed", &[])?;
    let script = format!("echo $$; exec {} 60000", path.display());
    let mut child = command
        .args(["--", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut pid = String::new();
    BufReader::new(child.stdout.take().context("its output")?).read_line(&mut pid)?;
    let begin = Instant::now();
    while experiments(&profile) < 4 && begin.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let known = experiments(&profile);
    build::succeed(Command::new("kill").args(["-KILL", pid.trim()]))?;
    let status = child.wait()?;
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
    assert!(known >= 4 && experiments(&profile) >= known);
    Ok(())
}

#[test]
fn a_program_that_locks_itself_up_lives() -> Result<()> {
    for how in ["prctl", "seccomp"] {
        let errors = is_unharmed("locks_itself_up", &[how], &[])?;
        assert!(errors.contains("seccomp"), "{how}: {errors}");
    }
    Ok(())
}

#[test]
fn pauses_can_be_bounded() -> Result<()> {
    let path = program("watchdog")?;
    let line = build::marked_line("survival/busy.h", "hot")?;
    let longest = |bound: &[&str]| -> Result<(u64, u64)> {
        let output = Command::new(build::profiler()?)
            .args(["run", "--warm-up", "20ms", "--fixed-speedup", "100"])
            .arg(format!("--fixed-line=busy.h:{line}"))
            .args(bound)
            .arg("-o")
            .arg(profile_path("watchdog")?)
            .arg("--")
            .arg(&path)
            .arg("2500")
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut numbers = said.split_whitespace().map(str::parse);
        let first = numbers.next().context("a number")??;
        Ok((first, numbers.next().context("a number")??))
    };
    let free = longest(&[])?;
    let bounded = longest(&["--max-pause", "20ms"])?;
    // Paused for at most half of the time and 20 ms; the machine itself takes the processor away.
    assert!(free.1 > 500, "without a bound: {free:?}");
    assert!(bounded.1 < free.1, "{free:?} then {bounded:?}");
    Ok(())
}

#[test]
fn without_the_socket_or_shared_memory_the_program_runs() -> Result<()> {
    let path = program("watchdog")?;
    let remove = format!(
        "rm -rf \"$(dirname \"$COZ_RS_SOCKET\")\"; exec {} 100",
        path.display()
    );
    let (mut command, _) = profiler("removed", &[])?;
    let output = command.args(["--", "sh", "-c", &remove]).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{errors}");
    assert_eq!(
        End::from(&output).said.split_whitespace().count(),
        2,
        "{errors}"
    );

    // No file may grow beyond 16 KiB: neither can memory be shared, nor a profile be written.
    let (command, _) = profiler("tiny", &[])?;
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 16; exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .arg("--")
        .arg(&path)
        .arg("100")
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{errors}");
    assert_eq!(
        End::from(&output).said.split_whitespace().count(),
        2,
        "{errors}"
    );
    Ok(())
}

#[test]
fn a_full_disk_is_said_once() -> Result<()> {
    let path = program("watchdog")?;
    let line = build::marked_line("survival/busy.h", "hot")?;
    let output = Command::new(build::profiler()?)
        .args(["run", "--warm-up", "20ms", "-o", "/dev/full"])
        .arg(format!("--fixed-line=busy.h:{line}"))
        .arg("--")
        .arg(&path)
        .arg("900")
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert_eq!(
        End::from(&output).said.split_whitespace().count(),
        2,
        "{errors}"
    );
    assert_eq!(errors.matches("No space left").count(), 1, "{errors}");
    Ok(())
}
