//! Stacks for viewers of flame graphs: each line with the calls that led to it, as wide as it is hot
//! or as wide as it matters.

use std::collections::HashMap;

use crate::estimates::{Analysis, LineEstimate, PointKind, Verdict};
use crate::record::CallerFrame;
use crate::safe_text::one_line;
use crate::short_names::shorten;

/// One frame of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    /// The function, with its line's short name where it has one.
    pub name: String,
    /// The source file; empty if unknown.
    pub file: String,
    /// The line; 0 if unknown.
    pub line: u32,
}

/// A stack, outermost frame first, and how wide it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stack {
    /// Indices of [`Stacks::frames`].
    pub frames: Vec<usize>,
    /// Weight in the unit of its graph.
    pub weight: f64,
}

/// One graph.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Graph {
    /// What its widths mean.
    pub name: String,
    /// Milliseconds of CPU time that a unit of weight stands for, if the weights are samples with
    /// a known period.
    pub milliseconds: Option<f64>,
    /// Whether the weights are numbers of samples; else they are percents.
    pub is_samples: bool,
    /// The stacks, those that weigh most first.
    pub stacks: Vec<Stack>,
}

/// All graphs of an analysis.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Stacks {
    /// The frames that stacks refer to.
    pub frames: Vec<Frame>,
    /// First what is hot, then for each progress point what matters.
    pub graphs: Vec<Graph>,
}

/// The graphs of an analysis.
///
/// A line that is not *worth it* matters nothing, however hot it is; a line that is has the width of
/// its best gain in percent, shared among the chains of calls by their samples.
pub(super) fn stacks(analysis: &Analysis) -> Stacks {
    let mut builder = Builder::new(analysis);
    let mut hot: Vec<(&str, Option<&str>, f64)> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let lines = analysis.points.iter().flat_map(|point| &point.lines);
    let measured = lines.map(|line| {
        (
            line.location.as_str(),
            line.function.as_deref(),
            line.samples,
        )
    });
    let untried = analysis.untried.iter().map(|line| {
        (
            line.location.as_str(),
            line.function.as_deref(),
            line.samples,
        )
    });
    for (location, function, samples) in measured.chain(untried) {
        if samples > 0 && seen.insert(location) {
            hot.push((location, function, samples as f64));
        }
    }
    // Samples of runs with different periods have no common time.
    let mut periods = analysis.sessions.iter().map(|session| session.period);
    let period = periods
        .next()
        .filter(|first| *first > 0 && periods.all(|other| other == *first));
    let stacks = hot
        .into_iter()
        .flat_map(|(location, function, samples)| builder.line(location, function, samples))
        .collect();
    let mut graphs = vec![Graph {
        name: "hot: where the samples are".to_owned(),
        milliseconds: period.map(|period| period as f64 / 1e6),
        is_samples: true,
        stacks,
    }];
    for point in &analysis.points {
        let what = match point.kind {
            PointKind::Throughput => "program speedup",
            PointKind::Latency => "latency shorter by",
        };
        let mut stacks = Vec::new();
        for line in &point.lines {
            let gain = gain(line);
            if gain > 0.0 {
                let function = line.function.as_deref();
                stacks.extend(builder.line(&line.location, function, gain * 100.0));
            }
        }
        graphs.push(Graph {
            name: format!("matters: {what} in %, point {}", one_line(&point.name)),
            milliseconds: None,
            is_samples: false,
            stacks,
        });
    }
    for graph in &mut graphs {
        graph.stacks.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    }
    Stacks {
        frames: builder.frames,
        graphs,
    }
}

fn gain(line: &LineEstimate) -> f64 {
    match (line.verdict, line.best) {
        (Verdict::WorthIt, Some(best)) => best.gain,
        _ => 0.0,
    }
}

struct Builder<'a> {
    analysis: &'a Analysis,
    short: HashMap<&'a str, String>,
    frames: Vec<Frame>,
    numbers: HashMap<Frame, usize>,
}

impl<'a> Builder<'a> {
    fn new(analysis: &'a Analysis) -> Builder<'a> {
        let tried = analysis.points.iter().flat_map(|point| &point.lines);
        let tried = tried.map(|line| line.location.as_str());
        let untried = analysis.untried.iter().map(|line| line.location.as_str());
        let callers = analysis
            .callers
            .values()
            .flatten()
            .flat_map(|chain| &chain.frames)
            .map(|frame| frame.location());
        Builder {
            analysis,
            short: shorten(tried.chain(untried).chain(callers)),
            frames: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// The stacks of a line, together as wide as `weight`.
    fn line(&mut self, location: &str, function: Option<&str>, weight: f64) -> Vec<Stack> {
        let own = self.frame(function.unwrap_or(""), location);
        let analysis = self.analysis;
        let chains = analysis
            .callers
            .get(location)
            .map_or(&[][..], Vec::as_slice);
        let total: u64 = chains.iter().map(|chain| chain.count).sum();
        if total == 0 {
            return vec![Stack {
                frames: vec![own],
                weight,
            }];
        }
        chains
            .iter()
            .map(|chain| {
                let outwards = chain.frames.iter().rev();
                let mut frames: Vec<usize> = outwards.map(|frame| self.caller(frame)).collect();
                frames.push(own);
                let part = chain.count as f64 / total as f64;
                Stack {
                    frames,
                    weight: weight * part,
                }
            })
            .collect()
    }

    fn caller(&mut self, frame: &CallerFrame) -> usize {
        self.frame(frame.function(), frame.location())
    }

    fn frame(&mut self, function: &str, location: &str) -> usize {
        let (file, line) = match location.rsplit_once(':') {
            Some((file, line)) => match line.parse() {
                Ok(line) => (file, line),
                Err(_) => ("", 0),
            },
            None => ("", 0),
        };
        let short = self.short.get(location).map_or(location, String::as_str);
        let name = match (function.is_empty(), short.is_empty()) {
            (false, false) if function != short => format!("{function} ({short})"),
            (false, _) => function.to_owned(),
            (true, _) => short.to_owned(),
        };
        let frame = Frame {
            name: one_line(&name),
            file: one_line(file),
            line,
        };
        if let Some(number) = self.numbers.get(&frame) {
            return *number;
        }
        let number = self.frames.len();
        self.frames.push(frame.clone());
        self.numbers.insert(frame, number);
        number
    }
}
