//! The command line: what may be asked for, and the help that says so.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::point_arguments::PointArguments;
use crate::run::Options;
use crate::scope_arguments::ScopeArguments;
use crate::targets::target::Sampler;

const EXAMPLES: &str = "\
Examples:
  coz-rs demo                      Profile a bundled example and show the result.
  coz-rs run -- ./app --its-args   Profile a program into profile.coz.
  coz-rs plot                      Show profile.coz in the browser.
";

const RUN_EXAMPLES: &str = "\
Examples:
  coz-rs run -- ./app --its-args           Profile one run into profile.coz.
  coz-rs run --for 2m --live -- ./app      Run it again and again, and watch.
  coz-rs run --fixed-line a.c:7 -- ./app   Know one line well.
";

const PLOT_EXAMPLES: &str = "\
Examples:
  coz-rs plot                              Open the report of profile.coz.
  coz-rs plot --text                       Print it.
  coz-rs plot run.coz -o r.html --svg p.svg --json r.json
";

const EXIT_STATUS: &str = "\
Exit status: 0 if something was learned, 1 if nothing was, 2 if coz-rs failed; `run` ends as the
program does if the program fails.";

/// Finds which source lines would make a whole program faster if they were faster.
#[derive(Debug, Parser)]
#[command(name = "coz-rs", version, before_help = EXAMPLES, before_long_help = EXAMPLES)]
#[command(after_long_help = EXIT_STATUS)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program and write its causal profile.
    #[command(before_help = RUN_EXAMPLES)]
    Run(Box<RunArguments>),
    /// Show a profile: in the browser, or with --text in the terminal.
    #[command(before_help = PLOT_EXAMPLES)]
    Plot(PlotArguments),
    /// Profile a bundled example and show what to do with the result.
    Demo(DemoArguments),
    /// Say what works on this machine and with a program, and what to do about the rest.
    Doctor(DoctorArguments),
    /// Show a profile from before a change beside one from after it.
    Compare(CompareArguments),
    /// Compare what was predicted for a line with what a change of it brought.
    Verify(VerifyArguments),
    /// Make one profile of those of several runs or machines.
    Merge(MergeArguments),
    /// Print the completions of a shell.
    Completions(CompletionsArguments),
    /// Print the manual page, or write all of them.
    Man(ManArguments),
}

/// `coz-rs run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Write the profile to this file.
    ///
    /// A profile of the same program is added to; one of another program is left alone unless
    /// --force is given.
    #[arg(short, long, value_name = "FILE", default_value = "profile.coz")]
    pub output: PathBuf,

    /// Gather for this long in all, for instance 90s or 2m.
    ///
    /// A program that ends sooner is run again; one that runs longer finishes at full speed.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,

    /// Run the program this many times, to gather more.
    ///
    /// For programs that end within seconds. With --for, at most this many times.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,

    /// What experiments may select.
    #[command(flatten)]
    pub scope: ScopeArguments,

    /// Experiment on this line only (repeatable).
    ///
    /// To know one line well. The last parts of the path are enough: parser.rs:120. With --unit
    /// function it is a function's name.
    #[arg(long, value_name = "FILE:LINE")]
    pub fixed_line: Vec<String>,

    /// Progress points without marks in the source.
    #[command(flatten)]
    pub points: PointArguments,

    /// Try only this virtual speedup in percent, or these: N or A..B:STEP.
    ///
    /// Each experiment then compares one of them with none: 50, or 10..50:10 for 10, 20, 30, 40
    /// and 50.
    #[arg(long, value_name = "PERCENT", value_parser = parse_speedups)]
    pub fixed_speedup: Option<Speedups>,

    /// Measure whole runs: what is to get shorter is the run itself.
    ///
    /// For programs without progress points that end by themselves. The program is run until the
    /// verdict is clear, or -n times, or for the time given by --for; each run has a memory layout
    /// of its own.
    #[arg(long, conflicts_with = "warm_up")]
    pub end_to_end: bool,

    /// Begin experiments after this long, for instance 5s.
    ///
    /// For programs that load or warm caches first. Without it experiments begin once enough was
    /// seen of lines and progress points.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub warm_up: Option<Duration>,

    /// Make the same random choices as the run with this seed.
    ///
    /// The seed of each run is in its profile.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// How to sample the program.
    ///
    /// `sigtrap` needs perf events, `timer` works everywhere and is coarser, `auto` takes the
    /// better one that works, and goes over to `timer` in programs whose threads change so often
    /// that perf events slow them down (on virtual machines).
    #[arg(long, value_enum, default_value_t = SamplerChoice::Auto)]
    pub sampler: SamplerChoice,

    /// Leave processes alone that the program starts.
    ///
    /// Without it each of them is profiled too.
    #[arg(long)]
    pub no_follow: bool,

    /// Pause no thread for longer than this at a stretch, for instance 50ms.
    ///
    /// For programs with a watchdog or short time-outs of their own. Windows in which threads would
    /// have had to pause for longer are not measured, so large virtual speedups may be missing.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub max_pause: Option<Duration>,

    /// Add to the profile even if it is of another program.
    ///
    /// For a program that was rebuilt, or that is called in several ways.
    #[arg(long)]
    pub force: bool,

    /// Show the ranking as it grows, on the whole terminal.
    ///
    /// What the program prints meanwhile is kept, its last lines are shown, and all of it is printed
    /// when the view closes. Ctrl-C ends the program and keeps the profile.
    #[arg(long, conflicts_with = "verbose")]
    pub live: bool,

    /// Say what is being done (-vv: in detail).
    ///
    /// For finding out why something is not profiled.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub program: Vec<OsString>,
}

