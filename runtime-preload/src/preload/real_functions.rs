//! The libc functions behind our hooks, looked up once, before any of them is forwarded to.

use core::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use super::elf_lookup::{self, Found};
use super::shared;
use super::threads::Routine;
use crate::layout::fault;

/// `pthread_mutex_t`, only ever passed on.
pub type Mutex = libc::pthread_mutex_t;
/// `pthread_cond_t`, only ever passed on.
pub type Condition = libc::pthread_cond_t;
/// A time or a duration, only ever passed on.
pub type Time = *const libc::timespec;
/// Where the rest of an interrupted sleep is noted.
pub type SleepTime = *mut libc::timespec;
/// `pthread_rwlock_t`, only ever passed on.
pub type ReadWriteLock = libc::pthread_rwlock_t;
type Once = Option<extern "C" fn()>;
type Signals = *const libc::sigset_t;
type Polled = *mut libc::pollfd;
type Set = *mut libc::fd_set;
type Words = *const *const c_char;

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
        #[allow(non_snake_case, reason = "named as the functions")]
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
        #[allow(non_snake_case, reason = "named as the function")]
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
    pthread_cancel "" (a: libc::pthread_t) -> c_int;
    pthread_once "" (a: *mut c_int, b: Once) -> c_int;
    pthread_rwlock_rdlock "" (a: *mut ReadWriteLock) -> c_int;
    pthread_rwlock_tryrdlock "" (a: *mut ReadWriteLock) -> c_int;
    pthread_rwlock_timedrdlock "" (a: *mut ReadWriteLock, b: Time) -> c_int;
    pthread_rwlock_clockrdlock "" (a: *mut ReadWriteLock, b: libc::clockid_t, c: Time) -> c_int;
    pthread_rwlock_wrlock "" (a: *mut ReadWriteLock) -> c_int;
    pthread_rwlock_trywrlock "" (a: *mut ReadWriteLock) -> c_int;
    pthread_rwlock_timedwrlock "" (a: *mut ReadWriteLock, b: Time) -> c_int;
    pthread_rwlock_clockwrlock "" (a: *mut ReadWriteLock, b: libc::clockid_t, c: Time) -> c_int;
    pthread_rwlock_unlock "" (a: *mut ReadWriteLock) -> c_int;
    pthread_spin_lock "" (a: *mut libc::pthread_spinlock_t) -> c_int;
    pthread_spin_trylock "" (a: *mut libc::pthread_spinlock_t) -> c_int;
    pthread_spin_unlock "" (a: *mut libc::pthread_spinlock_t) -> c_int;
    sem_wait "" (a: *mut libc::sem_t) -> c_int;
    sem_trywait "" (a: *mut libc::sem_t) -> c_int;
    sem_timedwait "" (a: *mut libc::sem_t, b: Time) -> c_int;
    sem_clockwait "" (a: *mut libc::sem_t, b: libc::clockid_t, c: Time) -> c_int;
    sem_post "" (a: *mut libc::sem_t) -> c_int;
    call_once "" (a: *mut c_int, b: Once) -> ();
    mtx_lock "" (a: *mut Mutex) -> c_int;
    mtx_trylock "" (a: *mut Mutex) -> c_int;
    mtx_timedlock "" (a: *mut Mutex, b: Time) -> c_int;
    mtx_unlock "" (a: *mut Mutex) -> c_int;
    cnd_wait "" (a: *mut Condition, b: *mut Mutex) -> c_int;
    cnd_timedwait "" (a: *mut Condition, b: *mut Mutex, c: Time) -> c_int;
    cnd_signal "" (a: *mut Condition) -> c_int;
    cnd_broadcast "" (a: *mut Condition) -> c_int;
    thrd_create "" (a: *mut libc::pthread_t, b: Routine, c: *mut c_void) -> c_int;
    thrd_join "" (a: libc::pthread_t, b: *mut c_int) -> c_int;
    thrd_exit "" (a: c_int) -> ();
    sigwait "" (a: Signals, b: *mut c_int) -> c_int;
    sigwaitinfo "" (a: Signals, b: *mut libc::siginfo_t) -> c_int;
    sigtimedwait "" (a: Signals, b: *mut libc::siginfo_t, c: Time) -> c_int;
    kill "" (a: libc::pid_t, b: c_int) -> c_int;
    tgkill "" (a: libc::pid_t, b: libc::pid_t, c: c_int) -> c_int;
    pthread_kill "" (a: libc::pthread_t, b: c_int) -> c_int;
    sigqueue "" (a: libc::pid_t, b: c_int, c: *mut c_void) -> c_int;
    pthread_sigqueue "" (a: libc::pthread_t, b: c_int, c: *mut c_void) -> c_int;
    eventfd "" (a: c_uint, b: c_int) -> c_int;
    pipe "" (a: *mut c_int) -> c_int;
    pipe2 "" (a: *mut c_int, b: c_int) -> c_int;
    socketpair "" (a: c_int, b: c_int, c: c_int, d: *mut c_int) -> c_int;
    dup "" (a: c_int) -> c_int;
    dup2 "" (a: c_int, b: c_int) -> c_int;
    dup3 "" (a: c_int, b: c_int, c: c_int) -> c_int;
    fcntl "" (a: c_int, b: c_int, c: c_ulong) -> c_int;
    fcntl64 "" (a: c_int, b: c_int, c: c_ulong) -> c_int;
    close "" (a: c_int) -> c_int;
    shutdown "" (a: c_int, b: c_int) -> c_int;
    epoll_ctl "" (a: c_int, b: c_int, c: c_int, d: *mut libc::epoll_event) -> c_int;
    read "" (a: c_int, b: *mut c_void, c: usize) -> isize;
    __read_chk "" (a: c_int, b: *mut c_void, c: usize, d: usize) -> isize;
    readv "" (a: c_int, b: *const libc::iovec, c: c_int) -> isize;
    recv "" (a: c_int, b: *mut c_void, c: usize, d: c_int) -> isize;
    __recv_chk "" (a: c_int, b: *mut c_void, c: usize, d: usize, e: c_int) -> isize;
    recvfrom "" (a: c_int, b: *mut c_void, c: usize, d: c_int, e: *mut libc::sockaddr, f: *mut libc::socklen_t) -> isize;
    recvmsg "" (a: c_int, b: *mut libc::msghdr, c: c_int) -> isize;
    eventfd_read "" (a: c_int, b: *mut u64) -> c_int;
    write "" (a: c_int, b: *const c_void, c: usize) -> isize;
    writev "" (a: c_int, b: *const libc::iovec, c: c_int) -> isize;
    send "" (a: c_int, b: *const c_void, c: usize, d: c_int) -> isize;
    sendto "" (a: c_int, b: *const c_void, c: usize, d: c_int, e: *const libc::sockaddr, f: libc::socklen_t) -> isize;
    sendmsg "" (a: c_int, b: *const libc::msghdr, c: c_int) -> isize;
    eventfd_write "" (a: c_int, b: u64) -> c_int;
    poll "" (a: Polled, b: libc::nfds_t, c: c_int) -> c_int;
    __poll_chk "" (a: Polled, b: libc::nfds_t, c: c_int, d: usize) -> c_int;
    ppoll "" (a: Polled, b: libc::nfds_t, c: Time, d: Signals) -> c_int;
    __ppoll_chk "" (a: Polled, b: libc::nfds_t, c: Time, d: Signals, e: usize) -> c_int;
    select "" (a: c_int, b: Set, c: Set, d: Set, e: *mut libc::timeval) -> c_int;
    pselect "" (a: c_int, b: Set, c: Set, d: Set, e: Time, f: Signals) -> c_int;
    epoll_wait "" (a: c_int, b: *mut libc::epoll_event, c: c_int, d: c_int) -> c_int;
    epoll_pwait "" (a: c_int, b: *mut libc::epoll_event, c: c_int, d: c_int, e: Signals) -> c_int;
    epoll_pwait2 "" (a: c_int, b: *mut libc::epoll_event, c: c_int, d: Time, e: Signals) -> c_int;
    nanosleep "" (a: Time, b: SleepTime) -> c_int;
    clock_nanosleep "" (a: libc::clockid_t, b: c_int, c: Time, d: SleepTime) -> c_int;
    usleep "" (a: c_uint) -> c_int;
    sleep "" (a: c_uint) -> c_uint;
    thrd_sleep "" (a: Time, b: SleepTime) -> c_int;
    _Fork "" () -> libc::pid_t;
    prctl "" (a: c_int, b: c_ulong, c: c_ulong, d: c_ulong, e: c_ulong) -> c_int;
    dlopen "" (a: *const c_char, b: c_int) -> *mut c_void;
    execve "" (a: *const c_char, b: Words, c: Words) -> c_int;
    execv "" (a: *const c_char, b: Words) -> c_int;
    execvp "" (a: *const c_char, b: Words) -> c_int;
    execvpe "" (a: *const c_char, b: Words, c: Words) -> c_int;
    execl "" (a: *const c_char, b: *const c_char) -> c_int;
    execlp "" (a: *const c_char, b: *const c_char) -> c_int;
    execle "" (a: *const c_char, b: *const c_char) -> c_int;
    fexecve "" (a: c_int, b: Words, c: Words) -> c_int;
    execveat "" (a: c_int, b: *const c_char, c: Words, d: Words, e: c_int) -> c_int;
    sigsuspend "" (a: Signals) -> c_int;
    sigaction "" (a: c_int, b: *const libc::sigaction, c: *mut libc::sigaction) -> c_int;
    signal "" (a: c_int, b: libc::sighandler_t) -> libc::sighandler_t;
    sigprocmask "" (a: c_int, b: *const libc::sigset_t, c: *mut libc::sigset_t) -> c_int;
    pthread_sigmask "" (a: c_int, b: *const libc::sigset_t, c: *mut libc::sigset_t) -> c_int;
}

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *mut c_char;
}

