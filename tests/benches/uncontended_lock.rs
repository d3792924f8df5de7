//! What an uncontended pthread_mutex lock and unlock costs, plainly and with the runtime loaded and
//! no window in force; the goal is at most 2 ns more. `cargo bench -p coz-rs-tests`.
//!
//! Started by hand it starts itself twice, once under the profiler: the runtime stands in front of
//! the C library only if it was there first.

use std::hint::black_box;
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};
use coz_rs_tests::build;
use divan::Bencher;

/// Set in the runs that measure.
const CHILD: &str = "UNCONTENDED_LOCK_CHILD";
/// Pairs in one timed call, so that the lock and not the clock is timed.
const PAIRS: u64 = 1000;

fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_some() {
        divan::main();
        return ExitCode::SUCCESS;
    }
    match both() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Both ways, by turns.
fn both() -> Result<()> {
    let own = std::env::current_exe()?;
    for _ in 0..3 {
        println!("plainly:");
        let plain = Command::new(&own).arg("--bench").env(CHILD, "1").status()?;
        ensure!(plain.success(), "{plain}");
        println!("profiled, no window in force:");
        let mut command = Command::new(build::profiler()?);
        // Longer than the bench takes, so that no experiment begins.
        command.args(["run", "--warm-up", "1h", "--force", "-o", "/dev/null", "--"]);
        let status = command
            .arg(&own)
            .arg("--bench")
            .env(CHILD, "1")
            .stderr(std::process::Stdio::null())
            .status()?;
        ensure!(matches!(status.code(), Some(0 | 1)), "{status}");
    }
    Ok(())
}

/// The loop alone, to subtract.
#[divan::bench]
fn loop_alone(bencher: Bencher) {
    bencher.counter(PAIRS).bench_local(|| {
        for pair in 0..PAIRS {
            black_box(pair);
        }
    });
}

#[divan::bench]
fn lock_and_unlock(bencher: Bencher) {
    let mut lock = Lock(libc::PTHREAD_MUTEX_INITIALIZER);
    bencher.counter(PAIRS).bench_local(|| {
        for pair in 0..PAIRS {
            black_box(pair);
            lock.pass();
        }
    });
}

/// A mutex of the C library, called by name: Rust's own does not use it.
struct Lock(libc::pthread_mutex_t);

impl Lock {
    #[inline(never)]
    fn pass(&mut self) {
        let lock = std::ptr::from_mut(&mut self.0);
        // SAFETY: initialised when it was made, and not moved while it is held.
        unsafe { libc::pthread_mutex_lock(lock) };
        // SAFETY: this thread has just taken it.
        unsafe { libc::pthread_mutex_unlock(lock) };
    }
}
