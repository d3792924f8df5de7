//! The command `coz-rs run` on real programs: what goes through it untouched, what it refuses and
//! what it leaves behind. Nothing here asks how good a prediction is.

#![allow(clippy::unwrap_used, reason = "a test says by its panic what failed")]

mod bench;

use std::process::Stdio;
use std::time::{Duration, Instant};

use bench::{Bench, signal, text};
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::{Experiment, Record};

fn experiments(profile: &Profile) -> Vec<&Experiment> {
    fn experiment(record: &Record) -> Option<&Experiment> {
        match record {
            Record::Experiment(experiment) => Some(experiment),
            _ => None,
        }
    }
    profile.records.iter().filter_map(experiment).collect()
}

fn doubts(profile: &Profile) -> Vec<&str> {
    fn doubt(record: &Record) -> Option<&str> {
        match record {
            Record::Doubt { doubt, .. } => Some(doubt.as_str()),
            _ => None,
        }
    }
    profile.records.iter().filter_map(doubt).collect()
}

#[test]
fn exit_statuses_and_signals_pass_through() {
    let bench = Bench::new("statuses");
    for (script, code, ended_by) in [
        ("exit 7", Some(7), None),
        ("kill -TERM $$", None, Some(15)),
        ("kill -KILL $$", None, Some(9)),
    ] {
        let output = bench
            .run(&["-o", script, "--", "sh", "-c", script])
            .output()
            .unwrap();
        assert_eq!(
            (output.status.code(), signal(&output)),
            (code, ended_by),
            "{script}"
        );
    }
}

