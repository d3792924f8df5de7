//! What profiling costs programs that lock or pass progress points very often: their throughput
//! plainly, with the runtime loaded and no window in force, and with experiments.
//! `cargo run --release -p coz-rs-tests --bin cost [-- NAME…]`, on a quiet machine.
//!
//! SQLite's program needs libsqlite3 with its header. For memcached, `MEMCACHED=path` names a build
//! with debug information; the one of a distribution has none, so it is not experimented on.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use coz_rs_tests::build::{self, Compiler};

/// Interleaved rounds of all ways.
const ROUNDS: usize = 5;
/// How long each run of a program lasts, s: experiments need their warm-up.
const SECONDS: &str = "3";

/// How a program is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Plain,
    /// Under `perf record` at our rate: on virtual machines the timer's interrupt alone costs that.
    Perf,
    /// The runtime is loaded and samples are taken by perf event; no experiment begins.
    Sigtrap,
    /// The same with the timer sampler,
    Timer,
    /// and with the one that is chosen by itself.
    Auto,
    /// No line may be selected, so that samples rest after a while.
    Rest,
    Experiments,
}

const WAYS: [Way; 7] = [
    Way::Plain,
    Way::Perf,
    Way::Sigtrap,
    Way::Timer,
    Way::Auto,
    Way::Rest,
    Way::Experiments,
];

/// What one run said.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Units of work a second.
    rate: f64,
    /// Part of the run that the experiments' pauses took.
    pauses: f64,
}

/// A program whose throughput is measured.
struct Subject {
    name: &'static str,
    program: PathBuf,
    words: Vec<String>,
    /// The program that puts a server under load; it says the throughput, and the server is then
    /// ended.
    load: Option<(PathBuf, u16)>,
    preload: Option<PathBuf>,
}

fn main() -> Result<()> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "{ROUNDS} interleaved rounds of {SECONDS} s; medians, per cent of the plain throughput\n\n\
         | program | plain, 1/s | perf record | sigtrap | timer | auto | no line to select | experiments | pauses | lost beyond them |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for subject in subjects() {
        let subject = match subject {
            Ok(subject) => subject,
            Err(error) => {
                println!("| skipped: {error:#} | | | | | | | | | |");
                continue;
            }
        };
        if names.is_empty() || names.iter().any(|name| name == subject.name) {
            measure(&subject)?;
        }
    }
    Ok(())
}

fn subjects() -> [Result<Subject>; 3] {
    [fluid(), sqlite(), memcached()]
}

fn fluid() -> Result<Subject> {
    Ok(Subject {
        name: "fluid",
        program: build::program("cost/fluid.c", Compiler::C(&[]))?,
        words: vec![SECONDS.to_owned()],
        load: None,
        preload: None,
    })
}

fn sqlite() -> Result<Subject> {
    let library = Compiler::C(&["-Wl,--no-as-needed", "-lsqlite3"]);
    Ok(Subject {
        name: "sqlite",
        program: build::program("cost/two_queries.c", library).context("sqlite")?,
        words: vec![SECONDS.to_owned()],
        load: None,
        preload: None,
    })
}

fn memcached() -> Result<Subject> {
    let program = std::env::var_os("MEMCACHED").map_or_else(
        || PathBuf::from("/usr/bin/memcached"),
        |path| PathBuf::from(&path),
    );
    ensure!(program.exists(), "{} does not exist", program.display());
    // Free now, so most likely free in a moment.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port();
    let shared = Compiler::C(&["-shared", "-fPIC"]);
    let words = format!("-u root -l 127.0.0.1 -p {port} -t 2");
    Ok(Subject {
        name: "memcached",
        program,
        words: words.split(' ').map(str::to_owned).collect(),
        load: Some((build::program("cost/cache_load.c", Compiler::C(&[]))?, port)),
        preload: Some(build::program("cost/point_at_send.c", shared)?),
    })
}

