//! `coz-rs demo`: profiles a bundled program and shows what to do with the result.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use coz_rs_plot::estimates::percent;
use coz_rs_plot::profile::Profile;

use crate::demo_catalogue::{FROM_THE_SOURCES, STORIES, Story};
use crate::demo_measurement::{marked_line, measure, predicted};
use crate::demo_program::{DemoProgram, build};
use crate::launch::preload_library::cache_directory;
use crate::point_arguments::PointArguments;
use crate::private_directory::PrivateDirectory;
use crate::run::{Finished, Options, run};
use crate::scope_arguments::ScopeArguments;

/// How long the program runs under the profiler, s, to find out which lines matter.
const SECONDS: f64 = 25.0;
/// How much longer for each line that can be changed, s, to know it well.
const SECONDS_A_LINE: f64 = 7.0;
/// How long it runs to learn what a change really brings, s, twice a change.
const TRUTH_SECONDS: f64 = 2.0;

/// The demo's result.
#[derive(Debug)]
pub struct Demo {
    /// The profiled run.
    pub finished: Finished,
    story: &'static Story,
    program: DemoProgram,
    /// Where the program lies if there is no cache, and where the second profile goes.
    directory: PrivateDirectory,
}

/// The list of stories.
#[must_use]
pub fn list() -> String {
    let mut text = String::new();
    for story in STORIES {
        let _ = writeln!(text, "{:<12} {}", story.name, story.about);
    }
    text.push_str(
        "\n`coz-rs demo NAME` builds one, profiles it and compares predictions with changes.\n\
         \nOthers need crates and are built from the sources of coz-rs:\n",
    );
    for (name, about, example) in FROM_THE_SOURCES {
        let _ = writeln!(text, "{name}: {about}\n    {}", from_the_sources(example));
    }
    text
}

fn from_the_sources(example: &str) -> String {
    format!("cargo build --release -p coz-rs-examples && coz-rs run -- target/release/{example}")
}

/// Builds and profiles a story's program; the profile goes to `profile`.
///
/// # Errors
/// If there is no such story, or its program cannot be built or profiled.
pub fn run_demo(name: Option<&str>, profile: &Path) -> anyhow::Result<Demo> {
    let story = match name {
        None => STORIES.first(),
        Some(name) => Story::named(name),
    };
    let elsewhere = || FROM_THE_SOURCES.iter().find(|other| Some(other.0) == name);
    if let Some((name, _, example)) = elsewhere() {
        anyhow::bail!(
            "{name} needs crates; in the sources of coz-rs: `{}`",
            from_the_sources(example)
        );
    }
    let Some(story) = story else {
        anyhow::bail!(
            "there is no demo {}; `coz-rs demo --list` names them",
            name.unwrap_or_default()
        );
    };
    let directory = PrivateDirectory::make()?;
    let cached = cache_directory().and_then(|cache| build(story, &cache).ok());
    let program = match cached {
        Some(program) => program,
        None => build(story, directory.path())?,
    };
    eprintln!(
        "coz-rs: built {} with {}; profiling it for {SECONDS} s",
        program.path.display(),
        program.compiler
    );
    let finished = run(&options(story, &program, SECONDS, profile, Vec::new()))?;
    Ok(Demo {
        finished,
        story,
        program,
        directory,
    })
}

fn options(
    story: &Story,
    program: &DemoProgram,
    seconds: f64,
    profile: &Path,
    fixed_lines: Vec<String>,
) -> Options {
    let mut command = vec![program.path.clone().into()];
    command.extend(story.arguments.iter().map(Into::into));
    command.extend(["--seconds".into(), seconds.to_string().into()]);
    Options {
        points: PointArguments::default(),
        command,
        output: profile.to_owned(),
        scope: ScopeArguments::default(),
        fixed_lines,
        fixed_speedups: Vec::new(),
        end_to_end: false,
        seed: None,
        warm_up: Some(Duration::from_millis(500)),
        time: None,
        repeat: None,
        sampler: None,
        no_follow: false,
        max_pause: None,
        force: true,
        live: false,
    }
}

impl Demo {
    /// What the profile predicts and what the changes really bring, as a text that ends in what to
    /// do next.
    ///
    /// # Errors
    /// If the program does not run.
    pub fn story(&self) -> anyhow::Result<String> {
        let (story, sources) = (self.story, &self.program.sources);
        let mut lines: Vec<String> = Vec::new();
        for change in story.changes {
            let line = marked_line(sources, change.line);
            lines.extend(line.filter(|line| !lines.contains(line)));
        }
        eprintln!("coz-rs: asking about the lines that the program can change for real");
        let seconds = SECONDS_A_LINE * lines.len() as f64;
        let profile = self.directory.path().join("changes.coz");
        let about = run(&options(story, &self.program, seconds, &profile, lines))?;
        let profile = Profile {
            records: about.records,
            ..Profile::default()
        };
        eprintln!("coz-rs: changing each for real, to see whether the predictions are true");
        let mut text = String::from(
            "Is it true? The program can make each of these changes for real:\n\
             change                     samples   line faster by   predicted gain   real gain\n",
        );
        for change in story.changes {
            let arguments = story.arguments;
            let real = measure(&self.program.path, arguments, change, TRUTH_SECONDS, 1)?;
            let told = predicted(&profile, sources, change, real.line);
            let known = |part: Option<f64>| part.map_or("?".to_owned(), percent);
            let _ = writeln!(
                text,
                "{:<25} {:>7} %   {:>12} %   {:>12} %   {:>7} %",
                change.name,
                known(told.map(|told| told.samples)),
                percent(real.line),
                known(told.map(|told| told.gain)),
                percent(real.gain)
            );
        }
        let first = story
            .changes
            .first()
            .map_or(&[][..], |change| change.arguments);
        let words = |words: &[&str]| {
            words
                .iter()
                .fold(String::new(), |all, word| all + " " + word)
        };
        let _ = write!(
            text,
            "{}\n\n\
             Try it: {}{} --seconds 5{}\n\
             Next, your own program: mark where a piece of work is done with a progress point and\n\
             run `coz-rs run -- ./app`. `coz-rs demo --list` names more stories.\n",
            story.lesson,
            self.program.path.display(),
            words(story.arguments),
            words(first),
        );
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_demo_is_refused_with_what_to_do() {
        let error = run_demo(Some("nothing"), Path::new("x.coz")).unwrap_err();
        assert!(error.to_string().contains("coz-rs demo --list"), "{error}");
        for (name, _, example) in FROM_THE_SOURCES {
            let error = run_demo(Some(name), Path::new("x.coz")).unwrap_err();
            assert!(error.to_string().contains(example), "{error}");
        }
    }

    #[test]
    fn the_list_names_every_story() {
        let list = list();
        assert!(STORIES.iter().all(|story| list.contains(story.name)));
        assert!(list.lines().all(|line| line.len() <= 90), "{list}");
    }
}
