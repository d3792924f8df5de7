//! Works by iterator chains, closures and generic functions of another crate, in two threads.
//!
//! Option: --seconds S (10).

use std::collections::HashMap;
use std::time::{Duration, Instant};

fn items(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |x| {
        Some(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1)) // LINE: successors
    })
}

fn words(seed: u64) -> HashMap<u64, u64> {
    let mut counts = HashMap::new();
    items(seed).take(30_000).for_each(|item| *counts.entry(item >> 50).or_insert(0) += 1); // LINE: map_entry
    counts
}

fn round(seed: u64) -> u64 {
    let sum = kernels::fold(items(seed).take(400_000), |item| item % 3 != 0);
    let mut list: Vec<(u64, u64)> = words(seed).into_iter().collect();
    kernels::sort(&mut list, |(key, count)| (*count, *key));
    let text = kernels::join(&list.iter().map(|(key, _)| *key).collect::<Vec<_>>());
    sum ^ text.len() as u64
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let seconds = match words.as_slice() {
        [_, name, value] if name == "--seconds" => value.parse().expect("a number"),
        _ => 10.0,
    };
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let work = move |first: u64| {
        let mut seed = first;
        while Instant::now() < end {
            seed = round(seed);
            progress_points::progress!("round");
        }
        seed
    };
    let other = std::thread::spawn(move || work(1));
    println!("{}", work(2) ^ other.join().expect("no panic"));
}
