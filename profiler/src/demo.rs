//! `coz-rs demo`: profiles the bundled example and shows what to do with the result.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use coz_rs_plot::estimates::{Analysis, LineEstimate, percent};

use crate::demo_program::{DemoProgram, build, rate};
use crate::launch::preload_library::cache_directory;
use crate::private_directory::PrivateDirectory;
use crate::run::{Finished, Options, run};

/// How long the example runs under the profiler, s.
const SECONDS: u32 = 35;
/// How long it runs to learn what a cure really brings, s, four times.
const TRUTH_SECONDS: u32 = 2;

/// The demo's result.
#[derive(Debug)]
pub struct Demo {
    /// The profiled run.
    pub finished: Finished,
    program: DemoProgram,
    /// Where the program lies if there is no cache.
    _directory: Option<PrivateDirectory>,
}

/// Builds and profiles the example; the profile goes to `profile`.
///
/// # Errors
/// If it cannot be built or profiled.
pub fn run_demo(profile: &Path) -> anyhow::Result<Demo> {
    let cache = cache_directory();
    let built = cache.as_deref().map(build);
    let (program, directory) = match built {
        Some(Ok(program)) => (program, None),
        _ => {
            let directory = PrivateDirectory::make()?;
            (build(directory.path())?, Some(directory))
        }
    };
    eprintln!(
        "coz-rs: built {} with {}; profiling it for {SECONDS} s",
        program.path.display(),
        program.compiler
    );
    let options = Options {
        command: vec![
            program.path.clone().into(),
            "--seconds".into(),
            SECONDS.to_string().into(),
        ],
        output: profile.to_owned(),
        source_scope: Vec::new(),
        // The marks of progress are no work.
        source_exclude: vec!["%progress-points%".to_owned()],
        binary_scope: Vec::new(),
        fixed_lines: Vec::new(),
        fixed_speedup: None,
        seed: None,
        warm_up: Some(Duration::from_millis(500)),
        time: None,
        repeat: None,
        sampler: None,
        no_follow: false,
        force: true,
    };
    Ok(Demo {
        finished: run(&options)?,
        program,
        _directory: directory,
    })
}

/// The jobs of the example, which are its functions and its cures.
const JOBS: [&str; 3] = ["generate", "scramble", "checksum"];

impl Demo {
    /// What the profile predicts and what the cures really bring, as a text that ends in what to
    /// do next.
    ///
    /// # Errors
    /// If the example does not run.
    pub fn story(&self, analysis: &Analysis) -> anyhow::Result<String> {
        let Some(point) = analysis.points.first() else {
            return Ok(String::new());
        };
        let program = &self.program.path;
        eprintln!("coz-rs: curing each job for real, to see whether that is true");
        let plain = rate(program, TRUTH_SECONDS, None)?;
        let mut text = String::from(
            "Is it true? The demo can cure each of its three jobs for real:\n\
             job        samples   without its line   really cured\n",
        );
        for job in JOBS {
            let lines = || point.lines.iter().filter(|line| is_of(line, job));
            let share: f64 = lines().map(|line| line.sample_share).sum();
            let main = lines().max_by_key(|line| line.samples);
            let predicted = main
                .and_then(|line| line.best)
                .map(|best| percent(best.gain));
            let cured = rate(program, TRUTH_SECONDS, Some(job))?;
            let _ = writeln!(
                text,
                "{job:<10} {:>5} %   {:>14} %   {:>10} %",
                percent(share),
                predicted.as_deref().unwrap_or("?"),
                percent(1.0 - plain / cured)
            );
        }
        let _ = write!(
            text,
            "A cure makes a line cheaper, it does not take it away, so it gains at most what the \
             profile says.\n\n\
             Try it: {} --seconds 5 --fix checksum\n\
             Next, your own program: mark where a piece of work is done with a progress point and\n\
             run `coz-rs run -- ./app`.\n",
            program.display()
        );
        Ok(text)
    }
}

fn is_of(line: &LineEstimate, job: &str) -> bool {
    line.function
        .as_deref()
        .is_some_and(|function| function.contains(job))
}
