//! What a thread must find without a call: initial-exec TLS, 128 bytes, zero at a thread's start.
//!
//! std's `thread_local!` may call `__tls_get_addr`, which may allocate; a preloaded library is
//! there from the start, so its block is in the static TLS area.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use crate::layout::ThreadSlot;

/// The calling thread's own words. Only its thread (and signal handlers on it) touch them.
#[repr(C, align(128))]
pub struct ThreadLocal {
    /// The thread's ledger, null while it has none.
    pub slot: AtomicPtr<ThreadSlot>,
    /// Thread id at registration: raw clones may share this block, forks copy it.
    pub tid: AtomicU32,
    /// 1 while inside the runtime, more (see [`ELSEWHERE`]) while a process is being made.
    pub inside: AtomicU32,
    /// 1 once the thread's ledger is closed: it gets no other.
    pub ended: AtomicU32,
    /// Id of the thread's CPU-time timer plus 1; 0: none.
    pub timer: AtomicU32,
    /// When credit was last given, ns of CLOCK_MONOTONIC.
    pub credit_time: AtomicU64,
    /// The wait begun by `_coz_pre_block`: G and its window.
    pub block: [AtomicU64; 2],
    /// What the thread waits for, see `thread_ledger::waiting`; 0: nothing.
    pub waiting: AtomicU64,
    /// The wait of a member of an OpenMP team between two runs: G and its window.
    pub idle: [AtomicU64; 2],
    /// The routine that a pthread_once under way shall run, 0 once it has been taken.
    pub once: AtomicU64,
    /// Where the last call of an OpenMP function came from.
    pub caller: AtomicU64,
    /// 1 while a pause keeps the processor busy: samples taken then are ours.
    pub occupying: AtomicU64,
    /// Which of our signals the program has blocked, as far as it knows: [`BLOCKS_TRAP`],
    /// [`BLOCKS_TIMER`].
    pub blocks: AtomicU32,
    /// 1: a SIGTRAP of the program's own came meanwhile.
    pub pending: AtomicU32,
    /// How densely hooks come ([`crate::dense_hooks`]), as of the last look at the clock,
    pub dense: AtomicU32,
    /// and what is left of those that may pass before the next.
    pub left_to_pass: AtomicU32,
}

const _: () = assert!(size_of::<ThreadLocal>() == 128);

/// In [`ThreadLocal::blocks`]: SIGTRAP,
pub const BLOCKS_TRAP: u32 = 1;
/// the timer sampler's signal.
pub const BLOCKS_TIMER: u32 = 2;

/// Added to [`ThreadLocal::inside`] from before a fork until after it, and while the child of a
/// vfork runs in its parent's memory: hooks do nothing then.
pub const ELSEWHERE: u32 = 2;

global_asm!(
    ".pushsection .tbss.coz_rs_thread, \"awT\", @nobits",
    ".balign 128",
    ".globl coz_rs_thread",
    ".hidden coz_rs_thread",
    ".type coz_rs_thread, @tls_object",
    ".size coz_rs_thread, 128",
    "coz_rs_thread:",
    ".zero 128",
    ".popsection",
);

/// The calling thread's block.
///
/// # Signal safety
/// Two loads, no call.
#[inline(always)]
pub fn thread() -> &'static ThreadLocal {
    let address: *const ThreadLocal;
    // SAFETY: the variable thread control block's first word is its own address (x86-64 TLS ABI,
    // variant II), and the GOT entry holds this block's offset from it.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + coz_rs_thread@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) address,
            options(pure, readonly, nostack),
        );
    }
    // SAFETY: the block lives as long as its thread, which is the only one to hold the reference;
    // all fields are atomics.
    unsafe { &*address }
}