fn measure(subject: &Subject) -> Result<()> {
    let mut runs: [Vec<Run>; WAYS.len()] = Default::default();
    for round in 0..ROUNDS {
        for turn in 0..WAYS.len() {
            let way = (round + turn) % WAYS.len();
            runs[way].push(subject.run(WAYS[way])?);
        }
    }
    let rate = |way: usize| median(runs[way].iter().map(|run| run.rate));
    let part = |way: usize| {
        let pairs = runs[way].iter().zip(&runs[0]);
        median(pairs.map(|(run, plain)| run.rate / plain.rate * 100.0))
    };
    let experiments = WAYS.len() - 1;
    let pauses = median(runs[experiments].iter().map(|run| run.pauses * 100.0));
    println!(
        "| {} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {pauses:.0} | {:.1} |",
        subject.name,
        rate(0),
        part(1),
        part(2),
        part(3),
        part(4),
        part(5),
        part(experiments),
        100.0 - part(experiments) - pauses
    );
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Subject {
    fn command(&self, way: Way) -> Result<Command> {
        let mut command = if way == Way::Plain {
            Command::new(&self.program)
        } else if way == Way::Perf {
            let mut command = Command::new("perf");
            command.args(["record", "-q", "-e", "task-clock", "-c", "997000", "-o"]);
            let data = build::output().join("cost.perf");
            command.arg(data).arg("--").arg(&self.program);
            command
        } else {
            let mut command = Command::new(build::profiler()?);
            command.args(["run", "--force", "-o"]);
            command.arg(build::output().join(format!("cost-{}.coz", self.name)));
            command.args(match way {
                Way::Sigtrap => &["--warm-up", "1h", "--sampler", "sigtrap"][..],
                Way::Timer => &["--warm-up", "1h", "--sampler", "timer"],
                Way::Auto => &["--warm-up", "1h"],
                Way::Rest => &["--source-scope", "/nowhere"],
                Way::Plain | Way::Perf | Way::Experiments => &[],
            });
            command.arg("--").arg(&self.program);
            command
        };
        command.args(&self.words).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(library) = &self.preload {
            command.env("LD_PRELOAD", library);
        }
        Ok(command)
    }

    fn run(&self, way: Way) -> Result<Run> {
        let child = self.command(way)?.spawn()?;
        let Some((load, port)) = &self.load else {
            let output = child.wait_with_output()?;
            return Ok(Run {
                rate: rate(&output)?,
                pauses: pauses(&output),
            });
        };
        let load = under_load(load, *port);
        let output = end(child)?;
        Ok(Run {
            rate: rate(&load?)?,
            pauses: pauses(&output),
        })
    }
}

fn under_load(load: &Path, port: u16) -> Result<Output> {
    let mut command = Command::new(load);
    command.args([&port.to_string(), SECONDS]);
    Ok(command.stdin(Stdio::null()).output()?)
}

/// Ends a server; the profiler passes the signal on.
fn end(child: Child) -> Result<Output> {
    let pid = child.id().to_string();
    let mut kill = Command::new("kill");
    build::succeed(kill.args(["-TERM", &pid]))?;
    std::thread::sleep(Duration::from_millis(50));
    Ok(child.wait_with_output()?)
}

/// `rate N` of a program's output.
fn rate(output: &Output) -> Result<f64> {
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let mut lines = said.lines();
    let rate = lines.find_map(|line| line.strip_prefix("rate "));
    let rate = rate.with_context(|| format!("no rate: {} {said}\n{errors}", output.status))?;
    Ok(rate.parse()?)
}

/// What the summary says of the pauses.
fn pauses(output: &Output) -> f64 {
    let errors = String::from_utf8_lossy(&output.stderr);
    let percent = errors
        .split_once("pauses took ")
        .and_then(|(_, rest)| rest.split_once(" %"))
        .and_then(|(number, _)| number.parse::<f64>().ok());
    percent.unwrap_or(0.0) / 100.0
}