/// `--sampler`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SamplerChoice {
    /// The better one that works.
    Auto,
    /// One perf event for all threads.
    Sigtrap,
    /// A CPU-time timer in each thread.
    Timer,
}

/// `coz-rs plot`.
///
/// Without options the report is written beside the profile and opened in the browser.
#[derive(Debug, Args)]
pub struct PlotArguments {
    /// The profiles to show, together as one.
    ///
    /// Profiles of coz-rs, of several runs or hosts, or of Coz in either of its forms.
    #[arg(value_name = "PROFILE", default_value = "profile.coz")]
    pub profiles: Vec<PathBuf>,

    /// Print the result to the terminal.
    ///
    /// A table of the lines that matter most, with intervals and small curves.
    #[arg(long)]
    pub text: bool,

    /// Write the report to this file and open nothing.
    ///
    /// One HTML file that needs no network.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write a picture of the first lines as SVG (- prints it).
    ///
    /// For documents: the verdict, hot beside matters, and curves with their intervals.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Write the same picture as PNG (- prints it).
    ///
    /// For places that show no SVG. It needs no font on this machine.
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,

    /// Write a table of all lines and levels as CSV (- prints it).
    ///
    /// For spreadsheets and scripts.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write the whole result as JSON (- prints it).
    ///
    /// Its fields are described in docs/profile-format.md and versioned by format_version.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write `file:line: message` for editors to jump by (- prints it).
    ///
    /// One line for each line of the program that has a verdict.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub editor: Option<PathBuf>,

    /// Write flame graphs of hot and of matters for speedscope (- prints it).
    ///
    /// Open the file on speedscope.app, which reads it in the browser.
    #[arg(long, value_name = "FILE")]
    pub speedscope: Option<PathBuf>,

    /// Write flame graphs for the Firefox Profiler (- prints it).
    ///
    /// Open the file on profiler.firefox.com, which reads it in the browser.
    #[arg(long, value_name = "FILE")]
    pub firefox: Option<PathBuf>,

    /// Draw this progress point in the SVG or PNG picture.
    ///
    /// Without it the one with most experiments is drawn.
    #[arg(long, value_name = "NAME")]
    pub point: Option<String>,

    /// Show so many lines in pictures and on the terminal (0: all).
    ///
    /// Without it pictures show 6 and the terminal 20.
    #[arg(long, value_name = "N")]
    pub lines: Option<usize>,

