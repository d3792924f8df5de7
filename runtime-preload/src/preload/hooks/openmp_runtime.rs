//! The OpenMP functions behind our hooks, looked up when the program first calls one.
//!
//! Not at start-up: most programs have no OpenMP runtime, and a look-up that fails may allocate and
//! leaves an error for the program's next dlerror(3). We never load one. Normally the next definition
//! behind ours is the real one, whichever runtime it belongs to (LLVM's exports these names too).
//!
//! A plug-in may have brought its own runtime along, privately, and another plug-in a second one:
//! those are not behind ours in that order, and to give a caller the wrong one would be a disaster.
//! So the caller's own object is asked, which is where it would have found it without us. If there
//! is none at all, somebody asks for a function that only we define (a weak reference, say): it gets
//! what a team of one would get.

use core::ffi::{c_char, c_int, c_long, c_uint, c_void};
use core::sync::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use super::super::thread_local::thread;
use super::openmp::Work;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlerror() -> *mut c_char;
}

const NEXT: *mut c_void = -1isize as *mut c_void;
/// Places in plug-ins that one function is called from and that are remembered.
const CALLERS: usize = 64;

/// What one place in a plug-in gets.
struct Caller {
    /// The place; 0: free.
    place: AtomicU64,
    found: AtomicPtr<c_void>,
}

/// One of the functions.
struct Function {
    /// The real one for everybody, if there is one.
    next: AtomicPtr<c_void>,
    callers: [Caller; CALLERS],
}

impl Function {
    const fn new() -> Function {
        Function {
            next: AtomicPtr::new(core::ptr::null_mut()),
            callers: [const {
                Caller {
                    place: AtomicU64::new(0),
                    found: AtomicPtr::new(core::ptr::null_mut()),
                }
            }; CALLERS],
        }
    }

    #[inline]
    fn get(&self, name: &str, alone: *mut c_void) -> *mut c_void {
        let next = self.next.load(Relaxed);
        if next.is_null() {
            self.look_up(name.as_ptr().cast(), alone)
        } else {
            next
        }
    }

    #[cold]
    fn look_up(&self, name: *const c_char, alone: *mut c_void) -> *mut c_void {
        let place = thread().caller.load(Relaxed);
        let mut slot = None;
        for caller in &self.callers {
            match caller.place.compare_exchange(0, place, Relaxed, Relaxed) {
                Ok(_) => slot = Some(caller),
                Err(there) if there == place => {}
                Err(_) => continue,
            }
            // Acquire: partner of the Release below.
            let found = caller.found.load(Acquire);
            if !found.is_null() {
                return found;
            }
            break;
        }
        // SAFETY: a NUL-terminated name.
        let next = unsafe { dlsym(NEXT, name) };
        if !next.is_null() {
            self.next.store(next, Relaxed);
            return next;
        }
        let mut found = in_callers_object(place, name);
        // SAFETY: no argument; takes back the complaint about our own failed look-up.
        unsafe { dlerror() };
        if found.is_null() {
            found = alone;
        }
        if let Some(slot) = slot {
            // Release: partner of the Acquire above.
            slot.found.store(found, Release);
        }
        found
    }
}

