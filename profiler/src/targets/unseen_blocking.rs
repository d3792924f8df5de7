//! Threads that sleep in futex calls which no hook sees: made by inline assembly, as the runtimes of
//! Go, Zig and libgomp do, or inside the C library itself.
//!
//! Such a thread pays for pauses that it slept through. It is found by its voluntary context
//! switches (proc_pid_status(5)): while a ledger is kept, each sleep that a hook has seen is noted
//! in the thread's slot before it begins. A thread that fell asleep since the window was put in
//! force, and sleeps in a futex call without that note, fell asleep past all hooks. What threads do
//! is looked at now and then, at no visit of a point, so the part of the looks at which one slept
//! like that is the part of the time.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::sync::atomic::Ordering::Relaxed;

use coz_rs_runtime_preload::layout::ThreadSlot;

use super::shared_region::SharedRegion;
use crate::clock::now;
use crate::symbols;

/// Threads that are looked at in one window: a look takes about 50 µs a thread.
const MOST_THREADS: usize = 24;
/// Found asleep so often before anything is said.
const ENOUGH: u64 = 5;
/// Part of the looks, all threads together, that is said: less changes no result that could be told
/// from noise.
const WORTH_SAYING: f64 = 0.05;

/// What a thread has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    /// Voluntary context switches.
    switches: u64,
    /// Waits and pauses that hooks have begun: [`ThreadSlot::waits`].
    seen: u64,
}

/// What is known of the sleep of a target's threads.
#[derive(Debug, Default)]
pub struct UnseenBlocking {
    /// When the window was put in force, ns, and the threads then.
    begun: Option<(u64, HashMap<u32, Counts>)>,
    /// Looks so far.
    looks: u64,
    /// Threads found asleep past all hooks, over all looks.
    asleep: u64,
    /// Of those, from begin to look: voluntary switches, waits that hooks have seen, ns.
    switches: u64,
    seen: u64,
    time: u64,
    /// What they were asleep in, and how often.
    places: BTreeMap<String, u64>,
}

/// Enough of it to say so.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unseen {
    /// Hundredths of a thread that slept like that, on average.
    pub hundredths: u32,
    /// Voluntary context switches of such a thread a second,
    pub switches: u64,
    /// and waits and pauses that hooks began.
    pub seen: u64,
    /// The file that most of the calls were in.
    pub place: String,
}

impl UnseenBlocking {
    /// A window has been put in force, in which a ledger is kept.
    pub fn begin(&mut self, pid: u32, region: &SharedRegion) {
        let mut threads = HashMap::new();
        let slots = region.thread_slots();
        for slot in slots.iter().filter(|slot| tid(slot) != 0) {
            if threads.len() == MOST_THREADS {
                break;
            }
            let tid = tid(slot);
            if let Some(switches) = voluntary_switches(pid, tid) {
                let seen = slot.waits.load(Relaxed);
                threads.insert(tid, Counts { switches, seen });
            }
        }
        self.begun = Some((now(), threads));
    }

    /// In the midst of a window: what do its threads do? Once a window.
    pub fn look(&mut self, pid: u32, region: &SharedRegion) {
        let Some((begun, threads)) = self.begun.take() else {
            return;
        };
        self.looks += 1;
        for slot in region.thread_slots() {
            let tid = tid(slot);
            let Some(before) = threads.get(&tid) else {
                continue;
            };
            if let Some((pc, counts)) = asleep_unseen(pid, tid, slot, *before) {
                self.asleep += 1;
                self.switches += counts.switches.saturating_sub(before.switches);
                self.seen += counts.seen.saturating_sub(before.seen);
                self.time += now().saturating_sub(begun);
                *self.places.entry(place(pid, pc)).or_default() += 1;
            }
        }
    }

    /// [`UnseenBlocking::begin`] and [`UnseenBlocking::look`] by turns, where one window lasts for
    /// the whole run.
    pub fn go_on(&mut self, pid: u32, region: &SharedRegion) {
        const EVERY: u64 = 100_000_000;
        match &self.begun {
            Some((begun, _)) if now().saturating_sub(*begun) < EVERY => {}
            _ => {
                self.look(pid, region);
                self.begin(pid, region);
            }
        }
    }

