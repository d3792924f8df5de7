//! Two threads contend for a mutex of parking_lot: 1 ms of work inside it, 0.6 ms outside.
//! Truth: the lock is the bottleneck. Speeding the inside up by 25 % gains 25 %, by more than 40 %
//! the threads no longer wait; speeding the outside up gains nothing.
//!
//! Build: `cargo build --release --manifest-path tests/programs/crates/Cargo.toml`.
//! Options: `--inside X`, `--outside X`: share of the line's work that is left (1);
//! `--seconds S` (10), `--rounds N` (no limit), `--iters N` (iterations a millisecond).

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use parking_lot::Mutex;

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
    let option = options(&["--inside", "--outside", "--seconds", "--rounds", "--iters"]);
    let seconds = option("--seconds", 10.0);
    let rounds = option("--rounds", 1e18);
    let iters = option("--iters", ITERS);
    let inside = (1.0 * iters * option("--inside", 1.0)) as u64;
    let outside = (0.6 * iters * option("--outside", 1.0)) as u64;

    let done = Mutex::new(0_u64);
    let begin = Instant::now();
    let worker = || {
        loop {
            let mut done = done.lock();
            work(inside); // LINE: inside
            *done += 1;
            let over = *done as f64 >= rounds || begin.elapsed().as_secs_f64() >= seconds;
            drop(done);
            work(outside); // LINE: outside
            progress_points::progress!("round");
            if over {
                break;
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(worker);
        scope.spawn(worker);
    });
    report(done.into_inner(), begin.elapsed().as_secs_f64());
}
