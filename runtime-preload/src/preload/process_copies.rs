//! Copies of this process: children of fork, which have its memory but are not it.
//!
//! A child gets a region of its own over the same addresses, before any code of the program runs in
//! it: programs keep pointers to their counters, so the counters are there again, in the same
//! order, at zero. Then it greets the controller and is a target of its own. Where it shall not be
//! followed, or nobody answers, its region is private and its profiling off.
//!
//! A process without progress points cannot be measured, and shells fork often: the child of one
//! greets only when it passes its first point.
//!
//! Handlers of pthread_atfork announce a fork; between them hooks do nothing, so that no other
//! library's handler touches the parent's ledger from the child. A copy that was made behind our
//! back (clone(2) without its memory shared) shows by a page that the kernel wipes on fork; it is
//! turned off at its first hook inside a window. No event is ever inherited, and none of the
//! parent's is touched: the child opens its own.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{
    AtomicPtr, AtomicU8, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use super::syscalls::syscall6;
use super::thread_ledger::SLEEPING;
use super::thread_local::{ELSEWHERE, thread};
use super::{entry, greeting, shared, threads};
use crate::handshake::Welcome;
use crate::layout::{MAX_COUNTERS, Region, fault};

/// Room for the socket's path, as in sockaddr_un.
const PATH_BYTES: usize = 108;

/// Where the controller listens; empty while children shall not be followed.
static SOCKET: [AtomicU8; PATH_BYTES] = [const { AtomicU8::new(0) }; PATH_BYTES];
/// 1 in a child that greets at its first progress point.
static ASLEEP: AtomicU32 = AtomicU32::new(0);
/// Stands for the page until there is one.
static OURS: AtomicU32 = AtomicU32::new(1);
/// The first word of a page that is wiped on fork: 1 in the process that made it.
static PAGE: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const OURS).cast_mut());

unsafe extern "C" {
    fn __register_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
        object: *mut c_void,
    ) -> c_int;
}

/// Gets ready for forks, once the controller has answered at `path`.
pub fn prepare(path: &CStr, welcome: &Welcome) {
    let bytes = path.to_bytes();
    if welcome.no_follow == 0 && bytes.len() < PATH_BYTES {
        for (to, from) in SOCKET.iter().zip(bytes) {
            to.store(*from, Relaxed);
        }
    }
    make_page();
    let object = core::ptr::null_mut();
    // SAFETY: the handlers have the right type; this object is never unloaded.
    unsafe {
        __register_atfork(
            Some(before),
            Some(after_in_parent),
            Some(after_in_child),
            object,
        )
    };
}

