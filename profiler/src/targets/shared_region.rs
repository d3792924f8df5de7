//! The memory shared with one target, the only place that touches the mapping.
//!
//! The target may write anything at any time, so every count and index read here is checked
//! before use. What the controller publishes (plans, unwind tables) goes into the buffer that is
//! not in force and is then switched to by one store.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::fence;

use anyhow::Context as _;
use coz_rs_runtime_preload::layout::{
    MAGIC, MAX_BREAKPOINTS, MAX_COUNTERS, MAX_FRAMES, MAX_MODULES, MAX_ROWS, MAX_THREADS,
    NAME_BYTES, RING_SLOTS, Range, Region, SAMPLE_CUT, SPEEDUP_ONE, ThreadSlot, gone_over,
};
use coz_rs_runtime_preload::unwind_row::Row;
use memmap2::{MmapOptions, MmapRaw};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::points::displacing::Displaced;
use crate::points::uprobes::ProcessCounts;
use crate::symbols::HitRanges;

/// The mapping of one target's region.
#[derive(Debug)]
pub struct SharedRegion {
    map: MmapRaw,
    /// Rows handed out so far.
    rows_used: usize,
    /// Where the rows of a table went, so that a module loaded all along is written once.
    placed: Vec<(Arc<[Row]>, u32)>,
    /// Number of the next sample to read.
    next_sample: u64,
    /// Times that the next sample was found unfinished.
    unfinished: u32,
    /// What the kernel counts.
    counted: Option<Counted>,
}

/// Points whose visits the kernel counts in one target.
#[derive(Debug)]
struct Counted {
    counts: ProcessCounts,
    /// The points, in the kernel's order.
    points: Vec<(PointKind, String)>,
    /// Their numbers in the region.
    numbers: Vec<Option<usize>>,
}

/// What a progress point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PointKind {
    /// `progress!`
    Throughput,
    /// `begin!`
    Begin,
    /// `end!`
    End,
}

impl PointKind {
    /// Its name in profiles.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PointKind::Throughput => "throughput",
            PointKind::Begin => "begin",
            PointKind::End => "end",
        }
    }

    /// Its number in shared memory.
    fn number(self) -> u32 {
        match self {
            PointKind::Throughput => 1,
            PointKind::Begin => 2,
            PointKind::End => 3,
        }
    }
}

/// Words read together at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ledgers {
    /// G, ns.
    pub g: u64,
    /// All hits.
    pub hits: u64,
    /// All samples.
    pub samples: u64,
}

/// What the counter of a begin or an end says of the time of its visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flow {
    /// Visits.
    pub count: u64,
    /// Sum of visits × dG, ns modulo 2^64.
    pub over_g: u64,
    /// Visits that were stamped and the sum of their stamps; nothing while one was under way.
    pub stamped: Option<(u64, u64)>,
}

/// A window to put in force.
#[derive(Debug, Clone, Copy)]
pub struct PlanToPublish<'a> {
    /// Number of the window, never 0.
    pub window: u64,
    /// Number of the line, never 0 if there is one.
    pub line: u64,
    /// The virtual speedup, 0..=1.
    pub speedup: f64,
    /// Where the line's code is.
    pub ranges: &'a HitRanges,
    /// Whether more threads want to run than there are processors.
    pub crowded: bool,
}

/// An unwind table to publish.
#[derive(Debug, Clone)]
pub struct TableToPublish {
    /// First mapped address.
    pub start: u64,
    /// First address after the last mapping.
    pub end: u64,
    /// Where row addresses count from.
    pub base: u64,
    /// The rows.
    pub rows: Arc<[Row]>,
}

/// One sample, copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sample {
    /// Thread id.
    pub tid: u32,
    /// How many periods it stands for.
    pub weight: u32,
    /// The walk ended before the stack's end.
    pub cut: bool,
    /// Addresses, innermost first.
    pub frames: Vec<u64>,
}