const NEXT: *mut c_void = -1isize as *mut c_void;

fn resolve(pointer: &AtomicPtr<c_void>, stub: *mut c_void, name: &str, version: &str) {
    if pointer.load(Relaxed) != stub {
        return;
    }
    let mut found = core::ptr::null_mut();
    let ask = match elf_lookup::next(name.as_bytes(), version.as_bytes()) {
        Found::Function(function) => {
            found = function.cast_mut().cast();
            false
        }
        // Another version is better than none, as for dlsym below.
        Found::Nothing => match elf_lookup::next(name.as_bytes(), b"") {
            Found::Function(function) => {
                found = function.cast_mut().cast();
                false
            }
            Found::Nothing => false,
            Found::Indirect | Found::Lost => true,
        },
        Found::Indirect | Found::Lost => true,
    };
    if ask && !version.is_empty() {
        // SAFETY: both strings end in NUL (the macro and the table see to it).
        found = unsafe { dlvsym(NEXT, name.as_ptr().cast(), version.as_ptr().cast()) };
    }
    if ask && found.is_null() {
        // SAFETY: the name ends in NUL.
        found = unsafe { dlsym(NEXT, name.as_ptr().cast()) };
    }
    if found.is_null() {
        // This libc does not have it; the program did not get it from there either. Its next
        // dlerror(3) shall not tell of our look-up.
        if ask {
            // SAFETY: no argument.
            unsafe { dlerror() };
        }
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
