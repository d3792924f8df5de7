//! The memory that the controller shares with one target process.
//!
//! The controller makes it (a sealed memfd) and zero-fills it; the target maps it. Every field is
//! an atomic because the other side may write at any time; neither side may trust a size or an
//! index found here without checking it. All times are nanoseconds of `CLOCK_MONOTONIC`, all
//! addresses are absolute in the target.

use crate::segment::SEGMENTS;
use core::mem::{align_of, offset_of, size_of};
use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// First word of the region: "COZRS" and the layout's version. Checked by both sides.
pub const MAGIC: u64 = 0x434f_5a52_5300_0001;
/// Progress points a process may have.
pub const MAX_COUNTERS: usize = 512;
/// Bytes of a progress point's name, NUL-padded; longer names are cut.
pub const NAME_BYTES: usize = 200;
/// Threads alive at once that have a ledger of their own.
pub const MAX_THREADS: usize = 4096;
/// Address ranges of one selected line.
pub const MAX_RANGES: usize = 8192;
/// Address ranges of the functions that hits must be beneath.
pub const MAX_CALLERS: usize = 2048;
/// Modules (executable, libraries, vDSO) with an unwind table.
pub const MAX_MODULES: usize = 1024;
/// Breakpoints that stand for progress points.
pub const MAX_BREAKPOINTS: usize = 256;
/// Frames kept of one sample: the innermost ones.
pub const MAX_FRAMES: usize = 56;
/// Slots of the sample ring.
pub const RING_SLOTS: usize = 8192;
/// Rows of unwind tables, all modules together (12 bytes each).
pub const MAX_ROWS: usize = 5_000_000;
/// Parts of one whole that [`Plan::speedup`] counts.
pub const SPEEDUP_ONE: u32 = 1_000_000;

/// The whole region.
#[repr(C, align(4096))]
pub struct Region {
    /// Versions, switches and fault counters.
    pub header: Header,
    /// The global ledger G, alone on its cache lines: every hook reads it.
    pub global: GlobalLedger,
    /// The window that is in force.
    pub control: Control,
    /// Progress points, filled from the front.
    pub counters: [Counter; MAX_COUNTERS],
    /// One slot a live thread.
    pub threads: [ThreadSlot; MAX_THREADS],
    /// Modules with unwind tables, double-buffered.
    pub modules: [ModuleList; 2],
    /// Samples on their way to the controller.
    pub ring: Ring,
    /// Breakpoints that stand for progress points.
    pub breakpoints: Breakpoints,
    /// Unwind rows; a module names its stretch. Rows are written before they are published.
    pub rows: [[AtomicU32; 3]; MAX_ROWS],
}

/// Versions, switches and fault counters.
#[repr(C, align(128))]
pub struct Header {
    /// [`MAGIC`], written by the controller before the region is handed over.
    pub magic: AtomicU64,
    /// `size_of::<Region>()`, as the controller sees it.
    pub size: AtomicU64,
    /// 1 while hooks must keep the ledger, 0 when they only forward. Written by the controller
    /// at the start and end of experiments, by the target at a fault of ours and at its exit.
    pub active: AtomicU32,
    /// 1 once the target has turned profiling off for good (a fault, seccomp, exit).
    pub off: AtomicU32,
    /// Why: a [`fault`] code.
    pub fault: AtomicU32,
    /// Number of faults.
    pub faults: AtomicU32,
    /// Windows are void after this time; the controller moves it on while it lives.
    pub deadline: AtomicU64,
    /// Sample period, ns of CPU time.
    pub period: AtomicU64,
    /// Number of [`Counter`]s in use.
    pub counters: AtomicU32,
    /// Progress points that found no free counter.
    pub counters_lost: AtomicU32,
    /// Threads that found no free slot.
    pub threads_lost: AtomicU32,
    /// Number of [`ThreadSlot`]s ever used: slots at and beyond it are untouched.
    pub threads_high: AtomicU32,
    /// The longest pause that a thread may take at a stretch, ns; 0: as long as it owes.
    pub max_pause: AtomicU64,
    /// When the program began to replace itself by exec and the perf event was switched off for
    /// that, ns; 0: it did not.
    pub replacing: AtomicU64,
    /// Libraries loaded with RTLD_DEEPBIND.
    pub deep_bindings: AtomicU32,
    /// 1 when threads shall take a CPU-time timer each, at their next sample or their first hook in a
    /// window, because the perf event will be closed. Written by the controller.
    pub go_over: AtomicU32,
    /// What came of it: a [`gone_over`] code.
    pub gone_over: AtomicU32,
}

