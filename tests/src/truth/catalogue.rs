//! The programs of the truth suite, their lines and their knobs.

use crate::build::Compiler;

/// A marked line and the option that scales its work.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// The label behind `LINE:` in the source.
    pub label: &'static str,
    /// The program's option that takes the share of work left, for instance `--a`.
    pub knob: &'static str,
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
    /// More arguments.
    pub arguments: &'static [&'static str],
}

const fn line(label: &'static str, knob: &'static str) -> Line {
    Line { label, knob }
}

const A_AND_B: &[Line] = &[line("a", "--a"), line("b", "--b")];

const fn program(source: &'static str, compiler: Compiler, lines: &'static [Line]) -> Program {
    Program {
        source,
        compiler,
        lines,
        crowded: false,
        arguments: &[],
    }
}

const INSIDE_AND_OUTSIDE: &[Line] = &[line("inside", "--inside"), line("outside", "--outside")];

const fn crowded(source: &'static str, compiler: Compiler, lines: &'static [Line]) -> Program {
    Program {
        crowded: true,
        ..program(source, compiler, lines)
    }
}

/// All programs.
pub const PROGRAMS: &[Program] = &[
    program("one_thread.c", Compiler::C(&[]), A_AND_B),
    program("inlined.c", Compiler::C(&[]), A_AND_B),
    program(
        "libc_callers.c",
        Compiler::C(&[]),
        &[
            line("memcpy", "--memcpy"),
            line("qsort", "--qsort"),
            line("plain", "--plain"),
        ],
    ),
    program("two_threads.c", Compiler::C(&[]), A_AND_B),
    program("two_threads.rs", Compiler::Rust(&[]), A_AND_B),
    program("two_callers.c", Compiler::C(&[]), A_AND_B),
    program("pipeline.c", Compiler::C(&[]), A_AND_B),
    program("pipeline_std.rs", Compiler::Rust(&[]), A_AND_B),
    program("pipeline_mpsc.rs", Compiler::Rust(&[]), A_AND_B),
    program("semaphore.c", Compiler::C(&[]), A_AND_B),
    program("pipe.c", Compiler::C(&[]), A_AND_B),
    program("sleep.c", Compiler::C(&[]), A_AND_B),
    program("barrier.c", Compiler::C(&[]), A_AND_B),
    program("phases.c", Compiler::C(&[]), A_AND_B),
    program("rare.c", Compiler::C(&[]), A_AND_B),
    program("lock.c", Compiler::C(&[]), INSIDE_AND_OUTSIDE),
    program("spin.c", Compiler::C(&[]), INSIDE_AND_OUTSIDE),
    program(
        "rwlock.c",
        Compiler::C(&[]),
        &[
            line("write", "--write"),
            line("read", "--read"),
            line("outside", "--outside"),
        ],
    ),
    crowded(
        "pipeline3.c",
        Compiler::C(&[]),
        &[line("a", "--a"), line("b", "--b"), line("c", "--c")],
    ),
    crowded("barrier8.c", Compiler::C(&[]), A_AND_B),
];
