//! What each command does, from its arguments to its exit status.

use std::path::Path;

use clap::Parser as _;

use crate::command_line::{Command, CommandLine, RunArguments};
use crate::launch::program::end_like;
use crate::run::{Finished, run};

/// Nothing was learned.
const NOTHING_LEARNED: i32 = 1;
/// We failed.
const FAILED: i32 = 2;

/// Does what the command line says and ends the process.
pub fn main() -> ! {
    let line = CommandLine::parse();
    let result = match line.command {
        Command::Run(arguments) => profile(*arguments),
        Command::Plot(_) | Command::Demo(_) => Err(anyhow::anyhow!("not yet")),
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
    let code = if finished.nothing.is_some() {
        NOTHING_LEARNED
    } else {
        0
    };
    end_like(finished.status, code)
}

fn report(finished: &Finished) {
    for note in &finished.notes {
        eprintln!("coz-rs: {note}");
    }
    if let Some(nothing) = &finished.nothing {
        eprintln!("coz-rs: {nothing}");
        return;
    }
    for doubt in &finished.doubts {
        eprintln!("coz-rs: {doubt}");
    }
    eprintln!(
        "coz-rs: wrote {}; see it with `{}`",
        finished.profile.display(),
        next(&finished.profile)
    );
}

fn next(profile: &Path) -> String {
    if profile == Path::new("profile.coz") {
        "coz-rs plot".to_owned()
    } else {
        format!("coz-rs plot {}", profile.display())
    }
}
