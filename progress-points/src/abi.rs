//! The interface to the profiler: the only module with unsafe code.
//!
//! A profiler that is loaded into the program exports `_coz_get_counter(type, name)`, which returns
//! the address of `{ size_t count; size_t backoff; }` or NULL. The counter stays valid until the
//! process ends and may be shared with other threads and processes, so it is only touched by
//! atomic operations. One that also exports `_coz_rs_visit(counter)` wants to be called for each
//! visit of a begin or an end, and counts it itself: it then knows when the visit was.
//! This module does not know what names mean and keeps no list of points.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicUsize};

/// What a counter counts; the numbers are those of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Throughput = 1,
    Begin = 2,
    End = 3,
}

/// The profiler's counter.
#[repr(C)]
struct Counter {
    count: AtomicUsize,
    backoff: AtomicUsize,
}

const _: () = assert!(size_of::<Counter>() == 2 * size_of::<usize>());

/// Stands for "looked up, and there is no profiler". An address that no counter can have, because
/// it is not aligned.
const ABSENT: *mut Counter = ptr::without_provenance_mut(1);

/// The profiler's `_coz_rs_visit`, or NULL. Set before the first counter is.
static VISIT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

type VisitCounter = unsafe extern "C" fn(*const Counter);

/// Where one place of the program keeps its counter: NULL before the first visit, then [`ABSENT`]
/// or a counter from `_coz_get_counter`, for ever.
#[derive(Debug)]
pub(crate) struct Slot(AtomicPtr<Counter>);

impl Slot {
    pub(crate) const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Counts a visit.
    #[inline]
    pub(crate) fn visit(&self, kind: Kind, name: &'static CStr) {
        if self.0.load(Relaxed) != ABSENT {
            self.count(kind, name);
        }
    }

    #[inline]
    fn count(&self, kind: Kind, name: &'static CStr) {
        // Acquire: partner of the Release in `look_up`, where another thread may have got the
        // counter. A second load, so that an absent profiler costs no ordering; not a fence, which
        // the thread sanitizer does not know.
        let mut counter = self.0.load(Acquire);
        if counter.is_null() {
            counter = self.look_up(kind, name);
        }
        if counter == ABSENT {
            return;
        }
        // SAFETY: neither NULL nor ABSENT, so it came from `_coz_get_counter` through `look_up`,
        // which owes us a counter that lives as long as the process and is touched atomically.
        let counter = unsafe { &*counter };
        // Ordered by the Acquire above: whoever stored the counter had stored this before.
        let visit = VISIT.load(Relaxed);
        if kind == Kind::Throughput || visit.is_null() {
            counter.count.fetch_add(1, Relaxed);
            return;
        }
        // SAFETY: `look_up` stored the address of a function that whoever exports it by this name
        // promises to have this signature (module text).
        let visit = unsafe { core::mem::transmute::<*mut c_void, VisitCounter>(visit) };
        // SAFETY: the counter is one of the same profiler's, which is all that the function asks.
        unsafe { visit(counter) };
    }

    /// The first visit: a counter or [`ABSENT`]. Threads that come here together get the same
    /// answer and store it twice.
    #[cold]
    #[inline(never)]
    fn look_up(&self, kind: Kind, name: &'static CStr) -> *mut Counter {
        let found = ask_profiler(kind, name).filter(|counter| !counter.is_null());
        let counter = found.unwrap_or(ABSENT);
        if kind != Kind::Throughput {
            VISIT.store(exported(c"_coz_rs_visit"), Relaxed);
        }
        // Release: partner of the Acquire in `count`.
        self.0.store(counter, Release);
        counter
    }
}

/// The address of an exported function, or NULL.
#[cfg(target_os = "linux")]
fn exported(name: &'static CStr) -> *mut c_void {
    use core::ffi::c_char;

    unsafe extern "C" {
        // In libc, or in libdl (which std links) before glibc 2.34.
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    /// All objects loaded at start, in their order (`dlfcn.h`).
    const RTLD_DEFAULT: *mut c_void = ptr::null_mut();

    // SAFETY: the handle is one that dlsym(3) names, the string ends with a NUL.
    unsafe { dlsym(RTLD_DEFAULT, name.as_ptr()) }
}

#[cfg(not(target_os = "linux"))]
fn exported(_name: &'static CStr) -> *mut c_void {
    ptr::null_mut()
}

#[cfg(target_os = "linux")]
fn ask_profiler(kind: Kind, name: &'static CStr) -> Option<*mut Counter> {
    use core::ffi::c_char;

    type GetCounter = unsafe extern "C" fn(c_int, *const c_char) -> *mut Counter;

    let address = exported(c"_coz_get_counter");
    if address.is_null() {
        return None;
    }
    // SAFETY: whoever exports a function of this name promises this signature (module text).
    let get_counter = unsafe { core::mem::transmute::<*mut c_void, GetCounter>(address) };
    // SAFETY: the name ends with a NUL and is never freed, which is all that the function asks.
    Some(unsafe { get_counter(kind as c_int, name.as_ptr()) })
}

#[cfg(not(target_os = "linux"))]
fn ask_profiler(kind: Kind, _name: &'static CStr) -> Option<*mut Counter> {
    let _: c_int = kind as c_int;
    None
}
