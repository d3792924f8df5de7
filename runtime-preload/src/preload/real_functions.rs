//! The libc functions behind our hooks, looked up once, before any of them is forwarded to.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use super::shared;
use super::threads::Routine;
use crate::layout::fault;

/// `pthread_mutex_t`, only ever passed on.
pub type Mutex = libc::pthread_mutex_t;
/// `pthread_cond_t`, only ever passed on.
pub type Condition = libc::pthread_cond_t;
type Time = *const libc::timespec;

macro_rules! real_functions {
    ($($name:ident $version:literal ($($word:ident: $argument:ty),*) -> $result:ty;)*) => {
        mod pointers {
            use super::{AtomicPtr, c_void, stubs};
            $(#[allow(non_upper_case_globals, reason = "named as the function")]
            pub static $name: AtomicPtr<c_void> =
                AtomicPtr::new(stubs::$name as *const () as *mut c_void);)*
        }

        /// What the pointers hold until they are resolved: a hook was called before our
        /// constructor. No branch of the usual path has to ask.
        mod stubs {
            use super::*;
            $(
            #[cold]
            pub unsafe extern "C" fn $name($($word: $argument),*) -> $result {
                resolve_all();
                // SAFETY: the arguments are the caller's.
                unsafe { super::$name()($($word),*) }
            }
            )*
        }

        /// Looks all of them up. Succeeding look-ups do not allocate.
        pub fn resolve_all() {
            $(resolve(
                &pointers::$name,
                stubs::$name as *const () as *mut c_void,
                concat!(stringify!($name), "\0"),
                $version,
            );)*
        }

        $(
        #[doc = concat!("The real `", stringify!($name), "`.")]
        #[inline(always)]
        pub fn $name() -> unsafe extern "C" fn($($argument),*) -> $result {
            let pointer = pointers::$name.load(Relaxed);
            // SAFETY: found under this name, whose C prototype this is; or its stub, which has the
            // same; or `missing`, which takes nothing and returns an error number.
            unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $result>(pointer) }
        }
        )*
    };
}

// glibc keeps two implementations of the condition variables: the one to forward to is named.
real_functions! {
    pthread_create "" (a: *mut libc::pthread_t, b: *const libc::pthread_attr_t, c: Routine, d: *mut c_void) -> c_int;
    pthread_exit "" (a: *mut c_void) -> ();
    pthread_join "" (a: libc::pthread_t, b: *mut *mut c_void) -> c_int;
    pthread_tryjoin_np "" (a: libc::pthread_t, b: *mut *mut c_void) -> c_int;
    pthread_timedjoin_np "" (a: libc::pthread_t, b: *mut *mut c_void, c: Time) -> c_int;
    pthread_clockjoin_np "" (a: libc::pthread_t, b: *mut *mut c_void, c: libc::clockid_t, d: Time) -> c_int;
    pthread_mutex_lock "" (a: *mut Mutex) -> c_int;
    pthread_mutex_trylock "" (a: *mut Mutex) -> c_int;
    pthread_mutex_timedlock "" (a: *mut Mutex, b: Time) -> c_int;
    pthread_mutex_clocklock "" (a: *mut Mutex, b: libc::clockid_t, c: Time) -> c_int;
    pthread_mutex_unlock "" (a: *mut Mutex) -> c_int;
    pthread_cond_wait "GLIBC_2.3.2\0" (a: *mut Condition, b: *mut Mutex) -> c_int;
    pthread_cond_timedwait "GLIBC_2.3.2\0" (a: *mut Condition, b: *mut Mutex, c: Time) -> c_int;
    pthread_cond_clockwait "" (a: *mut Condition, b: *mut Mutex, c: libc::clockid_t, d: Time) -> c_int;
    pthread_cond_signal "GLIBC_2.3.2\0" (a: *mut Condition) -> c_int;
    pthread_cond_broadcast "GLIBC_2.3.2\0" (a: *mut Condition) -> c_int;
    pthread_barrier_wait "" (a: *mut libc::pthread_barrier_t) -> c_int;
    sigaction "" (a: c_int, b: *const libc::sigaction, c: *mut libc::sigaction) -> c_int;
    signal "" (a: c_int, b: libc::sighandler_t) -> libc::sighandler_t;
    sigprocmask "" (a: c_int, b: *const libc::sigset_t, c: *mut libc::sigset_t) -> c_int;
    pthread_sigmask "" (a: c_int, b: *const libc::sigset_t, c: *mut libc::sigset_t) -> c_int;
}

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

const NEXT: *mut c_void = -1isize as *mut c_void;

fn resolve(pointer: &AtomicPtr<c_void>, stub: *mut c_void, name: &str, version: &str) {
    if pointer.load(Relaxed) != stub {
        return;
    }
    let mut found = core::ptr::null_mut();
    if !version.is_empty() {
        // SAFETY: both strings end in NUL (the macro and the table see to it).
        found = unsafe { dlvsym(NEXT, name.as_ptr().cast(), version.as_ptr().cast()) };
    }
    if found.is_null() {
        // SAFETY: the name ends in NUL.
        found = unsafe { dlsym(NEXT, name.as_ptr().cast()) };
    }
    if found.is_null() {
        // This libc does not have it; the program did not get it from there either.
        found = missing as *const () as *mut c_void;
    }
    pointer.store(found, Relaxed);
}

extern "C" fn missing() -> c_int {
    shared::turn_off(fault::RESOLVE);
    libc::ENOSYS
}

/// The value of an environment variable in a NULL-terminated list of `name=value` strings.
///
/// # Safety
/// `list` is null or such a list, valid for as long as the result is used.
pub unsafe fn variable(list: *const *const c_char, name: &CStr) -> Option<&'static CStr> {
    let mut entry = list;
    if entry.is_null() {
        return None;
    }
    loop {
        // SAFETY: inside the list, as its end was not seen yet.
        let text = unsafe { *entry };
        if text.is_null() {
            return None;
        }
        // SAFETY: entries are NUL-terminated strings.
        let text = unsafe { CStr::from_ptr(text) };
        let rest = text.to_bytes_with_nul().strip_prefix(name.to_bytes());
        if let Some(value) = rest.and_then(|rest| rest.strip_prefix(b"=")) {
            return CStr::from_bytes_with_nul(value).ok();
        }
        // SAFETY: the end was not reached.
        entry = unsafe { entry.add(1) };
    }
}