/// What draining the ring gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drained {
    /// Samples read.
    pub read: u64,
    /// Samples overwritten before they were read, or never finished.
    pub lost: u64,
}

/// Rounds that a half-written sample is waited for: its thread may be paused inside its handler.
const PATIENCE: u32 = 8;

impl SharedRegion {
    /// Makes the memory and maps it; the descriptor is for the target.
    ///
    /// # Errors
    /// If the system gives no memory.
    pub fn create(period: u64) -> anyhow::Result<(SharedRegion, OwnedFd)> {
        let size = size_of::<Region>();
        let memory = memfd_create(
            c"coz-rs",
            MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING,
        )
        .context("making shared memory")?;
        let file = File::from(memory);
        file.set_len(size as u64).context("sizing shared memory")?;
        // A target that shrank it would end us by SIGBUS.
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(file.as_fd(), FcntlArg::F_ADD_SEALS(seals)).context("sealing shared memory")?;
        let map = MmapOptions::new()
            .len(size)
            .map_raw(&file)
            .context("mapping shared memory")?;
        let region = SharedRegion {
            map,
            rows_used: 0,
            placed: Vec::new(),
            next_sample: 0,
            unfinished: 0,
            counted: None,
        };
        let header = &region.region().header;
        header.size.store(size as u64, Relaxed);
        header.period.store(period, Relaxed);
        header.magic.store(MAGIC, Relaxed);
        Ok((region, file.into()))
    }

    fn region(&self) -> &Region {
        let region = self.map.as_ptr().cast::<Region>();
        // SAFETY: `create` mapped the region's size, page-aligned, and the mapping lives as long
        // as self; the file is sealed against shrinking. Every field is an atomic, for which the
        // zero bytes of a new memfd are valid and which the target may change at any time.
        unsafe { &*region }
    }

    /// G and the counts of hits and samples now.
    #[must_use]
    pub fn ledgers(&self) -> Ledgers {
        let global = &self.region().global;
        Ledgers {
            g: global.g.load(Relaxed),
            hits: global.hits.load(Relaxed),
            samples: global.samples.load(Relaxed),
        }
    }

    /// How many progress points there are.
    #[must_use]
    pub fn point_count(&self) -> usize {
        // Acquire: partner of the runtime's store after filling the counter in.
        let count = self.region().header.counters.load(Acquire) as usize;
        count.min(MAX_COUNTERS)
    }