/// Codes in [`Header::fault`].
pub mod fault {
    /// Nothing went wrong.
    pub const NONE: u32 = 0;
    /// The process is ending.
    pub const EXIT: u32 = 1;
    /// A panic in the runtime.
    pub const PANIC: u32 = 2;
    /// A libc function to forward to was not found.
    pub const RESOLVE: u32 = 3;
    /// The process installed a seccomp filter.
    pub const SECCOMP: u32 = 4;
}

/// Codes in [`Header::gone_over`].
pub mod gone_over {
    /// No thread has tried.
    pub const NOT_YET: u32 = 0;
    /// The timer sampler runs.
    pub const YES: u32 = 1;
    /// No signal was free for it.
    pub const REFUSED: u32 = 2;
}

/// The global ledger.
#[repr(C, align(128))]
pub struct GlobalLedger {
    /// G: the sum of pauses that every thread owes, ns. Only grows.
    pub g: AtomicU64,
    _pad: [AtomicU64; 15],
    /// All credits given, ns (for checks of the ledger, never needed to pay).
    pub credited: AtomicU64,
    /// All hits.
    pub hits: AtomicU64,
    /// All samples taken in the process, of any thread.
    pub samples: AtomicU64,
    /// Samples dropped because they were taken inside our own handler.
    pub samples_own: AtomicU64,
    /// Samples whose stack ended before `main` or the thread's start.
    pub samples_cut: AtomicU64,
    /// All pauses really slept, ns.
    pub paused: AtomicU64,
    /// Number of sleeps.
    pub sleeps: AtomicU64,
    /// Pauses owed and not paid because of [`Header::max_pause`], ns.
    pub forgiven: AtomicU64,
    /// Running mean of oversleep, ns: of the process, as threads may be too short-lived for one.
    pub oversleep: AtomicI64,
}

/// The window in force: two plans, of which `generation & 1` says which one counts.
///
/// The controller fills the other one and then stores `generation + 1` (Release, partner: the
/// Acquire load in the target). A reader that finds another generation after reading than before
/// treats what it read as no hit; it never spins.
#[repr(C, align(128))]
pub struct Control {
    /// Number of publications so far. 0: nothing published, no window.
    pub generation: AtomicU64,
    /// The two plans.
    pub plans: [Plan; 2],
}

/// One window.
#[repr(C, align(128))]
pub struct Plan {
    /// Number of this window, never 0. A thread that meets a new one starts with l = G, p = 0.
    pub window: AtomicU64,
    /// Number of the selected line: threads keep their hit history while it stays the same.
    pub line: AtomicU64,
    /// Virtual speedup in millionths ([`SPEEDUP_ONE`] is 100 %). 0: baseline.
    pub speedup: AtomicU32,
    /// How many of `ranges` count. 0: no line selected.
    pub range_count: AtomicU32,
    /// 1: more threads want to run than there are processors, which changes how pauses are paid
    /// ([`crate::crowding`]).
    pub crowded: AtomicU32,
    /// How many of these, from the front, are hits wherever they are; the others are hits only
    /// beneath a frame in `callers`. All of them, unless hits must have a certain caller.
    pub alone_count: AtomicU32,
    /// How many of `callers` count.
    pub caller_count: AtomicU32,
    /// Half-open address ranges of the selected line. Those before `alone_count` ascend and are
    /// disjoint, and so do and are those after it.
    pub ranges: [Range; MAX_RANGES],
    /// Half-open address ranges of the functions that hits must be beneath, ascending, disjoint.
    pub callers: [Range; MAX_CALLERS],
}

/// A half-open range of addresses.
#[repr(C)]
pub struct Range {
    /// First address.
    pub start: AtomicU64,
    /// First address after it.
    pub end: AtomicU64,
}

/// A progress point. Its first two words are what `_coz_get_counter` returns.
#[repr(C, align(64))]
pub struct Counter {
    /// Visits.
    pub count: AtomicU64,
    /// Unused by us; part of Coz's ABI.
    pub backoff: AtomicU64,
    /// 1 throughput, 2 begin, 3 end; 0: not in use. Written last (Release).
    pub kind: AtomicU32,
    /// Bytes of the name.
    pub name_len: AtomicU32,
    /// Of a begin or an end: the sum of `count` × dG over the growth of G, ns, modulo 2^64.
    pub over_g: AtomicU64,
    /// Visits that were stamped, begun and
    pub stamps_begun: AtomicU64,
    /// done: equal while none is under way.
    pub stamps_done: AtomicU64,
    /// Sum of the stamps, ns modulo 2^64: the wall time of a visit minus the pauses of its thread.
    pub stamps: AtomicU64,
    /// The name, as bytes in native order.
    pub name: [AtomicU64; NAME_BYTES / 8],
}

