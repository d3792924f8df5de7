//! Two threads meet at a `std::sync::Barrier` each round; A works 4 ms, B 3.2 ms.
//! Truth: speeding A up helps until it meets B (20 %), speeding B up gains nothing.
//!
//! Build: the points by `rustc --edition 2024 -O --crate-type rlib progress-points/src/lib.rs
//! --crate-name progress_points`, then `rustc --edition 2024 -O -g --extern
//! progress_points=libprogress_points.rlib tests/programs/barrier_std.rs`.
//! Options: `--a X`, `--b X`: share of the line's work that is left (1);
//! `--seconds S` (10), `--rounds N` (no limit), `--iters N` (iterations a millisecond).

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

/// Loop iterations that stand for a millisecond; `--iters` sets it, nothing measures it.
const ITERS: f64 = 700_000.0;

/// A chain of dependent multiplications: the same time for the same count.
#[inline(never)]
fn work(count: u64) {
    let mut x = 1_u64;
    for _ in 0..count {
        x = black_box(
            x.wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040),
        );
    }
    black_box(x);
}

/// The options; one that is not in `known` ends the program.
fn options(known: &[&str]) -> impl Fn(&str, f64) -> f64 {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut read = Vec::new();
    for pair in words.chunks(2) {
        match pair {
            [name, value] if known.contains(&&name[..]) => {
                read.push((name.clone(), value.parse().expect("the value is a number")));
            }
            _ => {
                eprintln!("{}: unknown; the options are {known:?}", pair.join(" "));
                std::process::exit(2);
            }
        }
    }
    move |name, value| {
        read.iter()
            .find(|(known, _)| known == name)
            .map_or(value, |found| found.1)
    }
}

fn report(rounds: u64, seconds: f64) {
    println!(
        "rounds {rounds} seconds {seconds:.3} rate {:.6}",
        rounds as f64 / seconds
    );
}

fn main() {
    let option = options(&["--a", "--b", "--seconds", "--rounds", "--iters"]);
    let seconds = option("--seconds", 10.0);
    let rounds = option("--rounds", 1e18);
    let iters = option("--iters", ITERS);
    let a = (4.0 * iters * option("--a", 1.0)) as u64;
    let b = (3.2 * iters * option("--b", 1.0)) as u64;

    let barrier = Barrier::new(2);
    // Set by A before the barrier of the last round, which orders it before B's look.
    let last = AtomicBool::new(false);
    let begin = Instant::now();
    let mut round = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                work(b); // LINE: b
                barrier.wait();
                if last.load(Relaxed) {
                    break;
                }
            }
        });
        loop {
            work(a); // LINE: a
            round += 1;
            let over = round as f64 >= rounds || begin.elapsed().as_secs_f64() >= seconds;
            if over {
                last.store(true, Relaxed);
            }
            barrier.wait();
            progress_points::progress!("round");
            if over {
                break;
            }
        }
    });
    report(round, begin.elapsed().as_secs_f64());
}
