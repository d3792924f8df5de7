//! Whether others used the processors while something was measured.
//!
//! `/proc/stat` tells how long all processors were busy, `/proc/self/stat` what we and the children
//! that we waited for used; the rest is others'. Both count in hundredths of a second.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};

/// Ticks a second in both files: USER_HZ, which is 100 on x86-64 (proc(5)).
const TICKS: f64 = 100.0;
/// A measurement during which others kept so many processors busy is void. The kernel's own work
/// and the ticks' coarseness stay below on an idle machine.
pub const TOO_MUCH: f64 = 0.10;
/// What cannot be repeated counts nevertheless up to here; beyond, two busy threads share one
/// processor for much of the time, and neither truth nor prediction is one.
pub const WORTHLESS: f64 = 0.35;

/// Begin of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    all: f64,
    own: f64,
    begin: Instant,
}

impl Watch {
    /// Begins.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn start() -> Result<Watch> {
        Ok(Watch {
            all: all()?,
            own: own()?,
            begin: Instant::now(),
        })
    }

    /// How many processors others have kept busy since.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn others(&self) -> Result<f64> {
        let (all, own) = (all()? - self.all, own()? - self.own);
        let seconds = self.begin.elapsed().as_secs_f64().max(0.01);
        Ok(((all - own) / TICKS / seconds).max(0.0))
    }
}

fn all() -> Result<f64> {
    let text = fs::read_to_string("/proc/stat").context("reading /proc/stat")?;
    busy(&text).context("/proc/stat has no line `cpu`")
}

fn own() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat").context("reading /proc/self/stat")?;
    used(&text).context("/proc/self/stat is not as proc(5) says")
}

/// Busy ticks of all processors: user, nice, system, irq, softirq and steal.
fn busy(stat: &str) -> Option<f64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<f64> = line
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    [0, 1, 2, 5, 6, 7]
        .into_iter()
        .map(|field| fields.get(field).copied())
        .sum()
}

/// Ticks used by a process and its waited-for children: utime, stime, cutime and cstime.
fn used(stat: &str) -> Option<f64> {
    // The name in parentheses may hold anything; field 3 follows it.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    (11..15)
        .map(|field| fields.get(field)?.parse::<f64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_manual() {
        let stat = "cpu  1000 20 300 50000 70 6 7 8 900 10\ncpu0 1 1 1 1\n";
        assert_eq!(busy(stat), Some(1341.0));
        assert_eq!(busy("intr 5\n"), None);
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 100 0 0 0 11 12 13 14 20 0 1 0";
        assert_eq!(used(stat), Some(50.0));
    }

    #[test]
    fn our_own_work_is_not_others() -> Result<()> {
        let before = own()?;
        let begin = Instant::now();
        while begin.elapsed().as_millis() < 60 {
            std::hint::black_box(all()?);
        }
        // Another test may run beside, so only a lower bound holds.
        assert!(own()? - before >= 2.0);
        Ok(())
    }
}
