//! The demo: a recorder in which the hottest line does not matter.
//!
//! One thread generates blocks of noise. The main thread takes them from a queue, scrambles them
//! and adds their bytes up into a checksum (Adler-32); the progress point `block` counts those that
//! are done. Each of the three jobs takes a remainder for every byte, on one line, and each has a
//! cure that an engineer knows:
//!
//! | line | CPU time | `--fix` | cure |
//! |---|---|---|---|
//! | in `generate` | about 42 % | `generate` | fold the high bits: the modulus is 2^31 - 1 |
//! | in `scramble` | about 29 % | `scramble` | subtract: the sum is less than twice the modulus |
//! | in `checksum` | about 29 % | `checksum` | once in 5552 bytes, as zlib does |
//!
//! An ordinary profiler says: generate. But that thread waits for room in the queue more than a
//! quarter of its time, and a faster one would only wait longer: `--fix generate` gains nothing.
//! The two cooler lines keep the main thread busy all the time: curing one of them gains until
//! generating has become the slower side. The blocks, and so the printed `check`, are the same with
//! every cure.
//!
//! Build: `coz-rs demo` does it. By hand: `rustc --edition 2024 -O --crate-type rlib --crate-name
//! progress_points progress-points/src/lib.rs`, then `rustc --edition 2024 -O -g --extern
//! progress_points=libprogress_points.rlib examples/demo/main.rs`. `demo.c` is the same in C.
//! Options: `--seconds S` (20), `--fix LINE` (any number of times). Each job's time a block is
//! printed as its `cost`.
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes in a block.
const BYTES: usize = 100_000;
/// Blocks that wait between the two threads at most.
const QUEUE: usize = 4;
/// Multiplier and modulus of the minimal standard generator (Park and Miller 1993).
const MULTIPLIER: u64 = 48_271;
const MERSENNE: u64 = (1 << 31) - 1;
/// The modulus of Adler-32 (RFC 1950).
const PRIME: u32 = 65_521;
/// Bytes that can be added up before 32 bits overflow (zlib's number).
const STRETCH: usize = 5552;

type Block = Vec<u8>;

/// What the command line asks for.
struct Options {
    seconds: f64,
    fixed: Vec<String>,
}

impl Options {
    /// The cure if the line is to be fixed, else the line as it is.
    fn choose<F>(&self, line: &str, cure: F, plain: F) -> F {
        if self.fixed.iter().any(|fixed| fixed == line) {
            cure
        } else {
            plain
        }
    }
}

fn options() -> Option<Options> {
    let (mut seconds, mut fixed) = (20.0, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match (&word[..], &value[..]) {
            ("--seconds", number) => seconds = number.parse().ok()?,
            ("--fix", "generate" | "scramble" | "checksum") => fixed.push(value),
            _ => return None,
        }
    }
    Some(Options { seconds, fixed })
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("usage: demo [--seconds S] [--fix generate|scramble|checksum]...");
        return ExitCode::from(2);
    };
    let generate: fn(u64) -> Block = options.choose("generate", generate_folding, generate);
    let scramble: fn(&mut Block) = options.choose("scramble", scramble_subtracting, scramble);
    let checksum: fn(&Block) -> u32 = options.choose("checksum", checksum_rarely, checksum);

    let begin = Instant::now();
    let (send, receive) = sync_channel::<Block>(QUEUE);
    let generator = thread::spawn(move || {
        let (mut seed, mut generating) = (1, Duration::ZERO);
        while begin.elapsed().as_secs_f64() < options.seconds {
            let start = Instant::now();
            let block = generate(seed); // LINE: generate
            generating += start.elapsed();
            if send.send(block).is_err() {
                break;
            }
            seed += 1;
        }
        generating
    });

    let (mut blocks, mut check) = (0_u64, 0);
    let (mut scrambling, mut adding) = (Duration::ZERO, Duration::ZERO);
    for mut block in receive {
        let start = Instant::now();
        scramble(&mut block); // LINE: scramble
        let middle = Instant::now();
        let sum = checksum(&block); // LINE: checksum
        adding += middle.elapsed();
        scrambling += middle - start;
        if blocks == 0 {
            check = sum;
        }
        blocks += 1;
        progress_points::progress!("block");
    }
    let Ok(generating) = generator.join() else {
        return ExitCode::FAILURE;
    };
    let seconds = begin.elapsed().as_secs_f64();
    let rate = blocks as f64 / seconds;
    let mut report = format!("blocks {blocks} seconds {seconds:.2} rate {rate:.3}\n");
    for (job, time) in [
        ("generate", generating),
        ("scramble", scrambling),
        ("checksum", adding),
    ] {
        let each = time.as_nanos() / u128::from(blocks.max(1));
        report.push_str(&format!("cost {job} {each} ns\n"));
    }
    report.push_str(&format!("check {check:08x}\n"));
    match std::io::stdout().write_all(report.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

#[inline(never)]
fn generate(seed: u64) -> Block {
    let mut block = vec![0; BYTES];
    let mut state = seed;
    for byte in &mut block {
        state = state * MULTIPLIER % MERSENNE;
        *byte = state as u8;
    }
    block
}

/// `generate` cured: 2^31 is 1 more than the modulus, so the bits above count as ones.
#[inline(never)]
fn generate_folding(seed: u64) -> Block {
    let mut block = vec![0; BYTES];
    let mut state = seed;
    for byte in &mut block {
        let product = state * MULTIPLIER;
        let folded = (product & MERSENNE) + (product >> 31);
        state = if folded >= MERSENNE {
            folded - MERSENNE
        } else {
            folded
        };
        *byte = state as u8;
    }
    block
}

#[inline(never)]
fn scramble(block: &mut Block) {
    let mut key = 1;
    for byte in block {
        key = (key + u32::from(*byte)) % PRIME;
        *byte ^= key as u8;
    }
}

/// `scramble` cured: the key is below the modulus and the byte too, so their sum is below twice it.
#[inline(never)]
fn scramble_subtracting(block: &mut Block) {
    let mut key = 1;
    for byte in block {
        let sum = key + u32::from(*byte);
        key = if sum >= PRIME { sum - PRIME } else { sum };
        *byte ^= key as u8;
    }
}

#[inline(never)]
fn checksum(block: &Block) -> u32 {
    let (mut low, mut high) = (1, 0);
    for byte in block.iter().copied().map(u32::from) {
        (low, high) = ((low + byte) % PRIME, (high + low + byte) % PRIME);
    }
    high << 16 | low
}

/// `checksum` cured: the remainders can wait until the sums might overflow.
#[inline(never)]
fn checksum_rarely(block: &Block) -> u32 {
    let (mut low, mut high) = (1, 0);
    for stretch in block.chunks(STRETCH) {
        for &byte in stretch {
            low += u32::from(byte);
            high += low;
        }
        low %= PRIME;
        high %= PRIME;
    }
    high << 16 | low
}
