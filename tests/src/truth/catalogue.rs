//! The programs of the truth suite, their lines and their knobs.

use crate::build::Compiler;

/// A marked line and the option that scales its work.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// The label behind `LINE:` in the source.
    pub label: &'static str,
    /// The program's option that takes the share of work left, for instance `--a`.
    pub knob: &'static str,
    /// Whether making it faster gains nothing, by construction of the program.
    pub null: bool,
}

/// A program of the suite.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// File in `tests/programs`.
    pub source: &'static str,
    /// How it is built.
    pub compiler: Compiler,
    /// The lines that are predicted.
    pub lines: &'static [Line],
    /// Whether it has more runnable threads than two cores.
    pub crowded: bool,
    /// Whether it is in the reduced suite.
    pub reduced: bool,
    /// How many times longer than others it must run under the profiler: its visits are rare.
    pub patience: f64,
    /// More arguments.
    pub arguments: &'static [&'static str],
}

impl Program {
    /// The source file's own name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.source.rsplit('/').next().unwrap_or(self.source)
    }
}

const fn line(label: &'static str, knob: &'static str) -> Line {
    Line {
        label,
        knob,
        null: false,
    }
}

const fn null(label: &'static str, knob: &'static str) -> Line {
    Line {
        null: true,
        ..line(label, knob)
    }
}

const BOTH: &[Line] = &[line("a", "--a"), line("b", "--b")];
const ONLY_A: &[Line] = &[line("a", "--a"), null("b", "--b")];
const ONLY_B: &[Line] = &[null("a", "--a"), line("b", "--b")];
const ONLY_INSIDE: &[Line] = &[line("inside", "--inside"), null("outside", "--outside")];

const fn program(source: &'static str, compiler: Compiler, lines: &'static [Line]) -> Program {
    Program {
        source,
        compiler,
        lines,
        crowded: false,
        reduced: false,
        patience: 1.0,
        arguments: &[],
    }
}

const fn c(source: &'static str, lines: &'static [Line]) -> Program {
    program(source, Compiler::C(&[]), lines)
}

const fn rust(source: &'static str, lines: &'static [Line]) -> Program {
    program(source, Compiler::Rust(&[]), lines)
}

const fn reduced(program: Program) -> Program {
    Program {
        reduced: true,
        ..program
    }
}

const fn crowded(program: Program) -> Program {
    Program {
        crowded: true,
        ..program
    }
}

/// All programs.
pub const PROGRAMS: &[Program] = &[
    reduced(c("one_thread.c", BOTH)),
    c("inlined.c", BOTH),
    c(
        "libc_callers.c",
        &[
            line("memcpy", "--memcpy"),
            line("qsort", "--qsort"),
            line("plain", "--plain"),
        ],
    ),
    reduced(c("two_threads.c", ONLY_A)),
    rust("two_threads.rs", ONLY_A),
    c("two_callers.c", ONLY_A),
    reduced(c("pipeline.c", ONLY_A)),
    reduced(rust("pipeline_std.rs", ONLY_A)),
    rust("pipeline_mpsc.rs", ONLY_B),
    program(
        "crates/src/bin/pipeline_crossbeam.rs",
        Compiler::Cargo("pipeline_crossbeam"),
        ONLY_B,
    ),
    reduced(c("semaphore.c", ONLY_B)),
    c("pipe.c", ONLY_A),
    c("sleep.c", ONLY_A),
    reduced(c("barrier.c", ONLY_A)),
    rust("barrier_std.rs", ONLY_A),
    c("phases.c", BOTH),
    Program {
        patience: 3.0,
        ..c("rare.c", BOTH)
    },
    reduced(c("lock.c", ONLY_INSIDE)),
    program(
        "crates/src/bin/lock_parking_lot.rs",
        Compiler::Cargo("lock_parking_lot"),
        ONLY_INSIDE,
    ),
    c("spin.c", ONLY_INSIDE),
    c(
        "rwlock.c",
        &[
            line("write", "--write"),
            line("read", "--read"),
            line("outside", "--outside"),
        ],
    ),
    reduced(program("openmp.c", Compiler::C(&["-fopenmp"]), BOTH)),
    program(
        "crates/src/bin/rayon_loop.rs",
        Compiler::Cargo("rayon_loop"),
        BOTH,
    ),
    c(
        "poller.c",
        &[line("poll", "--poll"), line("work", "--work")],
    ),
    crowded(c(
        "pipeline3.c",
        &[line("a", "--a"), line("b", "--b"), line("c", "--c")],
    )),
    crowded(c("barrier8.c", BOTH)),
    reduced(crowded(c("pool6.c", BOTH))),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;

    #[test]
    fn the_suite_is_as_large_as_it_promises() {
        let usual: Vec<_> = PROGRAMS.iter().filter(|p| !p.crowded).collect();
        let lines: usize = usual.iter().map(|program| program.lines.len()).sum();
        // Four speedups a line.
        assert!(usual.len() >= 14 && lines * 4 >= 60);
        assert!(PROGRAMS.len() - usual.len() >= 3);
        assert!(usual.iter().any(|p| matches!(p.compiler, Compiler::C(_))));
        assert!(usual.iter().any(|p| !matches!(p.compiler, Compiler::C(_))));
    }

    #[test]
    fn every_line_is_marked_in_its_source() -> anyhow::Result<()> {
        for program in PROGRAMS {
            for line in program.lines {
                build::marked_line(program.source, line.label)?;
            }
        }
        Ok(())
    }
}
