//! A bounded channel of crossbeam between two busy threads: stage a takes 200 us an item, stage b
//! 350 us.
//! Truth: speeding b up gains until it meets a (43 %), speeding a up gains nothing.
//!
//! Build: `cargo build --release --manifest-path tests/programs/crates/Cargo.toml`.
//! Options: `--a X`, `--b X`: share of the line's work that is left (1);
//! `--seconds S` (10), `--rounds N` (no limit), `--iters N` (iterations a millisecond).

use std::hint::black_box;
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
    let items = option("--rounds", 1e18);
    let iters = option("--iters", ITERS);
    let a = (0.2 * iters * option("--a", 1.0)) as u64;
    let b = (0.35 * iters * option("--b", 1.0)) as u64;

    let begin = Instant::now();
    let (send, receive) = crossbeam_channel::bounded(16);
    let producer = thread::spawn(move || {
        let mut made = 0_u32;
        while f64::from(made) < items && begin.elapsed().as_secs_f64() < seconds {
            work(a); // LINE: a
            if send.send(made).is_err() {
                break;
            }
            made += 1;
        }
    });
    let mut item = 0;
    for _made in receive {
        work(b); // LINE: b
        progress_points::progress!("item");
        item += 1;
    }
    producer.join().expect("the producer ends");
    report(item, begin.elapsed().as_secs_f64());
}
