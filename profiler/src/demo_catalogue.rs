//! The stories that `coz-rs demo` tells: programs that teach causal profiling, what each of them can
//! change, and where coz-rs should see that beforehand.
//!
//! The sources are carried in this binary, so that stories can be told after `cargo install` too.
//! Those in Rust use nothing but the standard library and the progress points. Where the program of
//! the examples package needs other crates, its twin in C is told here.

/// A source file: where it goes, and its text.
pub type Source = (&'static str, &'static str);

/// What one compiler builds.
#[derive(Debug, Clone, Copy)]
pub struct Sources {
    /// The file that is compiled.
    pub main: &'static str,
    /// All files.
    pub files: &'static [Source],
}

/// A program and its lesson.
#[derive(Debug, Clone, Copy)]
pub struct Story {
    /// As on the command line.
    pub name: &'static str,
    /// The executable of the examples package.
    pub example: &'static str,
    /// One line for the list.
    pub about: &'static str,
    /// The program in Rust, if it needs no crates.
    pub rust: Option<Sources>,
    /// The program in C.
    pub c: Option<Sources>,
    /// Arguments of the program that has the fault; `--seconds S` follows.
    pub arguments: &'static [&'static str],
    /// What can be changed.
    pub changes: &'static [Change],
    /// What is to be learned from it, in a sentence or two.
    pub lesson: &'static str,
}

/// A change to a program, whose gain coz-rs predicts.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    /// What it is called in tables.
    pub name: &'static str,
    /// Label behind `LINE:` of the line that it makes faster.
    pub line: &'static str,
    /// By how much it does so.
    pub by: Faster,
    /// The arguments that make the change.
    pub arguments: &'static [&'static str],
    /// The progress point that the gain is of.
    pub point: &'static str,
    /// What the program prints of that point.
    pub gauge: Gauge,
}

/// How much faster a change makes its line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Faster {
    /// By what the costs say that the program prints under this name, with and without the change.
    Cost(&'static str),
    /// By this part, 0..=1: twice the threads take half the time.
    Part(f64),
}

/// What a program prints about its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gauge {
    /// `rate R`: visits a second.
    Rate,
    /// `latency T`: mean time between begin and end, in any unit.
    Latency,
}

impl Story {
    /// The story of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Story> {
        STORIES.iter().find(|story| story.name == name)
    }
}

macro_rules! sources {
    ($main:literal, $($path:literal),* $(,)?) => {
        Some(Sources {
            main: $main,
            files: &[
                ($main, include_str!(concat!("../../", $main))),
                $(($path, include_str!(concat!("../../", $path)))),*
            ],
        })
    };
}

macro_rules! rust {
    ($main:literal $(, $path:literal)* $(,)?) => {
        sources![
            $main,
            $($path,)*
            "progress-points/src/lib.rs",
            "progress-points/src/abi.rs",
            "progress-points/src/macros.rs",
            "progress-points/src/name.rs",
            "progress-points/src/point.rs",
        ]
    };
}

macro_rules! c {
    ($main:literal) => {
        sources![$main, "progress-points/include/coz.h"]
    };
}

const fn change(
    name: &'static str,
    line: &'static str,
    arguments: &'static [&'static str],
    point: &'static str,
) -> Change {
    Change {
        name,
        line,
        by: Faster::Cost(line),
        arguments,
        point,
        gauge: Gauge::Rate,
    }
}

const fn latency(line: &'static str, arguments: &'static [&'static str]) -> Change {
    Change {
        gauge: Gauge::Latency,
        ..change(line, line, arguments, "request")
    }
}

/// Twice the threads for a stage: its line takes half the time.
const fn threads(
    name: &'static str,
    line: &'static str,
    arguments: &'static [&'static str],
) -> Change {
    Change {
        by: Faster::Part(0.5),
        ..change(name, line, arguments, "query")
    }
}

