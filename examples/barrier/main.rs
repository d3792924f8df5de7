//! A phase program with a barrier of its own: heat that spreads over a plate.
//!
//! Threads relax a strip of the plate each, and meet at a barrier after every step; the progress
//! point `step` counts the steps. `--barrier spin` is hand-made: who comes early looks at a counter
//! again and again. `--barrier system` is the standard library's, where who comes early sleeps. The
//! first thread's strip is the largest, so the others wait for it.
//!
//! With as many threads as processors, spinning is hot and costs nothing: those who spin have
//! nothing else to do. With more threads than processors it takes the processor from the threads
//! that are waited for.
//!
//! Options: `--seconds S` (20), `--threads N` (4), `--barrier spin|system` (spin), `--rows N` (360).
//! `c/barrier.c` is the same in C.
#![forbid(unsafe_code)]

use std::hint::spin_loop;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Columns of the plate.
const COLUMNS: usize = 512;

/// The heat after so many steps is printed as the check.
const CHECKED: u64 = 8;

/// What the command line asks for.
struct Options {
    seconds: f64,
    threads: usize,
    rows: usize,
    spins: bool,
}

fn options() -> Option<Options> {
    let mut options = Options {
        seconds: 20.0,
        threads: 4,
        rows: 360,
        spins: true,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match &word[..] {
            "--seconds" => options.seconds = value.parse().ok()?,
            "--threads" => options.threads = value.parse().ok().filter(|&count| count > 0)?,
            "--rows" => options.rows = value.parse().ok()?,
            "--barrier" if value == "spin" => options.spins = true,
            "--barrier" if value == "system" => options.spins = false,
            _ => return None,
        }
    }
    (options.rows >= options.threads * 8).then_some(options)
}

/// Where the threads meet.
enum Meeting {
    Spin(SpinBarrier),
    System(Barrier),
}

impl Meeting {
    fn wait(&self) {
        match self {
            Meeting::Spin(barrier) => barrier.wait(),
            Meeting::System(barrier) => {
                barrier.wait();
            }
        }
    }
}

/// The hand-made barrier.
struct SpinBarrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
}

impl SpinBarrier {
    #[inline(never)]
    fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        // AcqRel: the last to arrive sees what the others did, and the others it in the next line.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            // Release: partner of both loads of `round`.
            self.round.store(round + 1, Ordering::Release);
            return;
        }
        while self.round.load(Ordering::Acquire) == round {
            spin_loop();
        }
    }
}

/// A temperature, as the bits of an f64: threads share the plate, each writes its own rows.
type Plate = Vec<AtomicU64>;

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("usage: barrier [--seconds S] [--threads N] [--barrier spin|system] [--rows N]");
        return ExitCode::from(2);
    };
    let Options { threads, rows, .. } = options;
    let hot = |at: usize| if at < COLUMNS { 100.0_f64 } else { 0.0 };
    let plate = || (0..rows * COLUMNS).map(|at| hot(at).to_bits().into());
    let plates: [Plate; 2] = [plate().collect(), plate().collect()];
    let meeting = if options.spins {
        Meeting::Spin(SpinBarrier {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
        })
    } else {
        Meeting::System(Barrier::new(threads))
    };
    let last = AtomicU64::new(u64::MAX);
    let begin = Instant::now();

    // The first strip has a quarter more rows than an equal one.
    let first = (rows - 2) * 5 / (4 * threads + 1);
    let bound = |number: usize| match number {
        0 => 1,
        _ if threads == number => rows - 1,
        _ => 1 + first + (rows - 2 - first) * (number - 1) / (threads - 1).max(1),
    };
    let work = |number: usize| {
        let (mut steps, mut waited, mut check) = (0_u64, 0_u128, 0);
        loop {
            let (old, new) = (
                &plates[steps as usize % 2],
                &plates[(steps as usize + 1) % 2],
            );
            relax(old, new, bound(number), bound(number + 1)); // LINE: relax
            if number == 0 {
                progress_points::progress!("step");
                // Relaxed: written before the barrier of this step, and read after it.
                if begin.elapsed().as_secs_f64() > options.seconds {
                    last.store(steps, Ordering::Relaxed);
                }
            }
            let start = Instant::now();
            meeting.wait(); // LINE: wait
            waited += start.elapsed().as_nanos();
            steps += 1;
            if number == 0 && steps == CHECKED {
                // The others read these rows at this moment, and write the other plate.
                check = heat(new);
            }
            if steps > last.load(Ordering::Relaxed) {
                return (steps, waited, check);
            }
        }
    };
    let (steps, waited, check) = thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|number| scope.spawn(move || work(number)))
            .collect();
        let (steps, mut waited, check) = work(0);
        for other in others {
            waited += other.join().map_or(0, |(_, waited, _)| waited);
        }
        (steps, waited, check)
    });
    let seconds = begin.elapsed().as_secs_f64();
    let each = waited as f64 / threads as f64 / steps as f64;
    let report = format!(
        "steps {steps} seconds {seconds:.2} rate {:.3}\ncost wait {each:.0} ns\ncheck {check:016x}\n",
        steps as f64 / seconds
    );
    match std::io::stdout().write_all(report.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The sum of all temperatures, as bits.
fn heat(plate: &Plate) -> u64 {
    let all = plate
        .iter()
        .map(|place| f64::from_bits(place.load(Ordering::Relaxed)));
    all.sum::<f64>().to_bits()
}

/// One step of the rows from `first` to before `last`: each place becomes the mean of its neighbours.
#[inline(never)]
fn relax(old: &Plate, new: &Plate, first: usize, last: usize) {
    // Relaxed: the barrier orders the steps.
    let read = |at: usize| f64::from_bits(old[at].load(Ordering::Relaxed));
    for row in first..last {
        for column in 1..COLUMNS - 1 {
            let at = row * COLUMNS + column;
            let around = read(at - 1) + read(at + 1) + read(at - COLUMNS) + read(at + COLUMNS);
            new[at].store((around * 0.25).to_bits(), Ordering::Relaxed);
        }
    }
}
