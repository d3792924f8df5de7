//! How many threads of a target want to run at once, from the kernel's run queue statistics, and
//! what follows for its pauses ([`coz_rs_runtime_preload::crowding`]).

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use coz_rs_runtime_preload::crowding::{CROWDED, runnable};
use nix::sched::sched_getaffinity;
use nix::unistd::Pid;

/// Threads that are read at most: reading one takes some microseconds.
const MOST_THREADS: usize = 128;
/// What is left of older baseline windows at each new one.
const FADE: f64 = 0.8;
/// CPU time that must have been seen before anything is concluded, ns.
const ENOUGH: f64 = 50e6;
/// Until a baseline window has been measured, so many times the processors must be wanted: a program
/// that starts is disturbed by its own beginning and by ours.
const AT_START: f64 = 1.5;

/// CPU time and time spent runnable without a processor, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Times {
    cpu: u64,
    waited: u64,
}

/// What is known of a target's runnable threads.
#[derive(Debug)]
pub struct Crowd {
    processors: usize,
    /// CPU time and waits seen in baseline windows, fading.
    cpu: f64,
    waited: f64,
    /// Baseline windows measured.
    windows: u32,
    /// The threads at the begin of the present window, if it is a baseline window.
    baseline: Option<HashMap<u32, Times>>,
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
            cpu: 0.0,
            waited: 0.0,
            windows: 0,
            baseline: None,
        }
    }

    /// A window begins; before the first, what the process did until now counts.
    pub fn begin(&mut self, pid: u32, baseline: bool) {
        let first = self.cpu == 0.0;
        let threads = (baseline || first).then(|| read(pid)).flatten();
        if let Some(threads) = threads.as_ref().filter(|_| first) {
            self.add(&HashMap::new(), threads);
        }
        self.baseline = threads.filter(|_| baseline);
    }

    /// The window has been measured.
    pub fn end(&mut self, pid: u32) {
        if let Some(begin) = self.baseline.take()
            && let Some(end) = read(pid)
        {
            // What was seen of the start counts no more.
            let fade = if self.windows == 0 { 0.0 } else { FADE };
            self.windows += 1;
            self.cpu *= fade;
            self.waited *= fade;
            self.add(&begin, &end);
            log::debug!("{:?} threads runnable", self.runnable());
        }
    }

    /// Adds what the threads alive at the end have done. Those that ended meanwhile are left out on
    /// both sides, so short-lived threads count with what was seen of them.
    fn add(&mut self, begin: &HashMap<u32, Times>, end: &HashMap<u32, Times>) {
        for (thread, times) in end {
            let before = begin.get(thread).copied().unwrap_or_default();
            self.cpu += times.cpu.saturating_sub(before.cpu) as f64;
            self.waited += times.waited.saturating_sub(before.waited) as f64;
        }
    }

    fn runnable(&self) -> Option<f64> {
        let enough = self.cpu >= ENOUGH;
        let seen = runnable(self.cpu as u64, self.waited as u64, self.processors);
        seen.filter(|_| enough)
    }

    /// Whether clearly more threads want to run than there are processors.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        let wanted = if self.windows == 0 { AT_START } else { CROWDED };
        self.runnable()
            .is_some_and(|mean| mean >= self.processors as f64 * wanted)
    }
}

/// Reads `/proc/PID/task/*/schedstat` (Documentation/scheduler/sched-stats.rst: time on the
/// processor, time waiting to run, both ns, and the number of turns).
fn read(pid: u32) -> Option<HashMap<u32, Times>> {
    let tasks = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task")).ok()?;
    let mut threads = HashMap::new();
    for task in tasks.flatten().take(MOST_THREADS) {
        let number = task.file_name().to_str().and_then(|name| name.parse().ok());
        // A thread may end meanwhile.
        let (Some(number), Ok(text)) = (number, fs::read_to_string(task.path().join("schedstat")))
        else {
            continue;
        };
        threads.insert(number, parse(&text)?);
    }
    Some(threads)
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
        let threads = read(std::process::id()).expect("Linux has schedstat");
        assert!(threads.values().any(|times| times.cpu > 0));
        assert!(Crowd::new(std::process::id()).processors >= 1);
    }

    #[test]
    fn threads_that_have_just_begun_make_no_crowd() {
        let mut crowd = Crowd::new(std::process::id());
        crowd.processors = 2;
        let thread = |cpu, waited| Times { cpu, waited };
        // The old ones have ended; the new ones waited a little for their first turn.
        let begin = HashMap::from([(1, thread(900_000_000, 0)), (2, thread(6_000_000, 50_000))]);
        let end = HashMap::from([(1, thread(901_000_000, 0)), (3, thread(100_000, 90_000))]);
        crowd.add(&begin, &end);
        assert!(!crowd.is_crowded(), "too little was seen");
        crowd.add(
            &HashMap::new(),
            &HashMap::from([(9, thread(300_000_000, 90_000_000))]),
        );
        assert!(!crowd.is_crowded(), "only the start was seen");
        (crowd.cpu, crowd.waited, crowd.windows) = (0.0, 0.0, 1);
        for _ in 0..20 {
            crowd.add(&begin, &HashMap::from([(4, thread(5_000_000, 60_000))]));
        }
        assert!(!crowd.is_crowded(), "{:?}", crowd.runnable());
        crowd.add(
            &begin,
            &HashMap::from([(5, thread(200_000_000, 90_000_000))]),
        );
        assert!(crowd.is_crowded(), "{:?}", crowd.runnable());
    }
}