/// A counter outside any region: progress points count into it when nobody listens.
#[allow(
    clippy::declare_interior_mutable_const,
    reason = "used once, as a static's first value"
)]
pub const SPARE_COUNTER: Counter = Counter {
    count: AtomicU64::new(0),
    backoff: AtomicU64::new(0),
    kind: AtomicU32::new(0),
    name_len: AtomicU32::new(0),
    over_g: AtomicU64::new(0),
    stamps_begun: AtomicU64::new(0),
    stamps_done: AtomicU64::new(0),
    stamps: AtomicU64::new(0),
    name: [const { AtomicU64::new(0) }; NAME_BYTES / 8],
};

/// One thread's ledger. Written by its thread alone, but for a new thread's first l.
#[repr(C, align(128))]
pub struct ThreadSlot {
    /// Thread id; 0: the slot is free.
    pub tid: AtomicU32,
    /// Non-zero while inside the runtime (re-entry check).
    pub inside: AtomicU32,
    /// l: pauses paid or excused, ns.
    pub local: AtomicU64,
    /// p: prepaid by oversleeping, ns.
    pub prepaid: AtomicU64,
    /// Window that `local` belongs to.
    pub window: AtomicU64,
    /// Line that the hit share belongs to.
    pub line: AtomicU64,
    /// CPU time credited since the last sample, ns.
    pub partial: AtomicU64,
    /// Thread CPU clock at the last credit, ns; 0: unknown.
    pub cpu_mark: AtomicU64,
    /// Smoothed hit share in 2^-32.
    pub share: AtomicU64,
    /// Samples that the share was formed from.
    pub share_samples: AtomicU64,
    /// G when the thread began to wait.
    pub wait_g: AtomicU64,
    /// Window in which it began to wait; 0: it does not wait.
    pub wait_window: AtomicU64,
    /// Upper bound of the stack, 0 if unknown.
    pub stack_top: AtomicU64,
    /// Samples taken.
    pub samples: AtomicU64,
    /// Hits.
    pub hits: AtomicU64,
    /// Credits given, ns.
    pub credited: AtomicU64,
    /// Slept for the ledger, ns.
    pub paused: AtomicU64,
    /// Excused because another thread of the process woke it, ns.
    pub excused: AtomicU64,
    /// Length of the present run of equal samples, shifted left by one; bit 0: they are hits.
    pub run: AtomicU64,
    /// The pause not won back yet by running, ns, and when its last sleep ended
    /// (see [`crate::pause_bound`]).
    pub stretch: [AtomicU64; 2],
    /// Which entry of the table of thread kinds holds the prior of its hit share, plus 1.
    pub kind: AtomicU64,
    /// In crowded windows, the last look at how the thread spends its time: when, ns of
    /// CLOCK_MONOTONIC (0: none yet),
    pub look_time: AtomicU64,
    /// its CPU time,
    pub look_cpu: AtomicU64,
    /// G,
    pub look_g: AtomicU64,
    /// its voluntary context switches,
    pub look_voluntary: AtomicU64,
    /// and how far its own credits have raised G since.
    pub look_raised: AtomicU64,
    /// The stretch of work that the thread is in ([`crate::segment`]),
    pub segment: AtomicU64,
    /// and since when, ns of CLOCK_MONOTONIC.
    pub segment_time: AtomicU64,
    /// Hit shares by stretch of work.
    pub segments: [SegmentShare; SEGMENTS],
    /// When a hook last looked at the clock, ns of CLOCK_MONOTONIC ([`crate::dense_hooks`]).
    pub hook_time: AtomicU64,
    /// Waits and pauses begun while a ledger was kept: each lets the thread sleep about once.
    pub waits: AtomicU64,
    /// How fast it earns credit that it was not given yet ([`crate::foresight`]); 0: it does not.
    pub pace: AtomicU64,
    /// Since when, ns of CLOCK_MONOTONIC.
    pub pace_since: AtomicU64,
    /// 1 while the hook under way has credited work, and so has others' to look at.
    pub looks_ahead: AtomicU64,
    /// When the hook under way began, ns of CLOCK_MONOTONIC; 0: none is, that looked at the clock.
    pub inside_since: AtomicU64,
    /// When the thread began to wait, ns of CLOCK_MONOTONIC.
    pub wait_time: AtomicU64,
}

/// The hit share of one kind of stretch between two hooks.
#[repr(C)]
pub struct SegmentShare {
    /// [`crate::segment::key`].
    pub key: AtomicU64,
    /// Smoothed hit share in 2^-32.
    pub share: AtomicU64,
    /// Samples that the share was formed from; 0: the place is free.
    pub samples: AtomicU64,
    /// As [`ThreadSlot::run`].
    pub run: AtomicU64,
}