/// All stories, the one that is told without a name first.
pub const STORIES: &[Story] = &[
    Story {
        name: "recorder",
        example: "demo",
        about: "a recorder in which the hottest line does not matter",
        rust: rust!["examples/demo/main.rs"],
        c: c!("examples/demo/demo.c"),
        arguments: &[],
        changes: &[
            change("generate", "generate", &["--fix", "generate"], "block"),
            change("scramble", "scramble", &["--fix", "scramble"], "block"),
            change("checksum", "checksum", &["--fix", "checksum"], "block"),
        ],
        lesson: "The hottest of the three jobs waits for the other two: curing it gains nothing.",
    },
    Story {
        name: "combine",
        example: "combine",
        about: "vector kernels as stages: what the next version of a kernel brings",
        rust: rust![
            "examples/combine/main.rs",
            "examples/combine/bounds.rs",
            "examples/combine/clock.rs",
            "examples/combine/held.rs",
            "examples/combine/kernels.rs",
            "examples/combine/line_fit.rs",
            "examples/combine/number.rs",
            "examples/combine/options.rs",
            "examples/combine/series.rs",
            "examples/combine/stages.rs",
            "examples/combine/table.rs",
            "examples/combine/vector.rs",
            "examples/combine/vector_instructions.rs",
        ],
        c: None,
        arguments: &["stages"],
        changes: &[
            change("sum by combine3", "sum", &["--sum", "combine3"], "block"),
            change("sum by vector", "sum", &["--sum", "vector"], "block"),
            change(
                "product by combine4",
                "product",
                &["--product", "combine4"],
                "block",
            ),
            change(
                "product by vector",
                "product",
                &["--product", "vector"],
                "block",
            ),
        ],
        lesson: "A kernel that is four times faster gains what its curve says at 75 %: less than its \
                 share of the time, once the other thread has become the slower one.",
    },
    Story {
        name: "dedup",
        example: "dedup",
        about: "a deduplicating compressor whose hash table uses 3 % of its buckets",
        rust: None,
        c: c!("examples/c/dedup.c"),
        arguments: &[],
        changes: &[change(
            "hash by xor",
            "look-up",
            &["--hash", "xor"],
            "chunk",
        )],
        lesson: "Twenty bytes add up to much the same number, so that two thousand buckets hold \
                 everything and every look-up walks a long list.",
    },
    Story {
        name: "ferret",
        example: "ferret",
        about: "search by image: which stage of a pipeline deserves another thread",
        rust: None,
        c: c!("examples/c/ferret.c"),
        arguments: &["--threads", "1,2,1,1"],
        changes: &[
            threads(
                "a thread from extract to rank",
                "rank",
                &["--threads", "1,1,1,2"],
            ),
            threads(
                "twice as many that extract",
                "extract",
                &["--threads", "1,4,1,1"],
            ),
            threads(
                "twice as many that segment",
                "segment",
                &["--threads", "2,2,1,1"],
            ),
        ],
        lesson: "Twice the threads are a line that is twice as fast. One thread more for ranking \
                 brings what its curve says at 50 %, and the others bring nothing.",
    },
    Story {
        name: "barrier",
        example: "barrier",
        about: "a spinning barrier of its own, with more threads than two cores have",
        rust: rust!["examples/barrier/main.rs"],
        c: c!("examples/c/barrier.c"),
        arguments: &["--threads", "4"],
        changes: &[change(
            "the system's barrier",
            "wait",
            &["--barrier", "system"],
            "step",
        )],
        lesson: "Who spins at the barrier takes the processor from those who are waited for, if \
                 there are more threads than processors.",
    },
    Story {
        name: "barrier-fits",
        example: "barrier",
        about: "the same barrier with as many threads as two cores have: hot, and harmless",
        rust: rust!["examples/barrier/main.rs"],
        c: c!("examples/c/barrier.c"),
        arguments: &["--threads", "2"],
        changes: &[change(
            "the system's barrier",
            "wait",
            &["--barrier", "system"],
            "step",
        )],
        lesson: "Who spins at the barrier has nothing else to do: the line is hot, and no faster \
                 barrier helps.",
    },
    Story {
        name: "animation",
        example: "animation",
        about: "a loading animation: the hottest code, and worthless to speed up",
        rust: rust!["examples/animation/main.rs"],
        c: None,
        arguments: &[],
        changes: &[
            change("draw with one sine", "draw", &["--fix", "draw"], "item"),
            change("unpack whole runs", "unpack", &["--fix", "unpack"], "item"),
            change("index by words", "index", &["--fix", "index"], "item"),
        ],
        lesson: "The animation is half of the CPU time, and nothing waits for it.",
    },
    Story {
        name: "kvstore",
        example: "kvstore",
        about: "a B-tree that calls through function pointers on every page access",
        rust: rust!["examples/kvstore/main.rs", "examples/kvstore/tree.rs"],
        c: None,
        arguments: &[],
        changes: &[change(
            "direct calls",
            "read",
            &["--calls", "direct"],
            "transaction",
        )],
        lesson: "The functions in the table do next to nothing, and so a profile shows next to \
                 nothing of them; their price is in the code that calls them and must not know what \
                 they say.",
    },
    Story {
        name: "server",
        example: "server",
        about: "a server under load: which work makes a request's latency",
        rust: rust!["examples/server/main.rs", "examples/server/work.rs"],
        c: None,
        arguments: &[],
        changes: &[
            latency("parse", &["--fix", "parse"]),
            latency("render", &["--fix", "render"]),
            latency("statistics", &["--fix", "statistics"]),
        ],
        lesson: "Requests wait for each other, so that faster rendering shortens a request by more \
                 than its own part; the statistics are hotter, and no request waits for them.",
    },
];

/// Forms that need crates and are built from coz-rs's sources: name, about, and executable of the
/// examples package.
pub const FROM_THE_SOURCES: &[(&str, &str, &str)] = &[(
    "server (tokio)",
    "the same on tokio, where tasks wait in no thread",
    "server-tokio",
)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_has_its_line_in_every_language() {
        for story in STORIES {
            for sources in [story.rust, story.c].into_iter().flatten() {
                let text: String = sources.files.iter().map(|(_, text)| *text).collect();
                for change in story.changes {
                    let mark = format!("LINE: {}\n", change.line);
                    let c_mark = format!("LINE: {} */", change.line);
                    let marks = text.matches(&mark).count() + text.matches(&c_mark).count();
                    assert_eq!(marks, 1, "{}: {}", story.name, change.line);
                    assert!(text.contains(&format!("\"{}\"", change.point)));
                }
            }
        }
    }
}
