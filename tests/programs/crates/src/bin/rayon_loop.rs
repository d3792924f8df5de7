//! A serial part and a parallel one in rayon's pool of two threads: a takes 1.6 ms, b sixteen times
//! 0.3 ms, half of them in each thread.
//! Truth: speeding a up by s gains 0.4 s, b 0.6 s.
//!
//! Build: `cargo build --release --manifest-path tests/programs/crates/Cargo.toml`.
//! Options: `--a X`, `--b X`: share of the line's work that is left (1);
//! `--seconds S` (10), `--rounds N` (no limit), `--iters N` (iterations a millisecond).

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;

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
    let a = (1.6 * iters * option("--a", 1.0)) as u64;
    let b = (0.3 * iters * option("--b", 1.0)) as u64;

    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .expect("two threads can be made");
    let begin = Instant::now();
    let mut round = 0;
    while (round as f64) < rounds && begin.elapsed().as_secs_f64() < seconds {
        work(a); // LINE: a
        pool.install(|| {
            (0..16).into_par_iter().for_each(|_| {
                work(b); // LINE: b
            });
        });
        progress_points::progress!("round");
        round += 1;
    }
    report(round, begin.elapsed().as_secs_f64());
}