/// Modules with unwind tables. Same publication rule as [`Control`].
#[repr(C, align(128))]
pub struct ModuleList {
    /// In buffer 0 only: number of publications; `generation & 1` names the buffer in force.
    pub generation: AtomicU64,
    /// How many of `modules` count.
    pub count: AtomicU64,
    /// Modules, ascending by start, disjoint.
    pub modules: [Module; MAX_MODULES],
}

/// One loaded module.
#[repr(C)]
pub struct Module {
    /// First mapped address.
    pub start: AtomicU64,
    /// First address after its last mapping.
    pub end: AtomicU64,
    /// Address that row addresses count from.
    pub base: AtomicU64,
    /// First of its rows in [`Region::rows`].
    pub first_row: AtomicU32,
    /// How many rows.
    pub rows: AtomicU32,
}

/// Breakpoints at which visits of progress points are counted. Written by the controller before the
/// region is handed over, read once by the target when it starts.
#[repr(C, align(128))]
pub struct Breakpoints {
    /// How many of `list` count.
    pub count: AtomicU32,
    /// The breakpoints, ascending by place.
    pub list: [Breakpoint; MAX_BREAKPOINTS],
}

/// One breakpoint, and what stands in place of the instruction under it ([`crate::displaced`]).
#[repr(C, align(64))]
pub struct Breakpoint {
    /// The instruction's address.
    pub place: AtomicU64,
    /// Where it jumps or calls to, or how many bytes its return takes besides.
    pub target: AtomicU64,
    /// Its bytes, or those of the jump that its copy is made, in native order.
    pub bytes: [AtomicU64; 2],
    /// Number of the [`Counter`] that counts here.
    pub counter: AtomicU32,
    /// What is done in its place: a [`crate::displaced::kind`].
    pub kind: AtomicU32,
    /// Condition of a jump, as in the opcode.
    pub condition: AtomicU32,
    /// Its length.
    pub length: AtomicU32,
    /// Where in it a distance to data is; [`crate::displaced::NO_DISTANCE`] if it has none.
    pub distance: AtomicU32,
    /// What became of it, a [`breakpoint`] code. Written by the target before it is ready.
    pub state: AtomicU32,
}

/// Codes in [`Breakpoint::state`].
pub mod breakpoint {
    /// Not dealt with.
    pub const WAITING: u32 = 0;
    /// It stands.
    pub const SET: u32 = 1;
    /// Other code stands at its place.
    pub const OTHER_CODE: u32 = 2;
    /// No memory near enough for a copy, or none that may be executed.
    pub const NO_SLOT: u32 = 3;
    /// The code cannot be written to.
    pub const NOT_WRITABLE: u32 = 4;
    /// SIGTRAP cannot be handled.
    pub const NO_HANDLER: u32 = 5;
}

/// Samples on their way to the controller; the newest overwrite the oldest.
#[repr(C, align(128))]
pub struct Ring {
    /// Number of samples ever begun. Sample n is in slot `n % RING_SLOTS`.
    pub head: AtomicU64,
    _pad: [AtomicU64; 15],
    /// The samples.
    pub slots: [Sample; RING_SLOTS],
}

/// One sample.
#[repr(C, align(64))]
pub struct Sample {
    /// 0 while being written; number of the sample plus 1 once complete (Release). The reader
    /// checks it before and after copying (Acquire).
    pub sequence: AtomicU64,
    /// When it was taken.
    pub time: AtomicU64,
    /// G just after its credit.
    pub g: AtomicU64,
    /// Generation of [`Control`] that it was judged by.
    pub generation: AtomicU64,
    /// Thread id.
    pub tid: AtomicU32,
    /// 1: a hit.
    pub hit: AtomicU32,
    /// How many of `frames` count.
    pub frame_count: AtomicU32,
    /// How many periods it stands for (timer sampler; 1 otherwise) in the low half; bit 31: the
    /// stack did not reach `main` or the thread's start.
    pub weight: AtomicU32,
    /// Interrupted address first, then return addresses minus one.
    pub frames: [AtomicU64; MAX_FRAMES],
}

/// Bit of [`Sample::weight`]: the walk ended early.
pub const SAMPLE_CUT: u32 = 1 << 31;

const _: () = {
    assert!(size_of::<Header>() == 128);
    assert!(offset_of!(Region, global) == 128);
    assert!(offset_of!(Header, deadline) == 32);
    assert!(size_of::<Counter>() == 256);
    assert!(offset_of!(Counter, count) == 0);
    assert!(offset_of!(Counter, backoff) == 8);
    assert!(size_of::<Sample>() == 512);
    assert!(size_of::<ThreadSlot>() == 640);
    assert!(size_of::<Module>() == 32);
    assert!(size_of::<Breakpoint>() == 64);
    assert!(align_of::<Region>() == 4096);
    assert!(size_of::<Region>() < 96 << 20);
};
