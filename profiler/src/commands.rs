//! What each command does, from its arguments to its exit status.

use std::path::Path;

use anyhow::Context as _;
use clap::Parser as _;
use coz_rs_plot::estimates::analyse;
use coz_rs_plot::text;

use crate::command_line::{
    ColourChoice, Command, CommandLine, DemoArguments, DoctorArguments, RunArguments,
};
use crate::demo::{list, run_demo};
use crate::doctor::{Outcome, examine, plain, remarks};
use crate::launch::inherited;
use crate::launch::program::end_like;
use crate::manual::{completions, man};
use crate::merging::merge;
use crate::report_output::{plot, print, style, write_report};
use crate::run::{Finished, run};
use crate::symbols::Scope;
use crate::two_profiles::{compare, verify};

/// Nothing was learned.
pub(crate) const NOTHING_LEARNED: i32 = 1;
/// We failed.
const FAILED: i32 = 2;

/// Does what the command line says and ends the process.
pub fn main() -> ! {
    inherited::outlive_file_size_limit();
    let line = CommandLine::parse();
    let result = match line.command {
        Command::Run(arguments) => profile(*arguments),
        Command::Plot(arguments) => plot(&arguments),
        Command::Demo(arguments) => demo(&arguments),
        Command::Doctor(arguments) => doctor(&arguments),
        Command::Compare(arguments) => compare(&arguments),
        Command::Verify(arguments) => verify(&arguments),
        Command::Merge(arguments) => merge(&arguments),
        Command::Completions(arguments) => completions(arguments.shell),
        Command::Man(arguments) => man(arguments.out.as_deref()),
    };
    match result {
        Ok(code) => std::process::exit(code),
        Err(error) => {
            eprintln!("coz-rs: {error:#}");
            std::process::exit(FAILED);
        }
    }
}

fn start_log(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "coz_rs=info",
        _ => "coz_rs=debug",
    };
    env_logger::Builder::new()
        .parse_filters(level)
        .format(|out, record| {
            use std::io::Write as _;
            writeln!(out, "coz-rs: {}", record.args())
        })
        .init();
}

fn profile(arguments: RunArguments) -> anyhow::Result<i32> {
    start_log(arguments.verbose);
    let finished = run(&arguments.options())?;
    report(&finished);
    let code = match (&finished.unwritten, &finished.nothing) {
        (Some(_), _) => FAILED,
        (None, Some(_)) => NOTHING_LEARNED,
        (None, None) => 0,
    };
    end_like(finished.status, code)
}

fn report(finished: &Finished) {
    if let Some(error) = &finished.unwritten {
        eprintln!("coz-rs: {error}; make room, or run again with another -o");
    }
    for note in &finished.points {
        eprintln!("coz-rs: {note}");
    }
    if let Some(nothing) = &finished.nothing {
        eprintln!("coz-rs: {nothing}");
        eprint!("{}", remarks(&finished.diagnosis));
        let analysis = analyse(&finished.records);
        let left_out =
            text::scope_summary(&analysis, &style(std::io::stderr(), ColourChoice::Auto));
        eprint!("{left_out}");
        return;
    }
    for note in &finished.notes {
        eprintln!("coz-rs: {note}");
    }
    let analysis = analyse(&finished.records);
    let text = text::summary(&analysis, &style(std::io::stderr(), ColourChoice::Auto));
    eprintln!("\n{}", text.trim_end());
    eprintln!("coz-rs: {}", finished.cost);
    if finished.unwritten.is_none() {
        eprintln!(
            "coz-rs: wrote {}; see all of it with `{}`",
            finished.profile.display(),
            next(&finished.profile)
        );
    }
}

fn demo(arguments: &DemoArguments) -> anyhow::Result<i32> {
    if arguments.list {
        print(&list())?;
        return Ok(0);
    }
    start_log(0);
    let profile = arguments.output.with_extension("coz");
    let demo = run_demo(arguments.name.as_deref(), &profile)?;
    if let Some(nothing) = &demo.finished.nothing {
        eprintln!("coz-rs: {nothing}");
        return Ok(NOTHING_LEARNED);
    }
    let analysis = analyse(&demo.finished.records);
    let story = demo.story()?;
    write_report(&analysis, &arguments.output)?;
    let report = text::report(&analysis, &style(std::io::stdout(), ColourChoice::Auto));
    print(&format!("{}\n\n{story}", report.trim_end()))?;
    eprintln!(
        "coz-rs: wrote {}; open it in a browser",
        arguments.output.display()
    );
    Ok(0)
}

fn doctor(arguments: &DoctorArguments) -> anyhow::Result<i32> {
    let scope = Scope::new(&arguments.source_scope, &arguments.source_exclude, &[])?;
    let diagnosis = examine(arguments.program.as_deref(), &scope);
    if arguments.json {
        print(&serde_json::to_string_pretty(&diagnosis).context("writing JSON")?)?;
    } else {
        print(&plain(&diagnosis))?;
    }
    Ok(match diagnosis.outcome {
        Outcome::Bad => NOTHING_LEARNED,
        _ => 0,
    })
}

fn next(profile: &Path) -> String {
    if profile == Path::new("profile.coz") {
        "coz-rs plot".to_owned()
    } else {
        format!("coz-rs plot {}", profile.display())
    }
}

/// Errors of `coz-rs-plot` name their cause themselves; a chain would name it twice.
pub(crate) fn in_one_sentence(error: impl std::error::Error) -> anyhow::Error {
    anyhow::Error::msg(error.to_string())
}
