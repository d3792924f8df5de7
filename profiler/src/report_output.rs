//! `coz-rs plot`: the result of a profile in the browser, in the terminal, and in files.

use std::io::IsTerminal;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context as _;
use coz_rs_plot::estimates::{Analysis, PointKind, analyse};
use coz_rs_plot::export;
use coz_rs_plot::html;
use coz_rs_plot::profile::Profile;
use coz_rs_plot::source_text::from_disk;
use coz_rs_plot::text::{self, Style};
use terminal_size::{Width, terminal_size_of};

use crate::command_line::{ColourChoice, PlotArguments};
use crate::commands::{NOTHING_LEARNED, in_one_sentence};

/// Stands for the standard output among file names.
const STANDARD_OUTPUT: &str = "-";
/// Pages that we wrote say so near their beginning.
const OUR_MARK: &str = "<meta name=\"generator\" content=\"coz-rs ";

/// Does what `coz-rs plot` was asked for; its exit status.
pub(crate) fn plot(arguments: &PlotArguments) -> anyhow::Result<i32> {
    let outputs = outputs(arguments);
    check(arguments, &outputs)?;
    let analysis = read(&arguments.profiles)?;
    let code = if analysis.windows == 0 {
        NOTHING_LEARNED
    } else {
        0
    };
    for (output, path) in &outputs {
        write(&output.bytes(&analysis, arguments)?, path)?;
    }
    if arguments.text {
        let mut style = style(std::io::stdout(), arguments.color);
        style.lines = arguments.lines.unwrap_or(style.lines);
        print(&text::report(&analysis, &style))?;
    }
    if let Some(path) = &arguments.output {
        write_report(&analysis, path)?;
        eprintln!("coz-rs: wrote {}", path.display());
    }
    let only_looking = outputs.is_empty() && !arguments.text && arguments.output.is_none();
    if only_looking {
        show(&analysis, arguments)?;
    }
    Ok(code)
}

/// Writes the report beside the profile and opens it, if there is a browser.
fn show(analysis: &Analysis, arguments: &PlotArguments) -> anyhow::Result<()> {
    let profile = arguments
        .profiles
        .first()
        .map_or(Path::new("profile.coz"), PathBuf::as_path);
    let path = beside(profile);
    // A name that nobody chose must not cost anybody a file.
    let foreign = std::fs::read(&path).is_ok_and(|page| {
        let start = &page[..page.len().min(4096)];
        !String::from_utf8_lossy(start).contains(OUR_MARK)
    });
    if foreign {
        anyhow::bail!(
            "{} exists and is no report of coz-rs; name another file with -o",
            path.display()
        );
    }
    write_report(analysis, &path)?;
    let hint = match open_in_browser(&path) {
        Ok(()) => "",
        Err(_) => "; open it in a browser, or try `coz-rs plot --text`",
    };
    eprintln!("coz-rs: wrote {}{hint}", path.display());
    Ok(())
}

/// The report's place if none was named: the profile's, with another ending.
fn beside(profile: &Path) -> PathBuf {
    let page = profile.with_extension("html");
    if page == profile {
        profile.with_extension("report.html")
    } else {
        page
    }
}

/// The analysis of one or several profiles.
fn read(paths: &[PathBuf]) -> anyhow::Result<Analysis> {
    let profiles: Result<Vec<Profile>, _> = paths.iter().map(Profile::read).collect();
    let profile = Profile::merge(profiles.map_err(in_one_sentence)?);
    let skipped = profile.skipped.to_string();
    if !skipped.is_empty() {
        eprintln!("coz-rs: {skipped}");
    }
    Ok(analyse(&profile.records))
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Svg,
    Png,
    Csv,
    Json,
    Editor,
    Speedscope,
    Firefox,
}

/// The files that were asked for.
fn outputs(arguments: &PlotArguments) -> Vec<(Output, &Path)> {
    let all = [
        (Output::Svg, &arguments.svg),
        (Output::Png, &arguments.png),
        (Output::Csv, &arguments.csv),
        (Output::Json, &arguments.json),
        (Output::Editor, &arguments.editor),
        (Output::Speedscope, &arguments.speedscope),
        (Output::Firefox, &arguments.firefox),
    ];
    let wanted = all
        .into_iter()
        .filter_map(|(output, path)| Some((output, path.as_deref()?)));
    wanted.collect()
}

/// Before anything is written: one result only on the standard output, and no picture on a terminal.
fn check(arguments: &PlotArguments, outputs: &[(Output, &Path)]) -> anyhow::Result<()> {
    let to_output = |path: &Path| path == Path::new(STANDARD_OUTPUT);
    let mut there = outputs.iter().filter(|(_, path)| to_output(path));
    let first = there.next();
    if there.next().is_some() || (first.is_some() && arguments.text) {
        anyhow::bail!("only one result fits on the standard output; name files for the others");
    }
    if first.is_some_and(|(output, _)| *output == Output::Png) && std::io::stdout().is_terminal() {
        anyhow::bail!("a terminal shows no PNG; name a file, or pipe it to a program");
    }
    let mut files: Vec<&Path> = outputs.iter().map(|(_, path)| *path).collect();
    files.extend(arguments.output.as_deref());
    files.retain(|path| !to_output(path));
    files.sort_unstable();
    if let Some(twice) = files.windows(2).find(|two| two[0] == two[1]) {
        anyhow::bail!("{} is named for two results", twice[0].display());
    }
    let overwritten = files.iter().find(|file| {
        let same = |profile: &PathBuf| {
            let place = |path: &Path| path.canonicalize().ok();
            place(profile).is_some() && place(profile) == place(file)
        };
        arguments.profiles.iter().any(same)
    });
    if let Some(file) = overwritten {
        anyhow::bail!(
            "{} is the profile itself; name another file",
            file.display()
        );
    }
    Ok(())
}

