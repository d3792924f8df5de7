//! `coz-rs demo`: profiles the bundled example and shows what to do with the result.

use std::path::Path;
use std::time::Duration;

use coz_rs_plot::estimates::{Analysis, LineEstimate, percent};

use crate::demo_program::{DemoProgram, build, rate};
use crate::launch::preload_library::cache_directory;
use crate::private_directory::PrivateDirectory;
use crate::run::{Finished, Options, run};

/// How long the example runs under the profiler, s.
const SECONDS: u32 = 35;
/// How long it runs to learn what a cure really brings, s, three times.
const TRUTH_SECONDS: u32 = 3;

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
    /// What the profile predicts and what a cure really brings, as a text that ends in what to do
    /// next.
    ///
    /// # Errors
    /// If the example does not run.
    pub fn story(&self, analysis: &Analysis) -> anyhow::Result<String> {
        let Some(point) = analysis.points.first() else {
            return Ok(String::new());
        };
        let hottest = point.lines.iter().max_by_key(|line| line.samples);
        let best = point.lines.first();
        let (Some(hottest), Some(best)) = (hottest, best) else {
            return Ok(String::new());
        };
        let program = &self.program.path;
        eprintln!("coz-rs: now curing two lines for real, to see whether that is true");
        let plain = rate(program, TRUTH_SECONDS, None)?;
        let mut text = String::from("Is it true? The demo has a cure for each of its lines:\n");
        for (line, what) in [(hottest, "the hottest line"), (best, "the line to work on")] {
            let Some(job) = job(line) else { continue };
            let cured = rate(program, TRUTH_SECONDS, Some(job))?;
            let predicted = line.best.map_or(0.0, |best| best.gain);
            text.push_str(&format!(
                "  {what} is in {job}: predicted {} % at best; cured for real: {} %\n",
                percent(predicted),
                percent(1.0 - plain / cured)
            ));
            if std::ptr::eq(hottest, best) {
                break;
            }
        }
        text.push_str(&format!(
            "Try it: {} --seconds 5 --fix checksum\n\
             Next, your own program: mark where a piece of work is done with a progress point and\n\
             run `coz-rs run -- ./app`.\n",
            program.display()
        ));
        Ok(text)
    }
}

fn job(line: &LineEstimate) -> Option<&'static str> {
    let function = line.function.as_deref()?;
    JOBS.into_iter().find(|job| function.contains(job))
}