/// What the object that contains `place` finds under `name` in itself and in what it needs.
fn in_callers_object(place: u64, name: *const c_char) -> *mut c_void {
    // SAFETY: all-zero is a valid Dl_info to be filled in.
    let mut object: libc::Dl_info = unsafe { core::mem::zeroed() };
    let address = place as usize as *const c_void;
    // SAFETY: any address may be asked for.
    let known = unsafe { libc::dladdr(address, &raw mut object) } != 0;
    if !known || object.dli_fname.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: the linker's own name of a loaded object; only finds what is loaded.
    let handle = unsafe { dlopen(object.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: a handle, which is kept: the runtime shall stay as long as our pointers to it.
    unsafe { dlsym(handle, name) }
}

macro_rules! runtime_functions {
    ($(fn $name:ident($($word:ident: $type:ty),*) -> $result:ty { $alone:expr })*) => {
        $(
        #[doc = concat!("The real `", stringify!($name), "`.")]
        #[allow(non_snake_case, reason = "named as the function")]
        pub fn $name() -> unsafe extern "C" fn($($type),*) -> $result {
            /// What a program without an OpenMP runtime gets.
            unsafe extern "C" fn alone($($word: $type),*) -> $result {
                $alone
            }
            static FUNCTION: Function = Function::new();
            let name = concat!(stringify!($name), "\0");
            let pointer = FUNCTION.get(name, alone as *const () as *mut c_void);
            // SAFETY: found under this name, whose C prototype this is, or the stand-in above.
            unsafe {
                core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(
                    pointer,
                )
            }
        }
        )*
    };
}

runtime_functions! {
    fn GOMP_barrier() -> () { () }
    fn GOMP_loop_end() -> () { () }
    fn GOMP_sections_end() -> () { () }
    fn GOMP_critical_start() -> () { () }
    fn GOMP_critical_end() -> () { () }
    fn GOMP_critical_name_start(_name: *mut *mut c_void) -> () { () }
    fn GOMP_critical_name_end(_name: *mut *mut c_void) -> () { () }
    fn GOMP_ordered_start() -> () { () }
    fn GOMP_ordered_end() -> () { () }
    fn omp_set_lock(_lock: *mut c_void) -> () { () }
    fn omp_unset_lock(_lock: *mut c_void) -> () { () }
    fn omp_test_lock(_lock: *mut c_void) -> c_int { 1 }
    fn omp_set_nest_lock(_lock: *mut c_void) -> () { () }
    fn omp_unset_nest_lock(_lock: *mut c_void) -> () { () }
    fn omp_test_nest_lock(_lock: *mut c_void) -> c_int { 1 }
    fn GOMP_parallel(work: Work, data: *mut c_void, _threads: c_uint, _flags: c_uint) -> () {
        work(data)
    }
    fn GOMP_parallel_sections(
        work: Work, data: *mut c_void, _threads: c_uint, _count: c_uint, _flags: c_uint
    ) -> () { work(data) }
    fn GOMP_parallel_loop_static(
        work: Work, data: *mut c_void, _threads: c_uint, _start: c_long, _end: c_long,
        _step: c_long, _chunk: c_long, _flags: c_uint
    ) -> () { work(data) }
    fn GOMP_parallel_loop_dynamic(
        work: Work, data: *mut c_void, _threads: c_uint, _start: c_long, _end: c_long,
        _step: c_long, _chunk: c_long, _flags: c_uint
    ) -> () { work(data) }
    fn GOMP_parallel_loop_guided(
        work: Work, data: *mut c_void, _threads: c_uint, _start: c_long, _end: c_long,
        _step: c_long, _chunk: c_long, _flags: c_uint
    ) -> () { work(data) }
    fn GOMP_parallel_loop_nonmonotonic_dynamic(
        work: Work, data: *mut c_void, _threads: c_uint, _start: c_long, _end: c_long,
        _step: c_long, _chunk: c_long, _flags: c_uint
    ) -> () { work(data) }
    fn GOMP_parallel_loop_nonmonotonic_guided(
        work: Work, data: *mut c_void, _threads: c_uint, _start: c_long, _end: c_long,
        _step: c_long, _chunk: c_long, _flags: c_uint
    ) -> () { work(data) }
    fn GOMP_parallel_loop_runtime(
        work: Work, data: *mut c_void, _threads: c_uint, _start: c_long, _end: c_long,
        _step: c_long, _flags: c_uint
    ) -> () { work(data) }
    fn GOMP_parallel_loop_nonmonotonic_runtime(
        work: Work, data: *mut c_void, _threads: c_uint, _start: c_long, _end: c_long,
        _step: c_long, _flags: c_uint
    ) -> () { work(data) }
    fn GOMP_parallel_loop_maybe_nonmonotonic_runtime(
        work: Work, data: *mut c_void, _threads: c_uint, _start: c_long, _end: c_long,
        _step: c_long, _flags: c_uint
    ) -> () { work(data) }
}
