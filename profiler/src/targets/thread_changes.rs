//! How often a target's threads come onto a processor, which is what the sigtrap sampler costs: the
//! kernel programs the processor's timer each time a thread with a perf event begins to run. On a
//! virtual machine that leaves the guest.
//!
//! It does not measure the cost itself, which nothing tells while the program runs.

use std::fs;
use std::path::Path;

use crate::clock::now;

/// Turns a second of CPU time from which on the timer sampler is the better one. The figure and what
/// it was measured on are in docs/survival.md.
const MANY: f64 = 8_000.0;
/// Time between two looks, ns; and CPU time that must have gone by for one to count, ns.
const EVERY: u64 = 100_000_000;
const ENOUGH: u64 = 50_000_000;
/// Looks in a row that must find many, so that a burst changes nothing.
const IN_A_ROW: u32 = 2;
/// Threads that are read at most: reading one takes some microseconds.
const MOST_THREADS: usize = 64;

/// Whether that costs much on this machine: it is a guest. Elsewhere it was not measured, and perf
/// events are kept.
#[must_use]
pub fn are_dear() -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    is_guest(&text)
}

/// Whether the first processor's flags in /proc/cpuinfo name a hypervisor.
fn is_guest(text: &str) -> bool {
    let mut lines = text.lines();
    let flags = lines.find_map(|line| line.strip_prefix("flags"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// CPU time, ns, and turns on a processor of all threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    cpu: u64,
    turns: u64,
}

/// What was seen of a target.
#[derive(Debug, Default)]
pub struct ThreadChanges {
    looked: u64,
    last: Option<Counts>,
    in_a_row: u32,
    /// Few were found at least once.
    few: bool,
}

impl ThreadChanges {
    /// Looks again, if it is time; turns a second of CPU time, once they have been many for a while.
    pub fn look(&mut self, pid: u32) -> Option<u64> {
        let time = now();
        if time.saturating_sub(self.looked) < EVERY {
            return None;
        }
        self.looked = time;
        self.add(read(pid)?)
    }

    /// Whether enough was seen for a first answer.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.few || self.in_a_row >= IN_A_ROW
    }

    fn add(&mut self, counts: Counts) -> Option<u64> {
        // Threads that ended meanwhile took their counts along: such a look says nothing.
        let Some(last) = self.last.filter(|last| counts.cpu >= last.cpu) else {
            self.last = Some(counts);
            return None;
        };
        let cpu = counts.cpu - last.cpu;
        if cpu < ENOUGH {
            return None;
        }
        self.last = Some(counts);
        let rate = counts.turns.saturating_sub(last.turns) as f64 * 1e9 / cpu as f64;
        log::debug!("threads came onto a processor {rate:.0} times a second of CPU time");
        self.few |= rate < MANY;
        self.in_a_row = if rate >= MANY { self.in_a_row + 1 } else { 0 };
        (self.in_a_row >= IN_A_ROW).then_some(rate as u64)
    }
}

/// Sums up `/proc/PID/task/*/schedstat` (Documentation/scheduler/sched-stats.rst: time on the
/// processor, time waiting to run, both ns, and the number of turns on a processor).
fn read(pid: u32) -> Option<Counts> {
    let tasks = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task")).ok()?;
    let mut sum = Counts::default();
    for task in tasks.flatten().take(MOST_THREADS) {
        // A thread may end meanwhile.
        let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else {
            continue;
        };
        let counts = parse(&text)?;
        sum.cpu += counts.cpu;
        sum.turns += counts.turns;
    }
    Some(sum)
}

fn parse(text: &str) -> Option<Counts> {
    let mut words = text.split_ascii_whitespace();
    Some(Counts {
        cpu: words.next()?.parse().ok()?,
        turns: words.nth(1)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(changes: &mut ThreadChanges, milliseconds: u64, turns: u64) -> Option<u64> {
        let last = changes.last.unwrap_or_default();
        changes.add(Counts {
            cpu: last.cpu + milliseconds * 1_000_000,
            turns: last.turns + turns,
        })
    }

    #[test]
    fn many_turns_for_a_while_are_told() {
        let mut changes = ThreadChanges::default();
        let answers: Vec<_> = (0..3).map(|_| look(&mut changes, 100, 5_000)).collect();
        assert_eq!(answers, [None, None, Some(50_000)]);
        assert!(changes.is_known());
    }

    #[test]
    fn few_turns_are_known_at_once() {
        let mut changes = ThreadChanges::default();
        assert_eq!(look(&mut changes, 100, 200), None);
        assert!(!changes.is_known());
        assert_eq!(look(&mut changes, 100, 200), None);
        assert!(changes.is_known());
    }

    #[test]
    fn a_burst_is_not() {
        let mut changes = ThreadChanges::default();
        for turns in [5_000, 5_000, 100, 5_000, 10, 5_000, 20] {
            assert_eq!(look(&mut changes, 100, turns), None);
        }
    }

    #[test]
    fn a_process_that_hardly_runs_is_not() {
        let mut changes = ThreadChanges::default();
        look(&mut changes, 100, 0);
        // A hundred looks of 0.1 ms come to 10 ms.
        let total = changes.last.expect("looked");
        for step in 1..100 {
            let counts = Counts {
                cpu: total.cpu + step * 100_000,
                turns: total.turns + step * 1_000,
            };
            assert_eq!(changes.add(counts), None);
        }
    }

    #[test]
    fn threads_that_ended_take_nothing_from_the_others() {
        let mut changes = ThreadChanges::default();
        look(&mut changes, 1_000, 100);
        assert_eq!(changes.add(Counts { cpu: 5, turns: 9 }), None);
        assert_eq!(changes.last, Some(Counts { cpu: 5, turns: 9 }));
    }

    #[test]
    fn guests_are_told_by_the_processor_s_flags() {
        assert!(is_guest("processor\t: 0\nflags\t\t: fpu hypervisor lm\n"));
        assert!(!is_guest(
            "processor\t: 0\nflags\t\t: fpu lm\nbugs\t: hypervisor\n"
        ));
        assert!(!is_guest(""));
    }

    #[test]
    fn the_kernel_s_line_is_read() {
        let counts = parse("668460 109836 2\n").expect("three numbers");
        assert_eq!((counts.cpu, counts.turns), (668_460, 2));
        assert_eq!(parse("668460 109836"), None);
        assert!(read(std::process::id()).is_some_and(|counts| counts.turns > 0));
    }
}