    /// Whether to colour the terminal.
    ///
    /// `auto` colours a terminal that can show it, unless NO_COLOR is set.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColourChoice::Auto)]
    pub color: ColourChoice,
}

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColourChoice {
    /// Where a terminal shows it.
    #[default]
    Auto,
    /// Always, for instance into `less -R`.
    Always,
    /// Never.
    Never,
}

/// `coz-rs demo`.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// The story to tell; without a name, the first of them.
    ///
    /// Its program is built by your own compiler and needs nothing else.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// List the stories and end.
    ///
    /// Each is a program that teaches something else.
    #[arg(long)]
    pub list: bool,

    /// Write the report to this file.
    ///
    /// It is an HTML file that needs no network.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
}

/// `coz-rs compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// The profile from before the change.
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,

    /// The profile from after it.
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,

    /// Compare lines with so much of their time cut, in percent.
    ///
    /// Small cuts are what an edit brings; 100 is what a line would bring at most.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "50")]
    pub at: f64,

    /// Write an HTML page to this file.
    ///
    /// It needs no network and no script; `-` prints it.
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    pub output: Option<PathBuf>,

    /// Print JSON.
    ///
    /// Versioned by its format_version.
    #[arg(long)]
    pub json: bool,

    /// Show so many lines (0: all).
    ///
    /// Without it 20.
    #[arg(long, value_name = "N")]
    pub lines: Option<usize>,

    /// Whether to colour the terminal.
    ///
    /// `auto` colours a terminal that can show it, unless NO_COLOR is set.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColourChoice::Auto)]
    pub color: ColourChoice,
}

/// `coz-rs verify`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// The profile from before the change, which has the prediction.
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,

    /// The profile from after it.
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,

    /// The line that was changed, as it was numbered before.
    ///
    /// The last parts of the path are enough: parser.rs:120.
    #[arg(long, value_name = "FILE:LINE")]
    pub line: String,

    /// How much of the line's time the change has cut, in percent.
    ///
    /// 50 is a line that takes half as long. Without it, the cuts are told that would have brought
    /// what came.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub cut: Option<f64>,

    /// The progress point to look at.
    ///
    /// Without it the one with most experiments.
    #[arg(long, value_name = "NAME")]
    pub point: Option<String>,
}

/// `coz-rs merge`.
#[derive(Debug, Args)]
pub struct MergeArguments {
    /// The profiles, of the same command and build.
    #[arg(value_name = "PROFILE", required = true)]
    pub profiles: Vec<PathBuf>,

    /// Write the profile to this file, which must not exist.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Merge profiles of different programs, and overwrite the file.
    ///
    /// For a program that is called in several ways.
    #[arg(long)]
    pub force: bool,
}

/// `coz-rs completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell.
    ///
    /// For instance `coz-rs completions bash > ~/.local/share/bash-completion/completions/coz-rs`.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `coz-rs man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// Write the pages of all commands into this directory.
    ///
    /// For instance ~/.local/share/man/man1, which man(1) looks into.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `coz-rs doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Source files in scope, as for `run` (repeatable).
    ///
    /// To see whether a scope fits the program's debug information.
    #[arg(long, value_name = "GLOB")]
    pub source_scope: Vec<String>,

    /// Source files out of scope, as for `run` (repeatable).
    ///
    /// For instance generated code, or tests.
    #[arg(long, value_name = "GLOB")]
    pub source_exclude: Vec<String>,

    /// Print the diagnosis as JSON, for tools.
    ///
    /// An object with format_version, outcome and findings.
    #[arg(long)]
    pub json: bool,

    /// The program to look at; it is not run.
    ///
    /// Without one only the machine is looked at.
    #[arg(value_name = "PROGRAM")]
    pub program: Option<OsString>,
}

/// Speedups to try, 0..=1.
#[derive(Debug, Clone, PartialEq)]
pub struct Speedups(pub Vec<f64>);

