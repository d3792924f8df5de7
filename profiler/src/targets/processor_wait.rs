//! How long the threads of a target could run and had no processor, and how much of the machine's
//! time the hypervisor took: what another program does to a window.

use std::collections::HashMap;

use crate::clock::now;

/// With more threads than this, reading about each would itself disturb.
const MOST_THREADS: usize = 64;

/// The kernel's sums at one moment.
#[derive(Debug, Clone, Default)]
pub struct ProcessorWait {
    time: u64,
    /// Of each thread, ns; nothing if they are too many or not told.
    threads: Option<HashMap<u32, u64>>,
    /// Stolen and all ticks of all processors.
    ticks: Option<(u64, u64)>,
}

/// What happened between two moments.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Waited {
    /// Time that threads waited for a processor, as part of wall time, all threads together.
    pub waited: Option<f64>,
    /// Part of the machine's processor time that was stolen.
    pub stolen: Option<f64>,
}

impl ProcessorWait {
    /// Reads about a process.
    #[must_use]
    pub fn read(pid: u32) -> ProcessorWait {
        let stat = std::fs::read_to_string("/proc/stat");
        ProcessorWait {
            time: now(),
            threads: threads(pid),
            ticks: stat.ok().and_then(|text| ticks(&text)),
        }
    }

    /// What happened since an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &ProcessorWait) -> Waited {
        let wall = self.time.saturating_sub(earlier.time);
        let threads = self.threads.as_ref().zip(earlier.threads.as_ref());
        let waited = threads.map(|(threads, before)| {
            let one = |(tid, wait): (&u32, &u64)| {
                wait.saturating_sub(before.get(tid).copied().unwrap_or(0))
            };
            threads.iter().map(one).sum::<u64>() as f64 / wall as f64
        });
        let stolen = self.ticks.zip(earlier.ticks).map(|(ticks, before)| {
            let all = ticks.1.saturating_sub(before.1).max(1);
            ticks.0.saturating_sub(before.0) as f64 / all as f64
        });
        Waited {
            waited: waited.filter(|_| wall > 0),
            stolen,
        }
    }
}

/// Second number of each thread's schedstat (Documentation/scheduler/sched-stats.rst).
fn threads(pid: u32) -> Option<HashMap<u32, u64>> {
    let mut waits = HashMap::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let entry = entry.ok()?;
        let tid: u32 = entry.file_name().to_str()?.parse().ok()?;
        if waits.len() == MOST_THREADS {
            return None;
        }
        // One that has just ended has no file any more.
        let Ok(text) = std::fs::read_to_string(entry.path().join("schedstat")) else {
            continue;
        };
        waits.insert(tid, text.split_whitespace().nth(1)?.parse().ok()?);
    }
    Some(waits)
}

/// Stolen and all ticks of the first line of /proc/stat (proc_stat(5)); guests' are in users'.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let words = stat.lines().next()?.strip_prefix("cpu ")?;
    let numbers: Vec<u64> = words
        .split_whitespace()
        .take(8)
        .map_while(|word| word.parse().ok())
        .collect();
    Some((*numbers.get(7)?, numbers.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_those_of_the_manual() {
        let text = "cpu  10 20 30 40 5 6 7 8 900 900\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(ticks(text), Some((8, 126)));
        assert_eq!(ticks("cpu 1 2 3"), None);
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn threads_that_come_and_go_do_not_confuse_the_sum() {
        let at = |time, threads: &[(u32, u64)]| ProcessorWait {
            time,
            threads: Some(threads.iter().copied().collect()),
            ticks: Some((time / 100, time)),
        };
        let first = at(1_000, &[(1, 500), (2, 9_000)]);
        let second = at(2_000, &[(1, 600), (3, 150)]);
        let waited = second.since(&first);
        assert_eq!(waited.waited, Some(0.25));
        assert_eq!(waited.stolen, Some(0.01));
        assert_eq!(first.since(&first).waited, None);
    }

    #[test]
    fn this_process_can_be_read() {
        let read = ProcessorWait::read(std::process::id());
        assert!(read.ticks.is_some());
        // Kernels without CONFIG_SCHED_INFO have no schedstat.
        assert!(
            read.threads
                .is_none_or(|threads| threads.len() <= MOST_THREADS)
        );
    }
}
