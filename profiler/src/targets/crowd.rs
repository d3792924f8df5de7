//! How many threads of a target want to run at once, from the kernel's run queue statistics, and
//! what follows for its pauses ([`coz_rs_runtime_preload::crowding`]).

use std::path::Path;

use coz_rs_runtime_preload::crowding::{CROWDED, runnable};
use nix::sched::sched_getaffinity;
use nix::unistd::Pid;

use crate::doubt::Doubt;

/// Threads that are read at most: reading one takes some microseconds.
const MOST_THREADS: usize = 128;
/// Weight of the newest baseline window in the mean.
const NEWEST: f64 = 0.25;

/// CPU time and time spent runnable without a processor, ns, of all threads together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Times {
    cpu: u64,
    waited: u64,
}

/// What is known of a target's runnable threads.
#[derive(Debug)]
pub struct Crowd {
    processors: usize,
    /// The mean number of runnable threads while no pauses were paid.
    mean: Option<f64>,
    baseline: Option<Times>,
}

impl Crowd {
    /// Of a process that has just arrived.
    #[must_use]
    pub fn new(pid: u32) -> Crowd {
        let set = sched_getaffinity(Pid::from_raw(pid.cast_signed()));
        let processors = set.map_or(1, |set| {
            let all = 0..nix::sched::CpuSet::count();
            all.filter(|cpu| set.is_set(*cpu).unwrap_or(false)).count()
        });
        Crowd {
            processors: processors.max(1),
            mean: None,
            baseline: None,
        }
    }

    /// A window begins; before the first, what the process did until now counts.
    pub fn begin(&mut self, pid: u32, baseline: bool) {
        let times = if baseline || self.mean.is_none() {
            read(pid)
        } else {
            None
        };
        if self.mean.is_none() {
            self.mean = times.and_then(|all| runnable(all.cpu, all.waited, self.processors));
        }
        self.baseline = times.filter(|_| baseline);
    }

    /// The window has been measured; whether the process is crowded.
    pub fn end(&mut self, pid: u32) -> bool {
        if let Some(begin) = self.baseline.take()
            && let Some(end) = read(pid)
            && let Some(newest) = runnable(
                end.cpu.saturating_sub(begin.cpu),
                end.waited.saturating_sub(begin.waited),
                self.processors,
            )
        {
            let old = self.mean.unwrap_or(newest);
            self.mean = Some(old + (newest - old) * NEWEST);
            log::debug!("{newest:.2} threads runnable, {:.2} in the mean", old);
        }
        self.is_crowded()
    }

    /// Whether clearly more threads want to run than there are processors.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.mean
            .is_some_and(|mean| mean >= self.processors as f64 * CROWDED)
    }

    /// The doubt about a crowded process.
    #[must_use]
    pub fn doubt(&self) -> Doubt {
        Doubt::MoreThreadsThanProcessors {
            runnable_tenths: (self.mean.unwrap_or(0.0) * 10.0).round() as u64,
            processors: self.processors,
        }
    }
}

/// Sums `/proc/PID/task/*/schedstat` (Documentation/scheduler/sched-stats.rst: time on the
/// processor, time waiting to run, both ns, and the number of turns).
fn read(pid: u32) -> Option<Times> {
    let tasks = std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task")).ok()?;
    let mut sum = Times::default();
    for task in tasks.flatten().take(MOST_THREADS) {
        // A thread may end meanwhile.
        let Ok(text) = std::fs::read_to_string(task.path().join("schedstat")) else {
            continue;
        };
        let times = parse(&text)?;
        sum.cpu = sum.cpu.saturating_add(times.cpu);
        sum.waited = sum.waited.saturating_add(times.waited);
    }
    Some(sum)
}

fn parse(text: &str) -> Option<Times> {
    let mut words = text.split_ascii_whitespace();
    Some(Times {
        cpu: words.next()?.parse().ok()?,
        waited: words.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_line_is_read() {
        let times = parse("668460 109836 2\n").expect("two numbers");
        assert_eq!((times.cpu, times.waited), (668_460, 109_836));
        assert_eq!(parse("668460"), None);
        assert_eq!(parse("a b c"), None);
    }

    #[test]
    fn we_ourselves_have_run() {
        let times = read(std::process::id()).expect("Linux has schedstat");
        assert!(times.cpu > 0);
        assert!(Crowd::new(std::process::id()).processors >= 1);
    }
}
