//! A key-value store that calls through a table of function pointers on every page access, after the
//! story of SQLite's global table of methods.
//!
//! Two threads run transactions on one B-tree. A transaction holds the store's lock while it reads
//! records; then it adds up what it found without the lock. The progress point `transaction` counts
//! them. Every access to a page goes through `Methods`, so that tests can replace the page cache and
//! single-threaded programs the latches: fetch a page, ask for the size of its records, give it back.
//!
//! Each of these functions does next to nothing, so that a profile shows next to nothing of them. What
//! they cost is in the code that calls them: a size that the compiler does not know is a division, a
//! call of memcpy and a loop where a handful of instructions would do.
//!
//! `--calls direct` calls the functions that the table holds anyway by their names.
//!
//! Options: `--seconds S` (20), `--calls table|direct` (table), `--keys N` (20000).
#![forbid(unsafe_code)]

mod tree;

use std::hint::black_box;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tree::{Direct, Methods, Tree};

/// Look-ups of a transaction: about a millisecond, so that handing the lock over is small beside it.
const LOOKUPS: usize = 8000;
/// Records of a look-up.
const SCAN: usize = 6;
/// Rounds that add a transaction's values up: less than half of what reading them takes, so that the
/// lock is always wanted, whichever way the calls go.
const ROUNDS: usize = 30;

/// What the command line asks for.
struct Options {
    seconds: f64,
    keys: u64,
    direct: bool,
}

fn options() -> Option<Options> {
    let mut options = Options {
        seconds: 20.0,
        keys: 20_000,
        direct: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match (&word[..], &value[..]) {
            ("--seconds", number) => options.seconds = number.parse().ok()?,
            ("--keys", number) => options.keys = number.parse().ok().filter(|&keys| keys > 0)?,
            ("--calls", "table") => options.direct = false,
            ("--calls", "direct") => options.direct = true,
            _ => return None,
        }
    }
    Some(options)
}

/// What one thread did.
#[derive(Default)]
struct Done {
    transactions: u64,
    reading: Duration,
    adding: Duration,
    check: u64,
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("usage: kvstore [--seconds S] [--calls table|direct] [--keys N]");
        return ExitCode::from(2);
    };
    let store = Mutex::new(Tree::of(options.keys));
    // The table is filled at run time, as a program that configures its store does it.
    let methods = black_box(Methods::STANDARD);
    let begin = Instant::now();
    let work = |seed: u64| {
        let mut state = seed;
        let mut done = Done::default();
        let mut values = vec![0; LOOKUPS];
        while begin.elapsed().as_secs_f64() < options.seconds {
            {
                let tree = store.lock().unwrap_or_else(PoisonError::into_inner);
                let start = Instant::now();
                if options.direct {
                    read(&tree, &Direct, &mut state, &mut values); // direct calls
                } else {
                    read(&tree, &methods, &mut state, &mut values); // LINE: read
                }
                done.reading += start.elapsed();
            }
            let start = Instant::now();
            let sum = add_up(&values); // LINE: add-up
            done.adding += start.elapsed();
            if done.transactions == 0 {
                done.check = sum;
            }
            done.transactions += 1;
            progress_points::progress!("transaction");
        }
        done
    };
    let both = thread::scope(|scope| {
        let other = scope.spawn(|| work(2));
        (work(1), other.join())
    });
    let (first, Ok(second)) = both else {
        return ExitCode::FAILURE;
    };
    let seconds = begin.elapsed().as_secs_f64();
    let transactions = first.transactions + second.transactions;
    let each = |time: Duration| time.as_nanos() / u128::from(transactions.max(1));
    let report = format!(
        "transactions {transactions} seconds {seconds:.2} rate {:.3}\ncost read {} ns\n\
         cost add-up {} ns\ncheck {:016x}\n",
        transactions as f64 / seconds,
        each(first.reading + second.reading),
        each(first.adding + second.adding),
        first.check ^ second.check,
    );
    match std::io::stdout().write_all(report.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Reads a transaction's records.
#[inline(never)]
fn read<A: tree::Access>(tree: &Tree, access: &A, state: &mut u64, values: &mut [u64]) {
    let mut room = [0; tree::ROOM];
    for value in values {
        // Knuth's MMIX generator.
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let key = (*state >> 20) % tree.keys();
        *value = tree.scan(access, key, SCAN, &mut room).unwrap_or(0);
    }
}

/// What a transaction makes of its values.
#[inline(never)]
fn add_up(values: &[u64]) -> u64 {
    let mut sum = 0_u64;
    for _ in 0..ROUNDS {
        for &value in values {
            sum = (sum.rotate_left(7) ^ value).wrapping_mul(0x100_0000_01b3);
        }
    }
    sum
}