/// Makes the page that tells copies apart; without one (kernels before 4.14) copies that nobody
/// announces are not noticed.
fn make_page() {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping where the kernel likes.
    let page = unsafe { libc::mmap(core::ptr::null_mut(), 4096, protection, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return;
    }
    // SAFETY: our own page.
    if unsafe { libc::madvise(page, 4096, libc::MADV_WIPEONFORK) } != 0 {
        return;
    }
    let page = page.cast::<AtomicU32>();
    // SAFETY: our own page, which is never unmapped; zero bytes are a valid atomic.
    unsafe { &*page }.store(1, Relaxed);
    // Release: partner of the Acquire in `is_unannounced`.
    PAGE.store(page, Release);
}

/// Whether this process is a copy that was not announced.
#[inline]
pub fn is_unannounced() -> bool {
    // Acquire: partner of the Release in `make_page`.
    let page = PAGE.load(Acquire);
    // SAFETY: `OURS`, or our page, which is never unmapped.
    unsafe { &*page }.load(Relaxed) == 0
}

/// From before a fork on, hooks of the calling thread do nothing.
pub extern "C" fn before() {
    thread().inside.fetch_add(ELSEWHERE, Relaxed);
}

/// The fork is over, in the process that forked.
pub extern "C" fn after_in_parent() {
    thread().inside.fetch_sub(ELSEWHERE, Relaxed);
}

/// The fork is over, in the child.
pub extern "C" fn after_in_child() {
    start_over(true);
    thread().inside.fetch_sub(ELSEWHERE, Relaxed);
}

/// In a copy that was not announced: off, for we may be anywhere, even in a signal handler.
#[cold]
pub fn in_unannounced_child() {
    let inside = &thread().inside;
    inside.fetch_add(ELSEWHERE, Relaxed);
    start_over(false);
    inside.fetch_sub(ELSEWHERE, Relaxed);
}

fn start_over(may_greet: bool) {
    let Some(region) = shared::region() else {
        return;
    };
    // Acquire: partner of the Release in `make_page`.
    let page = PAGE.load(Acquire);
    // SAFETY: `OURS`, or our page, which is never unmapped.
    unsafe { &*page }.store(1, Relaxed);
    SLEEPING.store(0, Relaxed);
    let stack_top = threads::forget_all();
    // A filter that the parent installed may forbid every call that follows.
    if region.header.fault.load(Relaxed) == fault::SECCOMP {
        return;
    }
    if ASLEEP.load(Relaxed) != 0 && may_greet {
        // Its parent has private memory, of which this is a copy, and waits for a point itself.
        return;
    }
    let off = region.header.off.load(Relaxed) != 0;
    let has_points = region.header.counters.load(Relaxed) != 0;
    let follow = may_greet && !off && SOCKET[0].load(Relaxed) != 0;
    if !(follow && has_points && greet(region, stack_top)) {
        replace_by_private_memory(region);
    }
    ASLEEP.store(u32::from(follow && !has_points), Relaxed);
}

/// The first progress point in a child that waited for it.
#[inline]
pub fn at_progress_point() {
    if ASLEEP.load(Relaxed) != 0 {
        wake_up();
    }
}

#[cold]
fn wake_up() {
    if ASLEEP.swap(0, Relaxed) == 0 {
        return;
    }
    // A fault or a filter of its own meanwhile.
    if let Some(region) = shared::region().filter(|region| region.header.fault.load(Relaxed) == 0) {
        let inside = &thread().inside;
        inside.fetch_add(ELSEWHERE, Relaxed);
        // If nobody answers, the region stays as it is, private and off.
        greet(region, 0);
        inside.fetch_sub(ELSEWHERE, Relaxed);
    }
}

/// Introduces this process to the controller, whose new region takes the old one's place.
fn greet(region: &'static Region, stack_top: u64) -> bool {
    let mut path = [0u8; PATH_BYTES];
    for (to, from) in path.iter_mut().zip(&SOCKET) {
        *to = from.load(Relaxed);
    }
    let Ok(path) = CStr::from_bytes_until_nul(&path) else {
        return false;
    };
    let Some(greeting) = greeting::greet(path) else {
        return false;
    };
    if !put_in_place(greeting.region, region) {
        // The controller sees the socket closed and forgets us.
        greeting.give_up();
        return false;
    }
    threads::register(region, stack_top);
    let (ready, event) = entry::start_sampler(&greeting.welcome);
    greeting.finish(ready, event);
    true
}

/// Puts private memory in the region's place and turns profiling off in it.
fn replace_by_private_memory(region: &'static Region) {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let size = size_of::<Region>();
    // SAFETY: a new mapping where the kernel likes.
    let fresh = unsafe { libc::mmap(core::ptr::null_mut(), size, protection, flags, -1, 0) };
    if fresh == libc::MAP_FAILED || !put_in_place(fresh.cast(), region) {
        // No memory: what is left is not to touch the parent's.
        shared::detach();
        return;
    }
    region.header.off.store(1, Relaxed);
}

/// Copies names of counters into `fresh` and moves it over `region`, in one step.
fn put_in_place(fresh: *mut Region, region: &'static Region) -> bool {
    // SAFETY: mapped with the region's size, of valid bytes, by our callers.
    copy_counters(region, unsafe { &*fresh });
    let size = size_of::<Region>() as u64;
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as u64;
    let place = core::ptr::from_ref(region) as u64;
    // SAFETY: moves one mapping of ours exactly over another of the same size; references into the
    // region stay valid, as any bytes are valid atomics.
    let moved = unsafe {
        syscall6(
            libc::SYS_mremap,
            [fresh as u64, size, size, flags, place, 0],
        )
    };
    if moved as u64 == place {
        return true;
    }
    // SAFETY: our own mapping, of which no reference is left.
    unsafe { libc::munmap(fresh.cast(), size_of::<Region>()) };
    false
}

fn copy_counters(from: &Region, to: &Region) {
    // Acquire: names were written before the count.
    let count = (from.header.counters.load(Acquire) as usize).min(MAX_COUNTERS);
    for (old, new) in from.counters.iter().zip(&to.counters).take(count) {
        for (old, new) in old.name.iter().zip(&new.name) {
            new.store(old.load(Relaxed), Relaxed);
        }
        new.name_len.store(old.name_len.load(Relaxed), Relaxed);
        // Release: partner of the Acquire loads of the controller and of `_coz_get_counter`.
        new.kind.store(old.kind.load(Relaxed), Release);
    }
    to.header.counters.store(count as u32, Release);
}
