//! What each command does, from its arguments to its exit status.

use std::io::IsTerminal;
use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use clap::Parser as _;
use coz_rs_plot::estimates::{Analysis, analyse};
use coz_rs_plot::html;
use coz_rs_plot::profile::Profile;
use coz_rs_plot::source_text::from_disk;
use coz_rs_plot::text::{self, Style};
use terminal_size::terminal_size;

use crate::command_line::{Command, CommandLine, DemoArguments, PlotArguments, RunArguments};
use crate::demo::run_demo;
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
        Command::Plot(arguments) => plot(&arguments),
        Command::Demo(arguments) => demo(&arguments),
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
    if let Some(nothing) = &finished.nothing {
        eprintln!("coz-rs: {nothing}");
        return;
    }
    for note in &finished.notes {
        eprintln!("coz-rs: {note}");
    }
    let analysis = analyse(&finished.records);
    let text = text::summary(&analysis, &style(std::io::stderr()));
    eprintln!("\n{}", text.trim_end());
    if finished.unwritten.is_none() {
        eprintln!(
            "coz-rs: wrote {}; see all of it with `{}`",
            finished.profile.display(),
            next(&finished.profile)
        );
    }
}

/// How text may look on a stream.
fn style(stream: impl IsTerminal) -> Style {
    let terminal = stream.is_terminal();
    let columns = terminal_size().map(|(width, _)| usize::from(width.0));
    Style {
        width: columns
            .filter(|_| terminal)
            .unwrap_or(Style::default().width),
        colour: terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        braille: terminal && is_utf8(),
        ..Style::default()
    }
}

/// Whether the user's locale shows characters beyond ASCII (locale(7)).
fn is_utf8() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    set.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

fn plot(arguments: &PlotArguments) -> anyhow::Result<i32> {
    let profile = Profile::read(&arguments.profile).map_err(in_one_sentence)?;
    let analysis = analyse(&profile.records);
    let code = if analysis.windows == 0 {
        NOTHING_LEARNED
    } else {
        0
    };
    if arguments.text {
        print(&text::report(&analysis, &style(std::io::stdout())))?;
        return Ok(code);
    }
    let path = match &arguments.output {
        Some(path) => path.clone(),
        None => arguments.profile.with_extension("html"),
    };
    write_report(&analysis, &path)?;
    let opened = arguments.output.is_none() && open_in_browser(&path);
    let hint = if opened || arguments.output.is_some() {
        ""
    } else {
        "; open it in a browser, or try `coz-rs plot --text`"
    };
    eprintln!("coz-rs: wrote {}{hint}", path.display());
    Ok(code)
}

fn write_report(analysis: &Analysis, path: &Path) -> anyhow::Result<()> {
    let page = html::report(analysis, &mut from_disk);
    std::fs::write(path, page)
        .with_context(|| format!("writing {}; name another file with -o", path.display()))
}

/// Shows a file in the user's browser, if there is a screen; whether that began.
fn open_in_browser(path: &Path) -> bool {
    let screen = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !screen {
        return false;
    }
    let mut opener = std::process::Command::new("xdg-open");
    let opener = opener
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // It ends at once, whatever the browser does.
    opener.status().is_ok_and(|status| status.success())
}

fn demo(arguments: &DemoArguments) -> anyhow::Result<i32> {
    start_log(0);
    let demo = run_demo(&arguments.output.with_extension("coz"))?;
    if let Some(nothing) = &demo.finished.nothing {
        eprintln!("coz-rs: {nothing}");
        return Ok(NOTHING_LEARNED);
    }
    let analysis = analyse(&demo.finished.records);
    let story = demo.story(&analysis)?;
    write_report(&analysis, &arguments.output)?;
    let report = text::report(&analysis, &style(std::io::stdout()));
    print(&format!("{}\n\n{story}", report.trim_end()))?;
    eprintln!(
        "coz-rs: wrote {}; open it in a browser",
        arguments.output.display()
    );
    Ok(0)
}

/// Prints to standard output; whoever reads it may stop reading.
fn print(text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    let text = format!("{}\n", text.trim_end());
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("writing the result")
        }
        _ => Ok(()),
    }
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