/// A percentage, or `A..B:STEP`, both ends included; the step is 5 if it is left out.
fn parse_speedups(text: &str) -> Result<Speedups, String> {
    let Some((first, rest)) = text.split_once("..") else {
        return Ok(Speedups(vec![parse_percent(text)?]));
    };
    let (last, step) = rest.split_once(':').unwrap_or((rest, "5"));
    let (first, last) = (parse_percent(first)?, parse_percent(last)?);
    let step = parse_percent(step)?;
    if last < first {
        return Err(format!(
            "`{text}` ends before it begins; write for instance 10..50:10"
        ));
    }
    // A whole number of steps, whatever a sum of parts makes of them.
    let steps = ((last - first) / step + 1e-9) as usize;
    if steps >= 1000 {
        return Err(format!(
            "`{text}` is more than 1000 speedups; take a larger step"
        ));
    }
    let level = |number: usize| ((first + step * number as f64) * 1e6).round() / 1e6;
    Ok(Speedups((0..=steps).map(level).collect()))
}

/// Seconds, or a number with ms, s, m or h.
fn parse_time(text: &str) -> Result<Duration, String> {
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => {
            return Err(format!(
                "`{unit}` is no unit of time; write for instance 90s or 2m"
            ));
        }
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is no time; write for instance 90s or 2m"))?;
    Duration::try_from_secs_f64(number * factor).map_err(|error| error.to_string())
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number: f64 = text
        .trim_end_matches('%')
        .parse()
        .map_err(|_| format!("`{text}` is no number of percent"))?;
    if number > 0.0 && number <= 100.0 {
        Ok(number / 100.0)
    } else {
        Err("a virtual speedup is more than 0 and at most 100 percent".to_owned())
    }
}

impl RunArguments {
    /// The options that these arguments mean.
    #[must_use]
    pub fn options(self) -> Options {
        Options {
            command: self.program,
            output: self.output,
            scope: self.scope,
            fixed_lines: self.fixed_line,
            points: self.points,
            fixed_speedups: self.fixed_speedup.map_or_else(Vec::new, |these| these.0),
            end_to_end: self.end_to_end,
            seed: self.seed,
            warm_up: self.warm_up,
            time: self.time,
            repeat: self.repeat,
            sampler: match self.sampler {
                SamplerChoice::Auto => None,
                SamplerChoice::Sigtrap => Some(Sampler::Sigtrap),
                SamplerChoice::Timer => Some(Sampler::Timer),
            },
            no_follow: self.no_follow,
            force: self.force,
            max_pause: self.max_pause,
            live: self.live,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent_and_documented() {
        CommandLine::command().debug_assert();
        for command in CommandLine::command().get_subcommands() {
            for argument in command.get_arguments() {
                let help = argument
                    .get_help()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                assert!(!help.is_empty() && help.len() < 80, "{argument}: {help}");
            }
        }
    }

    #[test]
    fn times_and_percents() {
        assert_eq!(parse_time("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_time("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_time("250ms"), Ok(Duration::from_millis(250)));
        assert!(parse_time("2 weeks").is_err() && parse_time("m").is_err());
        assert_eq!(parse_percent("25%"), Ok(0.25));
        assert!(parse_percent("0").is_err() && parse_percent("101").is_err());
        let speedups = |text: &str| parse_speedups(text).map(|these| these.0);
        assert_eq!(speedups("50"), Ok(vec![0.5]));
        assert_eq!(speedups("10..30:10"), Ok(vec![0.1, 0.2, 0.3]));
        assert_eq!(speedups("90%..100"), Ok(vec![0.9, 0.95, 1.0]));
        assert_eq!(speedups("10..29:10"), Ok(vec![0.1, 0.2]));
        for wrong in [
            "30..10:5",
            "10..30:0",
            "0..50:5",
            "10..",
            "1..99:0.01",
            "a..b",
        ] {
            assert!(speedups(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_programs_own_flags_are_its_own() {
        let line = CommandLine::parse_from(["coz-rs", "run", "-o", "x", "--", "./app", "-o", "y"]);
        let Command::Run(run) = line.command else {
            panic!("another command")
        };
        assert_eq!(run.program, ["./app", "-o", "y"]);
        assert_eq!(run.output, PathBuf::from("x"));
    }
}
