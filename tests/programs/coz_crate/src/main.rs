//! One thread with points of the published crate `coz`: line a takes 60 % of a round, b 40 %.
//!
//! Build: `cargo build --release --manifest-path tests/programs/coz_crate/Cargo.toml`.
//! Options: `--a X`, `--b X`: share of the line's work that is left (1); `--seconds S` (10).
//! Points: `round` (throughput), `request` (begin and end), `scope`, and an unnamed one.

use std::hint::black_box;
use std::time::Instant;

/// Loop iterations that stand for a millisecond; nothing measures it.
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

fn main() {
    let (mut a, mut b, mut seconds) = (1.2 * ITERS, 0.8 * ITERS, 10.0);
    let words: Vec<String> = std::env::args().skip(1).collect();
    for pair in words.chunks(2) {
        let value: f64 = pair
            .get(1)
            .and_then(|word| word.parse().ok())
            .expect("a number");
        match &pair[0][..] {
            "--a" => a *= value,
            "--b" => b *= value,
            "--seconds" => seconds = value,
            other => panic!("{other}: unknown; the options are --a, --b and --seconds"),
        }
    }

    coz::thread_init();
    let begin = Instant::now();
    let mut round = 0_u64;
    while begin.elapsed().as_secs_f64() < seconds {
        coz::begin!("request");
        work(a as u64); // LINE: a
        coz::end!("request");
        {
            coz::scope!("scope");
            work(b as u64); // LINE: b
        }
        coz::progress!();
        coz::progress!("round");
        round += 1;
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "rounds {round} seconds {seconds:.3} rate {:.6}",
        round as f64 / seconds
    );
}
