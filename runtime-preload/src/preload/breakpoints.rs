//! Progress points as breakpoints: the first byte of an instruction is an int3, its SIGTRAP counts a
//! visit, and the instruction that it displaced is done in another way ([`crate::displaced`]).
//!
//! What the controller asks for is read once, at start-up, and kept in memory of our own: a forked
//! child has it, with the breakpoints, whatever becomes of its region. A table is only added to
//! before the first breakpoint stands. SIGTRAP must never be blocked while the program's code runs,
//! or the kernel ends it at a breakpoint: the hooks of masks and handlers see to that.

use core::sync::atomic::{
    AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use super::syscalls::{close, read_own_memory, syscall4, syscall6};
use super::thread_local::{ELSEWHERE, thread};
use super::{latency, perf_event, process_copies, shared};
use crate::displaced::{self, INSTRUCTION_BYTES, NO_DISTANCE, SLOT_BYTES, kind};
use crate::layout::{Breakpoint, MAX_BREAKPOINTS, Region, breakpoint};

const INT3: u8 = 0xcc;
const PAGE: u64 = 4096;
/// Slots in a page.
const SLOTS: usize = PAGE as usize / SLOT_BYTES;
/// Pages of slots: one for each neighbourhood that breakpoints are in, or more.
const MAX_PAGES: usize = 8;
/// A page is looked for at so many places, this far apart: within the 2 GiB that code reaches.
const TRIES: u64 = 1500;
const STEP: u64 = 1 << 20;
/// The kind of a counter that is neither a begin nor an end.
const THROUGHPUT: u32 = 1;

/// What is kept of one breakpoint.
struct Kept {
    place: AtomicU64,
    target: AtomicU64,
    /// Where its copy is; 0: it has none.
    slot: AtomicU64,
    counter: AtomicU32,
    kind: AtomicU32,
    condition: AtomicU32,
    length: AtomicU32,
    /// The byte that was there.
    byte: AtomicU32,
}

/// A breakpoint that is not there.
#[allow(
    clippy::declare_interior_mutable_const,
    reason = "used once, as a static's first value"
)]
const NONE: Kept = Kept {
    place: AtomicU64::new(0),
    target: AtomicU64::new(0),
    slot: AtomicU64::new(0),
    counter: AtomicU32::new(0),
    kind: AtomicU32::new(0),
    condition: AtomicU32::new(0),
    length: AtomicU32::new(0),
    byte: AtomicU32::new(0),
};

/// The breakpoints, ascending by place.
static KEPT: [Kept; MAX_BREAKPOINTS] = [NONE; MAX_BREAKPOINTS];
/// How many.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Pages of slots, 0 where there is none, and how many slots of each are used.
static PAGES: [AtomicU64; MAX_PAGES] = [const { AtomicU64::new(0) }; MAX_PAGES];
static USED: [AtomicUsize; MAX_PAGES] = [const { AtomicUsize::new(0) }; MAX_PAGES];

/// Whether there are breakpoints, so that SIGTRAP must reach us whenever the program runs.
#[inline]
pub fn are_set() -> bool {
    // Acquire: partner of the Release in `prepare`.
    COUNT.load(Acquire) != 0
}

/// The breakpoints.
fn kept() -> &'static [Kept] {
    // Acquire: partner of the Release in `prepare`.
    &KEPT[..COUNT.load(Acquire).min(MAX_BREAKPOINTS)]
}

/// Takes in what the controller asks for and makes the copies; no code is changed yet.
pub fn prepare(region: &'static Region) {
    let asked = (region.breakpoints.count.load(Relaxed) as usize).min(MAX_BREAKPOINTS);
    if asked == 0 || are_set() {
        return;
    }
    let list = &region.breakpoints.list[..asked];
    if perf_event::handle_traps().is_err() {
        for one in list {
            one.state.store(breakpoint::NO_HANDLER, Relaxed);
        }
        return;
    }
    let mut count = 0;
    let mut last = 0;
    for one in list {
        let place = one.place.load(Relaxed);
        // Two points at one place are two entries.
        if place < last {
            continue;
        }
        let Some(to) = KEPT.get(count) else {
            break;
        };
        match take_in(one, place, to) {
            Ok(()) => {
                count += 1;
                last = place;
            }
            Err(state) => one.state.store(state, Relaxed),
        }
    }
    for page in PAGES.iter().map(|page| page.load(Relaxed)) {
        if page != 0 && !protect(page, libc::PROT_READ | libc::PROT_EXEC) {
            for one in list {
                one.state.store(breakpoint::NO_SLOT, Relaxed);
            }
            return;
        }
    }
    // Release: the table is whole before it is looked at.
    COUNT.store(count, Release);
}

