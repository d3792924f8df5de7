//! Hit shares by kind of thread, for threads too short-lived to form a share of their own.
//!
//! Threads are of one kind when they start in the same routine and, because Rust starts all of
//! its threads in one, when the first word of their argument that points into code or constant
//! data of a module (for a boxed closure: its vtable) is the same. A thread without samples takes
//! its kind's share for the present line.

use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
};

use super::stack_reader;
use super::syscalls::read_own_memory;
use crate::hit_share::HitShare;
use crate::layout::Region;

const KINDS: usize = 256;
/// Words of a thread's argument that are looked at.
const ARGUMENT_WORDS: usize = 4;

struct Kind {
    key: AtomicU64,
    line: AtomicU64,
    share: AtomicU64,
    samples: AtomicU64,
    run: AtomicU64,
}

static TABLE: [Kind; KINDS] = [const {
    Kind {
        key: AtomicU64::new(0),
        line: AtomicU64::new(0),
        share: AtomicU64::new(0),
        samples: AtomicU64::new(0),
        run: AtomicU64::new(0),
    }
}; KINDS];

/// The kind of a thread about to start, as index plus 1; 0 when the table is full.
pub fn kind_of(region: &'static Region, routine: u64, argument: u64) -> u64 {
    let mut key = routine;
    let mut words = [0u64; ARGUMENT_WORDS];
    // The argument may be any integer, so it is read by the kernel, which checks it.
    let pointer = argument >= 4096 && argument.is_multiple_of(8);
    if pointer && read_own_memory(argument, &mut words) {
        let constant = words
            .iter()
            .find(|word| stack_reader::in_module(region, **word));
        key ^= constant.map_or(0, |word| word.rotate_left(17));
    }
    let key = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let first = (key >> 56) as usize;
    for probe in 0..16 {
        let index = (first + probe) % KINDS;
        match TABLE[index].key.compare_exchange(0, key, Acquire, Relaxed) {
            Ok(_) => return index as u64 + 1,
            Err(found) if found == key => return index as u64 + 1,
            Err(_) => {}
        }
    }
    0
}

fn entry(kind: u64) -> Option<&'static Kind> {
    TABLE.get((kind as usize).wrapping_sub(1))
}

fn load(kind: &Kind) -> HitShare {
    HitShare {
        share: kind.share.load(Relaxed),
        samples: kind.samples.load(Relaxed),
        run: kind.run.load(Relaxed),
    }
}

/// The share that a thread of `kind` starts with for `line`.
pub fn prior(kind: u64, line: u64) -> HitShare {
    match entry(kind) {
        // A run belongs to one thread, so the newcomer does not take it over.
        Some(entry) if entry.line.load(Relaxed) == line => HitShare {
            run: 0,
            ..load(entry)
        },
        _ => HitShare::default(),
    }
}

/// One more sample of a thread of `kind`. Two threads may overwrite each other's: it is a mean.
pub fn learn(kind: u64, line: u64, hit: bool) {
    let Some(entry) = entry(kind) else { return };
    let old = if entry.line.load(Relaxed) == line {
        load(entry)
    } else {
        HitShare::default()
    };
    let new = old.after(hit);
    entry.share.store(new.share, Relaxed);
    entry.samples.store(new.samples, Relaxed);
    entry.run.store(new.run, Relaxed);
    entry.line.store(line, Relaxed);
}