    /// Kind and name of point `index`; nothing while it is being filled in.
    #[must_use]
    pub fn point(&self, index: usize) -> Option<(PointKind, String)> {
        let counter = self.region().counters.get(index)?;
        // Acquire: partner of the runtime's Release store, which comes last.
        let kind = match counter.kind.load(Acquire) {
            1 => PointKind::Throughput,
            2 => PointKind::Begin,
            3 => PointKind::End,
            _ => return None,
        };
        let length = (counter.name_len.load(Relaxed) as usize).min(NAME_BYTES);
        let mut bytes = Vec::with_capacity(NAME_BYTES);
        for word in &counter.name {
            bytes.extend_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        bytes.truncate(length);
        Some((kind, String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The number of the progress point of this kind and name, which is made if it is not there;
    /// nothing if there is no room.
    pub fn add_point(&self, kind: PointKind, name: &str) -> Option<usize> {
        /// As the runtime marks one that is being filled in.
        const FILLING: u32 = u32::MAX;
        /// A target that was stopped meanwhile is not waited for.
        const LOOKS: u32 = 10_000;
        let name = &name.as_bytes()[..name.len().min(NAME_BYTES)];
        for (index, counter) in self.region().counters.iter().enumerate() {
            // Acquire: partner of the runtime's store after filling it in, as below.
            let mut found = counter.kind.load(Acquire);
            if found == 0 {
                match counter.kind.compare_exchange(0, FILLING, Acquire, Acquire) {
                    Ok(_) => {
                        for (cell, chunk) in counter.name.iter().zip(name.chunks(8)) {
                            let mut word = [0; 8];
                            word[..chunk.len()].copy_from_slice(chunk);
                            cell.store(u64::from_ne_bytes(word), Relaxed);
                        }
                        counter.name_len.store(name.len() as u32, Relaxed);
                        // Release: partner of the Acquire loads here and in the runtime.
                        counter.kind.store(kind.number(), Release);
                        let header = &self.region().header;
                        header.counters.fetch_max(index as u32 + 1, Release);
                        return Some(index);
                    }
                    Err(now) => found = now,
                }
            }
            for _ in 0..LOOKS {
                if found != FILLING {
                    break;
                }
                std::hint::spin_loop();
                found = counter.kind.load(Acquire);
            }
            let known = self.point(index).filter(|(other, _)| *other == kind);
            if known.is_some_and(|(_, known)| known.as_bytes() == name) {
                return Some(index);
            }
        }
        None
    }

    /// Asks the target, which does not have the region yet, for breakpoints: address, point, and
    /// what stands for the instruction; ascending. Returns how many found no room.
    pub fn ask_for_breakpoints(&mut self, wanted: &[(u64, usize, Displaced)]) -> usize {
        let table = &self.region().breakpoints;
        for (one, (address, counter, displaced)) in table.list.iter().zip(wanted) {
            one.place.store(*address, Relaxed);
            one.target.store(displaced.target, Relaxed);
            for (word, bytes) in one.bytes.iter().zip(displaced.bytes.chunks(8)) {
                let mut whole = [0; 8];
                whole.copy_from_slice(bytes);
                word.store(u64::from_ne_bytes(whole), Relaxed);
            }
            one.counter.store(*counter as u32, Relaxed);
            one.kind.store(displaced.kind, Relaxed);
            one.condition.store(displaced.condition, Relaxed);
            one.length.store(displaced.length, Relaxed);
            one.distance.store(displaced.distance, Relaxed);
        }
        let count = wanted.len().min(MAX_BREAKPOINTS);
        table.count.store(count as u32, Relaxed);
        wanted.len() - count
    }

    /// What became of the breakpoint at an address, a [`breakpoint`] code, if it was asked for.
    ///
    /// [`breakpoint`]: coz_rs_runtime_preload::layout::breakpoint
    #[must_use]
    pub fn breakpoint_state(&self, address: u64) -> Option<u32> {
        let mut list = self.region().breakpoints.list.iter();
        let one = list.find(|one| one.place.load(Relaxed) == address)?;
        Some(one.state.load(Relaxed))
    }

    /// Visits of these points are counted by the kernel, besides what the program counts itself.
    pub fn count_by(&mut self, counts: ProcessCounts, points: Vec<(PointKind, String)>) {
        self.counted = Some(Counted {
            counts,
            points,
            numbers: Vec::new(),
        });
        self.find_counted();
    }

    /// Finds the numbers of the points that the kernel counts: a forked child brings its parent's.
    pub fn find_counted(&mut self) {
        let Some(mut counted) = self.counted.take() else {
            return;
        };
        let points = counted.points.iter();
        let numbers = points.map(|(kind, name)| self.add_point(*kind, name));
        counted.numbers = numbers.collect();
        self.counted = Some(counted);
    }

    /// Visits of point `index`.
    #[must_use]
    pub fn visits(&self, index: usize) -> u64 {
        // The program may have a point of that name itself: both count.
        let counted = self.counted.as_ref().and_then(|counted| {
            let mut numbers = counted.numbers.iter();
            let number = numbers.position(|number| *number == Some(index))?;
            Some(counted.counts.visits(number))
        });
        self.counter_visits(index)
            .wrapping_add(counted.unwrap_or(0))
    }

    fn counter_visits(&self, index: usize) -> u64 {
        let counter = self.region().counters.get(index);
        counter.map_or(0, |counter| counter.count.load(Relaxed))
    }

    /// What is known of the time of the visits of point `index`.
    #[must_use]
    pub fn flow(&self, index: usize) -> Flow {
        let Some(counter) = self.region().counters.get(index) else {
            return Flow::default();
        };
        // Acquire: partners of the runtime's Release additions, in the other order. Whoever sees
        // one of a visit sees those before it, so if all that were begun are done, none of what
        // was read in between belongs to a visit under way.
        let done = counter.stamps_done.load(Acquire);
        let stamps = counter.stamps.load(Acquire);
        let count = counter.count.load(Acquire);
        let begun = counter.stamps_begun.load(Acquire);
        Flow {
            count,
            over_g: counter.over_g.load(Relaxed),
            stamped: (begun == done).then_some((done, stamps)),
        }
    }

    /// Adds to G: every thread of the target owes a pause of so many ns.
    pub fn slow_down(&self, pause: u64) {
        self.region().global.g.fetch_add(pause, Relaxed);
    }

    /// Puts a window in force until the deadline.
    pub fn publish_plan(&self, plan: &PlanToPublish<'_>) {
        let control = &self.region().control;
        let generation = control.generation.load(Relaxed);
        // Release fence: whoever sees a word written below also sees this generation, so a reader
        // still in the buffer finds that it has changed (partner: its Acquire fence).
        fence(Release);
        let next = generation.wrapping_add(1);
        let buffer = &control.plans[(next & 1) as usize];
        let HitRanges {
            alone,
            beneath,
            callers,
        } = plan.ranges;
        buffer.window.store(plan.window, Relaxed);
        buffer.line.store(plan.line, Relaxed);
        let speedup = (plan.speedup.clamp(0.0, 1.0) * f64::from(SPEEDUP_ONE)).round() as u32;
        buffer.speedup.store(speedup, Relaxed);
        buffer.crowded.store(u32::from(plan.crowded), Relaxed);
        let count = fill(&buffer.ranges, alone.iter().chain(beneath));
        buffer.range_count.store(count, Relaxed);
        buffer
            .alone_count
            .store(count.min(alone.len() as u32), Relaxed);
        buffer
            .caller_count
            .store(fill(&buffer.callers, callers.iter()), Relaxed);
        // Release: partner of the target's Acquire load.
        control.generation.store(next, Release);
    }

    /// Switches the hooks' bookkeeping on or off.
    pub fn set_active(&self, active: bool) {
        self.region()
            .header
            .active
            .store(u32::from(active), Relaxed);
    }

    /// Bounds the pauses of each thread, ns; 0: no bound.
    pub fn set_max_pause(&self, bound: u64) {
        self.region().header.max_pause.store(bound, Relaxed);
    }

    /// Pauses that were owed and not paid because of the bound, ns, all threads together.
    #[must_use]
    pub fn forgiven(&self) -> u64 {
        self.region().global.forgiven.load(Relaxed)
    }

    /// Whether an exec that began this long before `time` has not replaced the program: it failed,
    /// and the sampling that it had stopped is to go on. Says so once.
    pub fn exec_failed(&self, time: u64, patience: u64) -> bool {
        let replacing = &self.region().header.replacing;
        let began = replacing.load(Relaxed);
        let failed = began != 0 && time.saturating_sub(began) > patience;
        if failed {
            replacing.store(0, Relaxed);
        }
        failed
    }

    /// Whether the process may be about to call exec.
    #[must_use]
    pub fn is_replacing(&self) -> bool {
        self.region().header.replacing.load(Relaxed) != 0
    }

    /// Asks threads to take CPU-time timers, or no more.
    pub fn ask_to_go_over(&self, asks: bool) {
        self.region().header.go_over.store(u32::from(asks), Relaxed);
    }

    /// Whether they could, once one has tried.
    #[must_use]
    pub fn gone_over(&self) -> Option<bool> {
        match self.region().header.gone_over.load(Relaxed) {
            gone_over::NOT_YET => None,
            answer => Some(answer == gone_over::YES),
        }
    }

    /// Libraries that were loaded so that they do not see our hooks.
    #[must_use]
    pub fn deep_bindings(&self) -> u32 {
        self.region().header.deep_bindings.load(Relaxed)
    }

    /// Windows count until then.
    pub fn set_deadline(&self, deadline: u64) {
        self.region().header.deadline.store(deadline, Relaxed);
    }

    /// The pauses that a thread has slept, was excused from and asked for, ns: what its virtual
    /// time is behind wall time.
    #[must_use]
    pub fn paused_by(&self, tid: u32) -> Option<u64> {
        let mut slots = self.thread_slots().iter();
        let slot = slots.find(|slot| slot.tid.load(Relaxed) == tid)?;
        let sum = slot
            .local
            .load(Relaxed)
            .checked_add(slot.prepaid.load(Relaxed));
        sum.filter(|_| slot.window.load(Relaxed) != 0)
    }

    /// The slots that threads have or had.
    #[must_use]
    pub fn thread_slots(&self) -> &[ThreadSlot] {
        let region = self.region();
        let used = region.header.threads_high.load(Relaxed) as usize;
        &region.threads[..used.min(MAX_THREADS)]
    }

    /// Whether the target has turned profiling off for good, and why.
    #[must_use]
    pub fn turned_off(&self) -> Option<u32> {
        let header = &self.region().header;
        (header.off.load(Relaxed) != 0).then(|| header.fault.load(Relaxed))
    }

    /// Progress points and threads that found no room.
    #[must_use]
    pub fn lost_for_want_of_room(&self) -> (u32, u32) {
        let header = &self.region().header;
        (
            header.counters_lost.load(Relaxed),
            header.threads_lost.load(Relaxed),
        )
    }

    /// Samples whose walk ended before the stack's end.
    #[must_use]
    pub fn cut_samples(&self) -> u64 {
        self.region().global.samples_cut.load(Relaxed)
    }

    /// Puts unwind tables in force; `tables` ascend. Returns how many found no room.
    pub fn publish_tables(&mut self, tables: &[TableToPublish]) -> usize {
        let mut entries = Vec::with_capacity(tables.len());
        for table in tables.iter().take(MAX_MODULES) {
            if let Some(first) = self.place(&table.rows) {
                entries.push((table, first));
            }
        }
        let lists = &self.region().modules;
        let generation = lists[0].generation.load(Relaxed);
        // Release fence: as in `publish_plan`.
        fence(Release);
        let next = generation.wrapping_add(1);
        let buffer = &lists[(next & 1) as usize];
        buffer.count.store(entries.len() as u64, Relaxed);
        for (module, (table, first)) in buffer.modules.iter().zip(&entries) {
            module.start.store(table.start, Relaxed);
            module.end.store(table.end, Relaxed);
            module.base.store(table.base, Relaxed);
            module.first_row.store(*first, Relaxed);
            module.rows.store(table.rows.len() as u32, Relaxed);
        }
        // Release: partner of the target's Acquire load; the rows were written before.
        lists[0].generation.store(next, Release);
        tables.len() - entries.len()
    }

    /// Writes rows once; where they are.
    fn place(&mut self, rows: &Arc<[Row]>) -> Option<u32> {
        let known = self
            .placed
            .iter()
            .find(|(placed, _)| Arc::ptr_eq(placed, rows));
        if let Some((_, first)) = known {
            return Some(*first);
        }
        let first = self.rows_used;
        let end = first.checked_add(rows.len())?;
        if end > MAX_ROWS {
            return None;
        }
        for (cell, row) in self.region().rows[first..end].iter().zip(rows.iter()) {
            let words = row.encode();
            for (word, value) in cell.iter().zip(words) {
                word.store(value, Relaxed);
            }
        }
        self.rows_used = end;
        let first = u32::try_from(first).ok()?;
        self.placed.push((Arc::clone(rows), first));
        Some(first)
    }

    /// Reads the samples that have come since the last time.
    pub fn drain(&mut self, mut take: impl FnMut(Sample)) -> Drained {
        let mut drained = Drained::default();
        let slots = RING_SLOTS as u64;
        let head = self.region().ring.head.load(Relaxed);
        if head < self.next_sample {
            // Only a region that was overwritten has a head behind us.
            self.next_sample = head;
        }
        let oldest = head.saturating_sub(slots);
        if oldest > self.next_sample {
            drained.lost += oldest - self.next_sample;
            self.next_sample = oldest;
        }
        while self.next_sample < head {
            let number = self.next_sample;
            let Some(sample) = self.copy_sample(number) else {
                let newest = head - number < slots / 2;
                if newest && self.unfinished < PATIENCE {
                    self.unfinished += 1;
                    return drained;
                }
                drained.lost += 1;
                self.unfinished = 0;
                self.next_sample += 1;
                continue;
            };
            self.unfinished = 0;
            self.next_sample += 1;
            drained.read += 1;
            take(sample);
        }
        drained
    }

    /// Sample `number` if its slot holds it, whole.
    fn copy_sample(&self, number: u64) -> Option<Sample> {
        let slot = &self.region().ring.slots[(number % RING_SLOTS as u64) as usize];
        // Acquire: partner of the handler's Release store.
        if slot.sequence.load(Acquire) != number + 1 {
            return None;
        }
        let weight = slot.weight.load(Relaxed);
        let count = (slot.frame_count.load(Relaxed) as usize).min(MAX_FRAMES);
        let frames = slot.frames[..count].iter().map(|frame| frame.load(Relaxed));
        let sample = Sample {
            tid: slot.tid.load(Relaxed),
            weight: weight & !SAMPLE_CUT,
            cut: weight & SAMPLE_CUT != 0,
            frames: frames.collect(),
        };
        // Acquire fence: what was copied was read before the sequence is read again.
        fence(Acquire);
        (slot.sequence.load(Relaxed) == number + 1).then_some(sample)
    }
}

/// Writes as many ranges as there is room for; how many that is.
fn fill<'a>(room: &[Range], ranges: impl Iterator<Item = &'a (u64, u64)>) -> u32 {
    let mut count = 0;
    for (range, (start, end)) in room.iter().zip(ranges) {
        range.start.store(*start, Relaxed);
        range.end.store(*end, Relaxed);
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use coz_rs_runtime_preload::unwind_row::{Cfa, Rbp};

    fn region() -> SharedRegion {
        SharedRegion::create(997_000).unwrap().0
    }

    fn write_sample(region: &SharedRegion, number: u64, finished: bool) {
        let ring = &region.region().ring;
        ring.head.store(number + 1, Relaxed);
        let slot = &ring.slots[(number % RING_SLOTS as u64) as usize];
        slot.sequence.store(0, Relaxed);
        slot.tid.store(7, Relaxed);
        slot.weight.store(1, Relaxed);
        slot.frame_count.store(2, Relaxed);
        slot.frames[0].store(number, Relaxed);
        if finished {
            slot.sequence.store(number + 1, Release);
        }
    }

    fn drain(region: &mut SharedRegion) -> (Vec<u64>, Drained) {
        let mut numbers = Vec::new();
        let drained = region.drain(|sample| numbers.push(sample.frames[0]));
        (numbers, drained)
    }

    #[test]
    fn samples_are_read_once_and_overwritten_ones_are_counted() {
        let mut region = region();
        (0..3).for_each(|n| write_sample(&region, n, true));
        assert_eq!(drain(&mut region).0, [0, 1, 2]);
        assert!(drain(&mut region).0.is_empty());
        let far = RING_SLOTS as u64 + 13;
        (3..far).for_each(|n| write_sample(&region, n, true));
        let (numbers, drained) = drain(&mut region);
        assert_eq!(
            drained,
            Drained {
                read: RING_SLOTS as u64,
                lost: 10
            }
        );
        assert_eq!(numbers[0], 13);
    }

    #[test]
    fn an_unfinished_sample_is_waited_for_and_then_given_up() {
        let mut region = region();
        write_sample(&region, 0, false);
        write_sample(&region, 1, true);
        assert!(drain(&mut region).0.is_empty());
        write_sample(&region, 0, true);
        region.region().ring.head.store(2, Relaxed);
        assert_eq!(drain(&mut region).0, [0, 1]);
        write_sample(&region, 2, false);
        write_sample(&region, 3, true);
        let all: Vec<_> = (0..=PATIENCE).flat_map(|_| drain(&mut region).0).collect();
        assert_eq!(all, [3]);
    }

    #[test]
    fn wild_values_of_the_target_do_no_harm() {
        let mut region = region();
        region.region().ring.head.store(u64::MAX, Relaxed);
        region.region().header.counters.store(u32::MAX, Relaxed);
        let slot = &region.region().ring.slots[5];
        slot.sequence.store(u64::MAX, Relaxed);
        slot.frame_count.store(u32::MAX, Relaxed);
        let counter = &region.region().counters[3];
        counter.kind.store(1, Relaxed);
        counter.name_len.store(u32::MAX, Relaxed);
        drain(&mut region);
        assert_eq!(region.point_count(), MAX_COUNTERS);
        assert_eq!(region.point(3).unwrap().1.len(), NAME_BYTES);
        assert_eq!(region.point(4), None);
        region.region().ring.head.store(0, Relaxed);
        drain(&mut region);
        write_sample(&region, 0, true);
        assert_eq!(drain(&mut region).0, [0]);
    }

    #[test]
    fn plans_alternate_between_the_buffers() {
        let region = region();
        for (window, speedup) in [(1, 0.25), (2, 0.5)] {
            let ranges = HitRanges {
                alone: vec![(16, 32)],
                beneath: vec![(64, 65)],
                callers: vec![(70, 80)],
            };
            region.publish_plan(&PlanToPublish {
                window,
                line: 9,
                speedup,
                crowded: false,
                ranges: &ranges,
            });
            let control = &region.region().control;
            let generation = control.generation.load(Relaxed);
            assert_eq!(generation, window);
            let plan = &control.plans[(generation & 1) as usize];
            assert_eq!(plan.window.load(Relaxed), window);
            assert_eq!(plan.speedup.load(Relaxed), (speedup * 1e6) as u32);
            assert_eq!(plan.ranges[1].end.load(Relaxed), 65);
            assert_eq!(plan.range_count.load(Relaxed), 2);
            assert_eq!(plan.alone_count.load(Relaxed), 1);
            assert_eq!(plan.callers[0].start.load(Relaxed), 70);
            assert_eq!(plan.caller_count.load(Relaxed), 1);
        }
    }

    #[test]
    fn rows_of_a_module_that_stays_are_written_once() {
        let mut region = region();
        let rows = |pc| -> Arc<[Row]> {
            [Row {
                pc,
                cfa: Cfa::Rsp,
                offset: 8,
                rbp: Rbp::Same,
            }]
            .into()
        };
        let table = |start, rows: &Arc<[Row]>| TableToPublish {
            start,
            end: start + 4096,
            base: start,
            rows: Arc::clone(rows),
        };
        let (a, b) = (rows(1), rows(2));
        assert_eq!(region.publish_tables(&[table(4096, &a)]), 0);
        assert_eq!(
            region.publish_tables(&[table(4096, &a), table(8192, &b)]),
            0
        );
        assert_eq!(region.rows_used, 2);
        let list = &region.region().modules[0];
        assert_eq!(list.generation.load(Relaxed), 2);
        assert_eq!(list.modules[1].first_row.load(Relaxed), 1);
        assert_eq!(region.region().rows[1][0].load(Relaxed), 2);
    }
}
