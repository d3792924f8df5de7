//! What a visit costs. `cargo bench -p progress-points`; the goal without a profiler is 1.5 ns.
//!
//! Run it with `LD_PRELOAD` of a profiler's runtime to see the cost with one.

use divan::Bencher;
use std::hint::black_box;

/// Visits in one timed call, so that the loop and not the clock is timed.
const VISITS: u64 = 1000;

fn main() {
    divan::main();
}

/// The loop alone, to subtract.
#[divan::bench]
fn loop_alone(bencher: Bencher) {
    bencher.counter(VISITS).bench_local(|| {
        for visit in 0..VISITS {
            black_box(visit);
        }
    });
}

#[divan::bench]
fn progress(bencher: Bencher) {
    bencher.counter(VISITS).bench_local(|| {
        for visit in 0..VISITS {
            black_box(visit);
            progress_points::progress!("bench");
        }
    });
}

#[divan::bench]
fn scope(bencher: Bencher) {
    bencher.counter(VISITS).bench_local(|| {
        for visit in 0..VISITS {
            progress_points::scope!("bench");
            black_box(visit);
        }
    });
}

/// Two threads at one point: what sharing the counter costs.
#[divan::bench(threads = [2])]
fn progress_shared(bencher: Bencher) {
    bencher.counter(VISITS).bench(|| {
        for visit in 0..VISITS {
            black_box(visit);
            progress_points::progress!("shared");
        }
    });
}
