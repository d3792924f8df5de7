//! A bounded queue (`std::sync` mutex and condition variables) between two busy threads: stage a takes
//! 300 us an item, stage b 200 us.
//! Truth: speeding a up gains until it meets b (33 %), speeding b up gains nothing.
//!
//! Build: the points by `rustc --edition 2024 -O --crate-type rlib progress-points/src/lib.rs
//! --crate-name progress_points`, then `rustc --edition 2024 -O -g --extern
//! progress_points=libprogress_points.rlib tests/programs/pipeline_std.rs`.
//! Options: `--a X`, `--b X`: share of the line's work that is left (1);
//! `--seconds S` (10), `--rounds N` (no limit), `--iters N` (iterations a millisecond).

use std::hint::black_box;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

const CAPACITY: usize = 16;

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

/// A bounded queue; only the number of items matters.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    drained: Condvar,
}

#[derive(Default)]
struct State {
    items: usize,
    closed: bool,
}

impl Queue {
    fn push(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.items == CAPACITY {
            state = self
                .drained
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.items += 1;
        self.filled.notify_one();
    }

    /// False when the queue is empty and closed.
    fn pop(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.items == 0 && !state.closed {
            state = self
                .filled
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let got = state.items > 0;
        if got {
            state.items -= 1;
            self.drained.notify_one();
        }
        got
    }

    fn close(&self) {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .closed = true;
        self.filled.notify_all();
    }
}

fn main() {
    let option = options(&["--a", "--b", "--seconds", "--rounds", "--iters"]);
    let seconds = option("--seconds", 10.0);
    let items = option("--rounds", 1e18);
    let iters = option("--iters", ITERS);
    let a = (0.3 * iters * option("--a", 1.0)) as u64;
    let b = (0.2 * iters * option("--b", 1.0)) as u64;

    let queue = Queue::default();
    let begin = Instant::now();
    let mut item = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut made = 0;
            while f64::from(made) < items && begin.elapsed().as_secs_f64() < seconds {
                work(a); // LINE: a
                queue.push();
                made += 1;
            }
            queue.close();
        });
        while queue.pop() {
            work(b); // LINE: b
            progress_points::progress!("item");
            item += 1;
        }
    });
    report(item, begin.elapsed().as_secs_f64());
}