#[test]
fn streams_and_arguments_pass_through() {
    let bench = Bench::new("streams");
    let mut child = bench
        .run(&["--", "sh", "-c", "cat; echo \"$1\" >&2", "sh", "a b -o c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"through\0and through").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"through\0and through");
    assert!(
        text(&output.stderr).starts_with("a b -o c\n"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn what_cannot_be_profiled_is_refused_before_it_starts() {
    let bench = Bench::new("refused");
    for (arguments, part) in [
        (vec!["--", "./missing"], "no such program"),
        (vec!["--", "/"], "not a regular file"),
        (
            vec!["-o", "/missing/profile", "--", "touch", "started"],
            "cannot be written",
        ),
        (
            vec!["--source-scope", "a[", "--", "touch", "started"],
            "not a glob",
        ),
    ] {
        let output = bench.run(&arguments).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(part), "{arguments:?}: {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "one sentence: {said}");
    }
    assert!(!bench.path("started").exists());
}

#[test]
fn a_full_disk_is_our_failure_and_not_the_programs() {
    let bench = Bench::new("full");
    let output = bench
        .run(&["-o", "/dev/full", "--", "echo", "done"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, b"done\n");
    let output = bench
        .run(&["-o", "/dev/full", "--", "sh", "-c", "exit 3"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn without_a_point_nothing_is_learned_and_the_profile_says_so() {
    let bench = Bench::new("nothing");
    let output = bench.run(&["--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("No progress point"),
        "{}",
        text(&output.stderr)
    );
    let profile = bench.profile();
    assert!(experiments(&profile).is_empty());
    assert!(doubts(&profile).contains(&"nothing-learned"));
    let plot = bench.coz_rs(&["plot", "--text"]).output().unwrap();
    assert_eq!(plot.status.code(), Some(1));
}

#[test]
fn without_debug_information_the_program_runs_and_the_cause_is_named() {
    let bench = Bench::new("stripped");
    let program = bench.build("steady", &["-O2", "-s"]);
    let output = bench.run(&["--", &program, "700"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).ends_with(" rounds\n"));
    assert!(
        text(&output.stderr).contains("no debug information"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_run_leaves_paired_experiments_on_the_line_that_works() {
    let bench = Bench::new("paired");
    let program = bench.build("steady", &["-O2", "-g"]);
    let output = bench
        .run(&["--seed", "1", "--warm-up", "300ms", "--", &program, "6000"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let profile = bench.profile();
    assert!(matches!(profile.records.first(), Some(Record::Session(s)) if s.seed == 1));
    assert!(matches!(
        profile.records.get(1),
        Some(Record::Startup { .. })
    ));
    let windows = experiments(&profile);
    assert!(windows.len() >= 4, "{} windows in 6 s", windows.len());
    let mut paused = 0.0;
    for block in windows.chunk_by(|a, b| a.block == b.block) {
        let speedups = block.iter().filter(|window| window.speedup > 0.0).count();
        assert_eq!(speedups, 1, "one window at a speedup, the others baselines");
        assert!(block.len() > speedups);
        for window in block {
            assert_eq!(window.selected, block[0].selected);
            assert!(window.selected.contains("steady.c:"), "{}", window.selected);
            assert!(window.duration <= window.wall.unwrap());
            assert_eq!(window.edges[0].name, "round");
            assert!(window.edges[0].visits >= 10, "{:?}", window.edges);
            // What others owe is at most s periods a hit, and nothing in a baseline.
            let pauses = (window.wall.unwrap() - window.duration) as f64;
            let most = window.speedup * window.selected_samples as f64 * 997e3;
            assert!(pauses <= 1.2 * most + 20e6, "{window:?}");
            // A thread that lost its processor between reading the window and crediting may credit
            // once more in the next.
            assert!(pauses < 997e3 || window.speedup > 0.0, "{window:?}");
            paused += pauses;
        }
    }
    assert!(
        profile
            .records
            .iter()
            .any(|record| matches!(record, Record::Runtime { .. }))
    );
    assert!(paused > 0.0, "no pause in all experiments");
    let again = bench.run(&["--", &program, "1"]).output().unwrap();
    assert_eq!(
        again.status.code(),
        Some(2),
        "the profile is of another command"
    );
}

#[test]
fn a_signal_to_the_controller_ends_the_program_and_completes_the_profile() {
    let bench = Bench::new("term");
    let program = bench.build("steady", &["-O2", "-g"]);
    let child = bench
        .run(&["--", &program, "60000"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    bench.wait_for_profile("experiment");
    bench::send(&child, "TERM");
    let begin = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert_eq!(signal(&output), Some(15));
    assert!(begin.elapsed() < Duration::from_secs(5));
    let last = bench.profile().records.pop();
    assert!(!matches!(last, Some(Record::Experiment(_))), "{last:?}");
    assert!(
        bench
            .profile()
            .records
            .iter()
            .any(|r| matches!(r, Record::Runtime { .. }))
    );
}

#[test]
fn a_killed_controller_leaves_the_program_running_to_its_end() {
    let bench = Bench::new("killed");
    let program = bench.build("steady", &["-O2", "-g"]);
    let mut child = bench
        .run(&["--", &program, "6000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stdout = child.stdout.take().unwrap();
    bench.wait_for_profile("experiment");
    child.kill().unwrap();
    child.wait().unwrap();
    let said = std::io::read_to_string(stdout).unwrap();
    assert!(said.ends_with(" rounds\n"), "{said}");
    assert!(
        !experiments(&bench.profile()).is_empty(),
        "what was written stays readable"
    );
}

#[test]
fn a_repeated_program_reads_its_input_again() {
    let bench = Bench::new("repeat");
    std::fs::write(bench.path("input"), "line\n").unwrap();
    let input = std::fs::File::open(bench.path("input")).unwrap();
    let output = bench
        .run(&["--repeat", "3", "--", "cat"])
        .stdin(input)
        .output()
        .unwrap();
    // Without a point another run would bring nothing either, so there is none.
    assert_eq!(text(&output.stdout), "line\n");
    let program = bench.build("steady", &["-O2", "-g"]);
    let script = format!("cat; {program} 300");
    let input = std::fs::File::open(bench.path("input")).unwrap();
    let output = bench
        .run(&[
            "-o",
            "other.coz",
            "--repeat",
            "3",
            "--",
            "sh",
            "-c",
            &script,
        ])
        .stdin(input)
        .output()
        .unwrap();
    assert_eq!(
        text(&output.stdout).matches("line\n").count(),
        3,
        "{}",
        text(&output.stdout)
    );
}