impl Output {
    fn bytes(self, analysis: &Analysis, arguments: &PlotArguments) -> anyhow::Result<Vec<u8>> {
        let lines = arguments
            .lines
            .filter(|lines| *lines > 0)
            .unwrap_or(match self {
                Output::Svg | Output::Png => 6,
                _ => usize::MAX,
            });
        let text = match self {
            Output::Svg => {
                let point = self::point(analysis, arguments.point.as_deref())?;
                export::svg::svg(analysis, point, lines).context("there is no such point")?
            }
            Output::Png => {
                let point = self::point(analysis, arguments.point.as_deref())?;
                return export::png::png(analysis, point, lines).context("drawing the picture");
            }
            Output::Csv => export::csv::csv(analysis),
            Output::Json => export::json(analysis).context("writing JSON")?,
            Output::Editor => export::editor::editor(analysis),
            Output::Speedscope => export::speedscope::speedscope(analysis),
            Output::Firefox => export::firefox::firefox(analysis).context("writing JSON")?,
        };
        Ok(text.into_bytes())
    }
}

/// The number of the progress point to draw: the one of this name, or the first.
fn point(analysis: &Analysis, name: Option<&str>) -> anyhow::Result<usize> {
    let Some(name) = name else {
        if analysis.points.is_empty() {
            anyhow::bail!(
                "the profile has no experiment with a visited progress point, so there is nothing \
                 to draw; `coz-rs plot --text` says what is in it"
            );
        }
        return Ok(0);
    };
    let fits = |kind| {
        let mut points = analysis.points.iter();
        points.position(|point| point.name == name && kind == point.kind)
    };
    let found = fits(PointKind::Throughput).or_else(|| fits(PointKind::Latency));
    found.with_context(|| {
        let names: Vec<&str> = analysis
            .points
            .iter()
            .map(|point| point.name.as_str())
            .collect();
        format!(
            "the profile has no progress point `{name}`, but {}",
            names.join(", ")
        )
    })
}

/// Writes a result to its file, or to the standard output, whose reader may stop reading.
pub(crate) fn write(bytes: &[u8], path: &Path) -> anyhow::Result<()> {
    if path == Path::new(STANDARD_OUTPUT) {
        return pour(bytes);
    }
    std::fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))?;
    eprintln!("coz-rs: wrote {}", path.display());
    Ok(())
}

/// Writes the HTML report.
pub(crate) fn write_report(analysis: &Analysis, path: &Path) -> anyhow::Result<()> {
    let page = html::report(analysis, &mut from_disk);
    std::fs::write(path, page)
        .with_context(|| format!("writing {}; name another file with -o", path.display()))
}

/// Why no browser was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NoBrowser;

/// Shows a file in the user's browser, if there is a screen.
fn open_in_browser(path: &Path) -> Result<(), NoBrowser> {
    let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    // BROWSER also names those that need no screen.
    if !["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].iter().any(set) {
        return Err(NoBrowser);
    }
    // A name that begins with a dash is no option.
    let path = path.canonicalize().map_err(|_| NoBrowser)?;
    let mut opener = std::process::Command::new("xdg-open");
    let opener = opener
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // It ends at once, whatever the browser does.
    match opener.status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(NoBrowser),
    }
}

/// How text may look on a stream.
pub(crate) fn style(stream: impl IsTerminal + std::os::fd::AsFd, colour: ColourChoice) -> Style {
    let terminal = stream.is_terminal();
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let dumb = set("TERM").is_none_or(|term| term == "dumb");
    let asked = set("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
    let columns = terminal_size_of(&stream).map(|(Width(width), _)| usize::from(width));
    Style {
        width: columns
            .filter(|columns| terminal && *columns > 0)
            .or(asked)
            .unwrap_or(Style::default().width),
        colour: match colour {
            ColourChoice::Always => true,
            ColourChoice::Never => false,
            ColourChoice::Auto => terminal && !dumb && set("NO_COLOR").is_none(),
        },
        braille: terminal && !dumb && is_utf8(),
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

/// Prints to standard output; whoever reads it may stop reading.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    pour(format!("{}\n", text.trim_end()).as_bytes())
}

/// Writes to standard output; whoever reads it may stop reading.
pub(crate) fn pour(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("writing the result")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_never_takes_the_profiles_own_name() {
        assert_eq!(
            beside(Path::new("a/profile.coz")),
            Path::new("a/profile.html")
        );
        assert_eq!(beside(Path::new("profile")), Path::new("profile.html"));
        assert_eq!(beside(Path::new("x.html")), Path::new("x.report.html"));
    }
}
