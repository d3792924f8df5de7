//! The causal twin of the table: the kernels as stages of a threaded program.
//!
//! One thread draws nearly normal numbers into blocks. The main thread takes them from a queue, sums
//! the integers of each block up and multiplies its floating-point numbers, with the kernels that
//! `--sum` and `--product` name; the progress point `block` counts them. While the main thread is
//! the slower one, a faster kernel makes the program faster; then drawing is in the way.

use std::cell::Cell;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::kernels::{Kernel, named};
use crate::number::{Add, Multiply};
use crate::options::{Stages, USAGE};
use crate::vector::Vector;

/// Elements of each of a block's two vectors: they stay in a first-level cache.
const ELEMENTS: usize = 1024;
/// How often each vector is reduced, so that a block takes about a millisecond: the queue's
/// wake-ups are small beside that.
const PASSES: usize = 200;
/// Numbers that are added up for a nearly normal one.
const DRAWS: usize = 500;
/// Blocks that wait between the two threads at most.
const QUEUE: usize = 4;

struct Block {
    integers: Vector<i64>,
    numbers: Vector<f64>,
}

/// Runs the program.
pub fn run(options: &Stages) -> ExitCode {
    let (Some(sum), Some(product)) = (
        named::<i64, Add>(&options.sum),
        named::<f64, Multiply>(&options.product),
    ) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let begin = Instant::now();
    let seconds = options.seconds;
    let (send, receive) = sync_channel::<Block>(QUEUE);
    let drawing = thread::spawn(move || {
        let mut state = 1;
        while begin.elapsed().as_secs_f64() < seconds {
            if send.send(draw(&mut state)).is_err() {
                return;
            }
        }
    });

    let (mut blocks, mut check) = (0_u64, 0);
    let (mut summing, mut multiplying) = (Duration::ZERO, Duration::ZERO);
    for block in receive {
        let start = Instant::now();
        let total = repeated(sum, &block.integers); // LINE: sum
        let middle = Instant::now();
        let all = repeated(product, &block.numbers); // LINE: product
        multiplying += middle.elapsed();
        summing += middle - start;
        if blocks == 0 {
            // Kernels round differently; six digits are the same.
            check = total ^ ((all * 1e6).round() as i64);
        }
        blocks += 1;
        progress_points::progress!("block");
    }
    if drawing.join().is_err() {
        return ExitCode::FAILURE;
    }
    let took = begin.elapsed().as_secs_f64();
    let each = |time: Duration| time.as_nanos() as f64 / blocks.max(1) as f64;
    let report = format!(
        "blocks {blocks} seconds {took:.2} rate {:.3}\ncost sum {:.0} ns\ncost product {:.0} ns\n\
         check {check:016x}\n",
        blocks as f64 / took,
        each(summing),
        each(multiplying),
    );
    match std::io::stdout().write_all(report.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

#[inline(never)]
fn repeated<T: crate::number::Number>(kernel: Kernel<T>, vector: &Vector<T>) -> T {
    let result = Cell::new(T::ZERO);
    for _ in 0..PASSES {
        kernel(vector, &result);
    }
    result.get()
}

/// A block of nearly normal numbers: sums of many even ones.
#[inline(never)]
fn draw(state: &mut u64) -> Block {
    let mut drawn = || {
        let mut sum = 0;
        for _ in 0..DRAWS {
            // Knuth's MMIX generator.
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            sum += (*state >> 40) as i64;
        }
        sum - ((DRAWS as i64) << 23)
    };
    let integers: Vec<i64> = (0..ELEMENTS).map(|_| drawn()).collect();
    // Within 1 ± 0.0001 or so: their product stays near one.
    let numbers: Vec<f64> = integers
        .iter()
        .map(|&integer| 1.0 + integer as f64 * 1e-12)
        .collect();
    Block {
        integers: Vector::new(integers),
        numbers: Vector::new(numbers),
    }
}