/// Keeps one breakpoint; a state code if it cannot be.
fn take_in(one: &Breakpoint, place: u64, to: &Kept) -> Result<(), u32> {
    let mut bytes = [0u8; INSTRUCTION_BYTES];
    let (first, rest) = bytes.split_at_mut(8);
    first.copy_from_slice(&one.bytes[0].load(Relaxed).to_ne_bytes());
    rest.copy_from_slice(&one.bytes[1].load(Relaxed).to_ne_bytes());
    let (kind, length) = (one.kind.load(Relaxed), one.length.load(Relaxed));
    let byte = first_byte(place).ok_or(breakpoint::OTHER_CODE)?;
    let copied = kind == kind::COPY || kind == kind::CALL_COPY;
    if byte == INT3 || byte != bytes[0] {
        return Err(breakpoint::OTHER_CODE);
    }
    let mut slot = 0;
    if copied {
        let distance = one.distance.load(Relaxed);
        slot = find_slot(bytes, length, distance, place).ok_or(breakpoint::NO_SLOT)?;
    }
    to.target.store(one.target.load(Relaxed), Relaxed);
    to.slot.store(slot, Relaxed);
    to.counter.store(one.counter.load(Relaxed), Relaxed);
    to.kind.store(kind, Relaxed);
    to.condition.store(one.condition.load(Relaxed), Relaxed);
    to.length.store(length, Relaxed);
    to.byte.store(u32::from(byte), Relaxed);
    to.place.store(place, Relaxed);
    Ok(())
}

/// The byte at a place, if it can be read.
fn first_byte(place: u64) -> Option<u8> {
    let mut word = [0u64];
    // The aligned word around it never crosses a page.
    read_own_memory(place & !7, &mut word).then(|| word[0].to_ne_bytes()[(place & 7) as usize])
}

/// A slot with the copy in it, in a page that is near enough.
fn find_slot(
    bytes: [u8; INSTRUCTION_BYTES],
    length: u32,
    distance: u32,
    place: u64,
) -> Option<u64> {
    for (page, used) in PAGES.iter().zip(&USED) {
        let mut base = page.load(Relaxed);
        if base == 0 {
            base = map_near(place, distance != NO_DISTANCE)?;
            page.store(base, Relaxed);
        }
        let number = used.load(Relaxed);
        let slot = base + (number * SLOT_BYTES) as u64;
        let Some(code) = displaced::copy(bytes, length, distance, place, slot) else {
            continue;
        };
        if number >= SLOTS {
            continue;
        }
        // SAFETY: a slot of a page of ours that is still only written to.
        unsafe { (slot as *mut [u8; SLOT_BYTES]).write(code) };
        used.store(number + 1, Relaxed);
        return Some(slot);
    }
    None
}

/// A new page that may be written to; below the place, where the heap does not grow, if it must be
/// near.
fn map_near(place: u64, must: bool) -> Option<u64> {
    let map = |at: u64, flags: i32| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
        let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let nothing = -1i64 as u64;
        let words = [at, PAGE, protection, flags as u64, nothing, 0];
        // SAFETY: a new mapping that replaces none.
        unsafe { syscall6(libc::SYS_mmap, words) }
    };
    if must {
        let around = place & !(PAGE - 1);
        for distance in 1..TRIES {
            let Some(at) = around
                .checked_sub(distance * STEP)
                .filter(|at| *at >= 1 << 16)
            else {
                break;
            };
            let got = map(at, libc::MAP_FIXED_NOREPLACE);
            if got == at.cast_signed() {
                return Some(at);
            }
            if got > 0 {
                // Kernels before 4.17 take the address for a wish.
                // SAFETY: the page that was just made.
                unsafe { syscall4(libc::SYS_munmap, got as u64, PAGE, 0, 0) };
            }
        }
        for distance in 64..TRIES {
            let at = around.checked_add(distance * STEP)?;
            if map(at, libc::MAP_FIXED_NOREPLACE) == at.cast_signed() {
                return Some(at);
            }
        }
        return None;
    }
    u64::try_from(map(0, 0)).ok()
}

fn protect(page: u64, protection: i32) -> bool {
    // SAFETY: the caller's page; what it holds stays.
    unsafe { syscall4(libc::SYS_mprotect, page, PAGE, protection as u64, 0) == 0 }
}

/// Writes the breakpoints into the code, once SIGTRAP reaches the calling thread.
pub fn set(region: &'static Region) {
    let mut states = region.breakpoints.list.iter();
    for one in kept() {
        let place = one.place.load(Relaxed);
        let state = if write_byte(place, INT3) {
            watch(region, one.counter.load(Relaxed) as usize);
            breakpoint::SET
        } else {
            breakpoint::NOT_WRITABLE
        };
        // Both lists ascend.
        let mine = states.find(|other| other.place.load(Relaxed) == place);
        if let Some(mine) = mine {
            mine.state.store(state, Relaxed);
        }
    }
}

/// Begins and ends are watched while G grows.
fn watch(region: &Region, counter: usize) {
    let kind = region
        .counters
        .get(counter)
        .map(|one| one.kind.load(Acquire));
    let first = kept()
        .iter()
        .find(|one| one.counter.load(Relaxed) as usize == counter);
    let is_first = first.is_some_and(|first| first.byte.fetch_or(WATCHED, Relaxed) & WATCHED == 0);
    if is_first && kind.is_some_and(|kind| kind != THROUGHPUT) {
        latency::watch(counter);
    }
}

