//! The functions that programs instrumented for Coz look up by name, and our own macros too.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::thread_ledger::{self, Wait};
use super::thread_local::thread;
use super::{entry, latency, process_copies, shared};
use crate::layout::{Counter, MAX_COUNTERS, NAME_BYTES};
use crate::segment::key;

/// The kind of a counter that is neither a begin nor an end.
const THROUGHPUT: u32 = 1;
/// A kind that says: being filled in.
const FILLING: u32 = u32::MAX;

/// The counter of the progress point `name`: the address of `{ size_t count, backoff }`.
///
/// `kind`: 1 throughput, 2 begin, 3 end. The same name and kind give the same counter.
///
/// # Safety
/// `name` is a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _coz_get_counter(kind: c_int, name: *const c_char) -> *const Counter {
    entry::start_early();
    process_copies::at_progress_point();
    if name.is_null() || !(1..=3).contains(&kind) {
        return &raw const shared::SPARE_COUNTER;
    }
    // SAFETY: NUL-terminated, the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let name = &name[..name.len().min(NAME_BYTES)];
    counter(kind as u32, name).map_or(&raw const shared::SPARE_COUNTER, core::ptr::from_ref)
}

fn counter(kind: u32, name: &[u8]) -> Option<&'static Counter> {
    let region = shared::region()?;
    for index in 0..MAX_COUNTERS {
        let counter = &region.counters[index];
        // Acquire: the name was written before the kind.
        let mut found = counter.kind.load(Acquire);
        if found == 0 {
            match counter.kind.compare_exchange(0, FILLING, AcqRel, Acquire) {
                Ok(_) => {
                    fill(counter, name);
                    if kind != THROUGHPUT {
                        latency::watch(index);
                    }
                    // Release: partner of the Acquire loads here and in the controller.
                    counter.kind.store(kind, Release);
                    region.header.counters.fetch_max(index as u32 + 1, Release);
                    return Some(counter);
                }
                Err(now) => found = now,
            }
        }
        while found == FILLING {
            core::hint::spin_loop();
            found = counter.kind.load(Acquire);
        }
        if found == kind && has_name(counter, name) {
            return Some(counter);
        }
    }
    region.header.counters_lost.fetch_add(1, Relaxed);
    None
}

/// The words of a name, padded with zeros.
fn words(name: &[u8]) -> impl Iterator<Item = u64> {
    name.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(chunk) {
            *to = *from;
        }
        u64::from_ne_bytes(word)
    })
}

fn fill(counter: &Counter, name: &[u8]) {
    for (cell, word) in counter.name.iter().zip(words(name)) {
        cell.store(word, Relaxed);
    }
    counter.name_len.store(name.len() as u32, Relaxed);
}

fn has_name(counter: &Counter, name: &[u8]) -> bool {
    counter.name_len.load(Relaxed) as usize == name.len()
        && counter
            .name
            .iter()
            .zip(words(name))
            .all(|(cell, word)| cell.load(Relaxed) == word)
}

/// Pays what the calling thread owes (COZ_CATCH_UP).
#[unsafe(no_mangle)]
pub extern "C" fn _coz_add_delays() {
    thread_ledger::before_wake();
}

/// The calling thread is about to block in a way that the runtime does not see.
#[unsafe(no_mangle)]
pub extern "C" fn _coz_pre_block() {
    thread_ledger::end_segment();
    let (g, window) = thread_ledger::before_block().into_words();
    let block = &thread().block;
    block[0].store(g, Relaxed);
    block[1].store(window, Relaxed);
}

/// It goes on; `skip` is non-zero if another thread of the program woke it.
#[unsafe(no_mangle)]
pub extern "C" fn _coz_post_block(skip: c_int) {
    let block = &thread().block;
    let wait = Wait::from_words(block[0].load(Relaxed), block[1].swap(0, Relaxed));
    let kept = wait.has_begun();
    thread_ledger::after_block_with_lock(wait, skip != 0);
    if kept {
        thread_ledger::begin_segment(|| key("a wait by its own account", 0), true);
    }
}