    /// What is to be said of it, if anything.
    #[must_use]
    pub fn finding(&self) -> Option<Unseen> {
        let mean = self.asleep as f64 / self.looks.max(1) as f64;
        if self.asleep < ENOUGH || mean < WORTH_SAYING {
            return None;
        }
        let seconds = self.time as f64 / 1e9;
        let place = self.places.iter().max_by_key(|(_, count)| **count);
        Some(Unseen {
            hundredths: (mean * 100.0).round() as u32,
            switches: (self.switches as f64 / seconds).round() as u64,
            seen: (self.seen as f64 / seconds).round() as u64,
            place: place.map(|(place, _)| place.clone()).unwrap_or_default(),
        })
    }
}

fn tid(slot: &ThreadSlot) -> u32 {
    slot.tid.load(Relaxed)
}

/// Where a thread sleeps in a futex call without a hook's note, having fallen asleep since
/// `before`; nothing if it does anything else, or did not sleep on while we looked.
fn asleep_unseen(pid: u32, tid: u32, slot: &ThreadSlot, before: Counts) -> Option<(u64, Counts)> {
    let switches = voluntary_switches(pid, tid)?;
    if switches == before.switches {
        return None;
    }
    let call = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    let pc = futex_call(&call)?;
    let noted = slot.wait_window.load(Relaxed) != 0 || slot.tid.load(Relaxed) != tid;
    if noted || voluntary_switches(pid, tid)? != switches {
        return None;
    }
    let seen = slot.waits.load(Relaxed);
    Some((pc, Counts { switches, seen }))
}

/// `voluntary_ctxt_switches` of a thread's status.
fn voluntary_switches(pid: u32, tid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

/// The program counter of a thread that is in a futex call: number first, then arguments, stack
/// pointer and program counter (proc_pid_syscall(5)); a thread that runs has one word.
fn futex_call(text: &str) -> Option<u64> {
    /// `SYS_futex_wait` of the x86-64 table (Linux 6.7), which libc does not name yet.
    const FUTEX_WAIT: i64 = 455;
    let mut words = text.split_ascii_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    if ![libc::SYS_futex, libc::SYS_futex_waitv, FUTEX_WAIT].contains(&number) {
        return None;
    }
    let pc = words.next_back()?.strip_prefix("0x")?;
    u64::from_str_radix(pc, 16).ok()
}

/// The name of the file that an address is in.
fn place(pid: u32, address: u64) -> String {
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let path = symbols::mapped_file(&maps, address);
    let name = path.as_deref().and_then(|path| path.file_name());
    name.map_or_else(
        || "code of no file".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_futex_calls_are_meant() {
        let futex = "202 0x7f1 0x80 0x2 0x0 0x0 0x0 0x7ffe12 0x7f00000000ab\n";
        assert_eq!(futex_call(futex), Some(0x7f00_0000_00ab));
        assert_eq!(
            futex_call("230 0x0 0x1 0x2 0x0 0x0 0x0 0x7ffe 0x7f\n"),
            None
        );
        assert_eq!(futex_call("running\n"), None);
        assert_eq!(futex_call("-1 0x7ffe 0x7f\n"), None);
        assert_eq!(futex_call("202"), None);
        assert_eq!(futex_call(""), None);
    }

    #[test]
    fn our_own_switches_are_counted() {
        let pid = std::process::id();
        let before = voluntary_switches(pid, pid).expect("Linux counts them");
        assert!(voluntary_switches(pid, pid) >= Some(before));
        assert_eq!(voluntary_switches(pid, u32::MAX), None);
    }

    #[test]
    fn little_of_it_is_not_said() {
        let mut blocking = UnseenBlocking {
            looks: 100,
            asleep: 4,
            switches: 4_000,
            seen: 40,
            time: 2_000_000_000,
            places: BTreeMap::from([("libgomp.so.1".to_owned(), 3), ("app".to_owned(), 1)]),
            begun: None,
        };
        assert_eq!(blocking.finding(), None);
        blocking.asleep = 130;
        let finding = blocking.finding().expect("more than a thread");
        assert_eq!(
            (finding.hundredths, finding.switches, finding.seen),
            (130, 2_000, 20)
        );
        assert_eq!(finding.place, "libgomp.so.1");
        blocking.looks = 10_000;
        assert_eq!(blocking.finding(), None);
    }
}
