//! What a simulated program is: threads that repeat operations on shared objects.

/// One step of a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operation {
    /// CPU time on a line: its mean, ns, and its standard deviation as a part of that.
    Work {
        /// The line.
        line: usize,
        /// Mean, ns.
        mean: f64,
        /// Standard deviation as a part of the mean.
        spread: f64,
    },
    /// Takes a mutex. Who is woken has to take it, and may lose it to another.
    Lock(usize),
    /// Releases a mutex.
    Unlock(usize),
    /// Puts an item into a bounded queue.
    Push(usize),
    /// Takes an item out of a queue.
    Pop(usize),
    /// Waits at a barrier for all that come there.
    Meet(usize),
    /// Sleeps, ns; nobody wakes the thread.
    Sleep(f64),
    /// Passes a progress point.
    Visit(usize),
}

/// A program: what each thread repeats for ever, and the objects that it is about.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// Its name in tables.
    pub name: &'static str,
    /// What each thread repeats.
    pub threads: Vec<Vec<Operation>>,
    /// Number of lines.
    pub lines: usize,
    /// Number of mutexes.
    pub locks: usize,
    /// Places of each queue.
    pub queues: Vec<usize>,
    /// Threads that each barrier waits for.
    pub barriers: Vec<usize>,
    /// Number of progress points.
    pub points: usize,
    /// Processors.
    pub cores: usize,
}

impl Program {
    /// The same program with the work of one line at (1 − `speedup`).
    #[must_use]
    pub fn shortened(&self, line: usize, speedup: f64) -> Program {
        let mut program = self.clone();
        for operation in program.threads.iter_mut().flatten() {
            if let Operation::Work { line: of, mean, .. } = operation
                && *of == line
            {
                *mean *= 1.0 - speedup;
            }
        }
        program
    }
}

/// CPU time on a line that varies by 2 %; milliseconds.
#[must_use]
pub fn work(line: usize, ms: f64) -> Operation {
    Operation::Work {
        line,
        mean: ms * 1e6,
        spread: 0.02,
    }
}

/// All programs of [`programs`].
#[must_use]
pub fn all() -> Vec<Program> {
    vec![
        programs::one_thread(),
        programs::barrier(4.0, 3.2),
        programs::pipeline(1.2, 0.8),
        programs::pipeline_of_three(),
        programs::lock(),
        programs::sleep(),
        programs::many_lines(),
    ]
}

/// The programs that the tests and the race use.
pub mod programs {
    use super::Operation::{Lock, Meet, Pop, Push, Sleep, Unlock, Visit};
    use super::{Program, work};

    /// One thread: a takes 60 % of a round, b 40 %.
    #[must_use]
    pub fn one_thread() -> Program {
        Program {
            name: "one thread",
            threads: vec![vec![work(0, 1.8), work(1, 1.2), Visit(0)]],
            lines: 2,
            points: 1,
            cores: 2,
            ..Program::default()
        }
    }

    /// Two threads meet each round: A works `a` ms and B `b` ms.
    #[must_use]
    pub fn barrier(a: f64, b: f64) -> Program {
        Program {
            name: "barrier",
            threads: vec![
                vec![work(0, a), Meet(0), Visit(0)],
                vec![work(1, b), Meet(0)],
            ],
            lines: 2,
            barriers: vec![2],
            points: 1,
            cores: 2,
            ..Program::default()
        }
    }

    /// A bounded queue between two threads, `a` and `b` ms an item.
    #[must_use]
    pub fn pipeline(a: f64, b: f64) -> Program {
        Program {
            name: "pipeline",
            threads: vec![
                vec![work(0, a), Push(0)],
                vec![Pop(0), work(1, b), Visit(0)],
            ],
            lines: 2,
            queues: vec![4],
            points: 1,
            cores: 2,
            ..Program::default()
        }
    }

    /// Three stages on three processors.
    #[must_use]
    pub fn pipeline_of_three() -> Program {
        Program {
            name: "pipeline of three",
            threads: vec![
                vec![work(0, 0.8), Push(0)],
                vec![Pop(0), work(1, 1.2), Push(1)],
                vec![Pop(1), work(2, 0.5), Visit(0)],
            ],
            lines: 3,
            queues: vec![4, 4],
            points: 1,
            cores: 3,
            ..Program::default()
        }
    }

    /// Two threads contend for a mutex: 1.5 ms inside, 0.9 ms outside.
    #[must_use]
    pub fn lock() -> Program {
        let thread = vec![Lock(0), work(0, 1.5), Unlock(0), work(1, 0.9), Visit(0)];
        Program {
            name: "lock",
            threads: vec![thread.clone(), thread],
            lines: 2,
            locks: 1,
            points: 1,
            cores: 2,
            ..Program::default()
        }
    }

    /// A sleeps 2 ms and works 2 ms, B works 3.2 ms, and they meet.
    #[must_use]
    pub fn sleep() -> Program {
        Program {
            name: "sleep",
            threads: vec![
                vec![Sleep(2e6), work(0, 2.0), Meet(0), Visit(0)],
                vec![work(1, 3.2), Meet(0)],
            ],
            lines: 2,
            barriers: vec![2],
            points: 1,
            cores: 2,
            ..Program::default()
        }
    }

    /// A serial part of six lines, then two threads of which one works longer: many lines of which
    /// few matter much.
    #[must_use]
    pub fn many_lines() -> Program {
        let mut first: Vec<_> = [0.5, 0.4, 0.3, 0.25, 0.2, 0.15]
            .into_iter()
            .enumerate()
            .map(|(line, ms)| work(line, ms))
            .collect();
        first.extend([Meet(0), work(6, 2.6), Meet(1), Visit(0)]);
        Program {
            name: "many lines",
            threads: vec![first, vec![Meet(0), work(7, 1.6), work(8, 0.6), Meet(1)]],
            lines: 9,
            barriers: vec![2, 2],
            points: 1,
            cores: 2,
            ..Program::default()
        }
    }
}