/// Beside the byte that was there: its counter is watched.
const WATCHED: u32 = 1 << 8;

/// Takes the breakpoints out of the code; those that threads are at are still understood.
pub fn remove() {
    for one in kept() {
        write_byte(one.place.load(Relaxed), one.byte.load(Relaxed) as u8);
    }
}

/// Writes one byte of code, which no protection hinders; else by lifting it for a moment.
fn write_byte(place: u64, byte: u8) -> bool {
    let path = c"/proc/self/mem".as_ptr() as u64;
    let flags = (libc::O_WRONLY | libc::O_CLOEXEC) as u64;
    // SAFETY: a NUL-terminated path.
    let memory = unsafe { syscall4(libc::SYS_open, path, flags, 0, 0) };
    if memory >= 0 {
        let from = &raw const byte as u64;
        // SAFETY: one byte is read; the kernel writes it to our own code.
        let wrote = unsafe { syscall4(libc::SYS_pwrite64, memory as u64, from, 1, place) };
        close(memory as i32);
        if wrote == 1 {
            return true;
        }
    }
    let page = place & !(PAGE - 1);
    let code = libc::PROT_READ | libc::PROT_EXEC;
    if !protect(page, code | libc::PROT_WRITE) {
        return false;
    }
    // SAFETY: mapped and writable for now; a single byte is seen whole by whoever runs it.
    unsafe { (place as *mut u8).write_volatile(byte) };
    protect(page, code)
}

/// A trap by int3: counts the visit and goes on where the displaced instruction would have gone.
/// False if the int3 is the program's own.
///
/// # Safety
/// `context` is the third argument of a `SA_SIGINFO` handler.
///
/// # Signal safety
/// Made for signal handlers.
pub unsafe fn visit(context: *mut libc::c_void) -> bool {
    if !are_set() {
        return false;
    }
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid ucontext to the handler (the caller's promise).
    let registers = unsafe { &mut (*context).uc_mcontext.gregs };
    let place = (registers[libc::REG_RIP as usize] as u64).wrapping_sub(1);
    let all = kept();
    let Ok(number) = all.binary_search_by_key(&place, |one| one.place.load(Relaxed)) else {
        return false;
    };
    let one = &all[number];
    let here = |one: &&Kept| one.place.load(Relaxed) == place;
    let others = all[..number].iter().rev().take_while(here);
    for one in others.chain(all[number..].iter().take_while(here)) {
        count(one.counter.load(Relaxed) as usize);
    }
    let next = place.wrapping_add(u64::from(one.length.load(Relaxed)));
    let (slot, target) = (one.slot.load(Relaxed), one.target.load(Relaxed));
    let flags = registers[libc::REG_EFL as usize] as u64;
    let mut stack = registers[libc::REG_RSP as usize] as u64;
    let mut push = |word: u64| {
        stack = stack.wrapping_sub(8);
        // SAFETY: where the instruction itself would have written; a fault is the program's.
        unsafe { (stack as *mut u64).write_unaligned(word) };
    };
    let go_on = match one.kind.load(Relaxed) {
        kind::COPY => slot,
        kind::JUMP => target,
        kind::JUMP_IF if displaced::holds(one.condition.load(Relaxed), flags) => target,
        kind::CALL => {
            push(next);
            target
        }
        kind::CALL_COPY => {
            push(next);
            slot
        }
        kind::RETURN => {
            // SAFETY: where the instruction itself would have read.
            let back = unsafe { (stack as *const u64).read_unaligned() };
            stack = stack.wrapping_add(8 + target);
            back
        }
        _ => next,
    };
    registers[libc::REG_RSP as usize] = stack.cast_signed();
    registers[libc::REG_RIP as usize] = go_on.cast_signed();
    true
}

/// Counts a visit, unless this is another process in our memory.
fn count(counter: usize) {
    if process_copies::is_unannounced() || thread().inside.load(Relaxed) >= ELSEWHERE {
        return;
    }
    let Some(counter) = shared::region().and_then(|region| region.counters.get(counter)) else {
        return;
    };
    if counter.kind.load(Relaxed) == THROUGHPUT {
        counter.count.fetch_add(1, Relaxed);
    } else {
        // SAFETY: a counter of the region, which is never unmapped.
        unsafe { latency::_coz_rs_visit(counter) };
    }
}

/// Where the program is that seems to be at `address`: in a copy it is at its original.
///
/// # Signal safety
/// Loads only.
pub fn original(address: u64) -> u64 {
    let in_slots = |page: &AtomicU64| {
        let page = page.load(Relaxed);
        page != 0 && (page..page + PAGE).contains(&address)
    };
    if !are_set() || !PAGES.iter().any(in_slots) {
        return address;
    }
    let slot = address & !(SLOT_BYTES as u64 - 1);
    let found = kept().iter().find(|one| one.slot.load(Relaxed) == slot);
    found.map_or(address, |one| {
        let place = one.place.load(Relaxed);
        if address == slot {
            place
        } else {
            place.wrapping_add(u64::from(one.length.load(Relaxed)))
        }
    })
}
