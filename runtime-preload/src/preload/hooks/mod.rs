//! The interposed functions, by family. `exports.txt` beside the manifest lists all of them;
//! docs/what-is-understood.md says what each does.
//!
//! Each has four steps: re-entry check and before-hook (in `thread_ledger`), the real call, the
//! after-hook; the result and `errno` are the real ones. With no window in force a hook is two
//! loads, one predictable branch and a jump: [`hook`] makes it so.
//!
//! A cancelled thread unwinds through these frames, as does an exception that a callback throws.
//! So nothing here has a destructor, and everything that must be undone is undone by the next
//! entry or by the thread's end.

mod barrier;
mod c11;
mod cancellation;
mod condition;
mod descriptor_io;
mod descriptor_life;
mod descriptor_polls;
mod futex;
mod loading;
mod mutex;
mod once;
mod openmp;
mod openmp_runtime;
mod process;
mod read_write_lock;
mod replacement;
mod semaphore;
mod senders;
mod signal_wait;
pub mod signals;
mod sleeps;
mod spin;
mod thread_life;
pub mod word;

use core::ffi::c_int;

use super::thread_ledger::{self, after_block, after_block_with_lock, before_block, before_spin};

/// One interposed function. While a ledger is kept it does what follows the arrow, in which the
/// name before the arrow makes the real call; else it is the real function, at once. A name in
/// brackets is a signal mask that the call puts in force: our signals are kept out of it.
macro_rules! hook {
    (
        $(#[$meta:meta])*
        fn $name:ident($($word:ident: $type:ty),*) -> $result:ty, $([$mask:ident])? $call:ident => $body:expr
    ) => {
        $(#[$meta])*
        ///
        /// # Safety
        /// As the real one.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($word: $type),*) -> $result {
            /// # Safety
            /// As the real one.
            #[inline(never)]
            #[allow(unreachable_code, unused_variables, reason = "pthread_exit does not return")]
            unsafe extern "C" fn in_window($($word: $type),*) -> $result {
                let real = $crate::preload::real_functions::$name();
                // SAFETY: the caller's arguments, unchanged.
                let $call = || unsafe { real($($word),*) };
                let looks = $crate::preload::thread_ledger::end_segment();
                let result = { $body };
                let key = || {
                    #[allow(unused_mut, reason = "a function without arguments has no object")]
                    let mut object = 0;
                    $(if object == 0 {
                        object = $crate::preload::hooks::word::Word::word($word);
                    })*
                    const HOOK: u64 = $crate::segment::hash(stringify!($name));
                    $crate::segment::key_of(HOOK, object)
                };
                $crate::preload::thread_ledger::begin_segment(key, looks);
                result
            }
            $(
            // SAFETY: the caller's argument.
            let mended = unsafe { $crate::preload::hooks::signals::while_waiting($mask) };
            let $mask = mended.as_ref().map_or($mask, core::ptr::from_ref);
            )?
            if $crate::preload::shared::is_active() {
                // SAFETY: the caller's arguments, unchanged.
                return unsafe { in_window($($word),*) };
            }
            let real = $crate::preload::real_functions::$name();
            // SAFETY: the caller's arguments, unchanged.
            unsafe { real($($word),*) }
        }
    };
}
use hook;

/// Runs a call that may block until another thread of the process ends the wait; the thread is
/// excused if the call's result says that one did.
#[inline]
fn blocking<R: Copy>(call: impl FnOnce() -> R, woken: impl FnOnce(R) -> bool) -> R {
    let wait = before_block();
    let result = call();
    after_block(wait, woken(result));
    result
}

/// [`blocking`], for a call that returns with a lock held, however the wait ended.
#[inline]
fn blocking_for_lock<R: Copy>(call: impl FnOnce() -> R, woken: impl FnOnce(R) -> bool) -> R {
    let wait = before_block();
    let result = call();
    after_block_with_lock(wait, woken(result));
    result
}

/// [`blocking`], for a call that burns processor time while it waits.
#[inline]
fn spinning<R: Copy>(call: impl FnOnce() -> R, woken: impl FnOnce(R) -> bool) -> R {
    let wait = before_spin();
    let result = call();
    after_block(wait, woken(result));
    result
}

/// Takes a lock, a token, or a thread's result: pays first, so that no pause is slept with it
/// held; tries; and waits only if it is not to be had at once.
#[inline]
fn acquire(
    try_first: impl FnOnce() -> Option<c_int>,
    call: impl FnOnce() -> c_int,
    got: impl FnOnce(c_int) -> bool,
) -> c_int {
    thread_ledger::pay_before_lock();
    match try_first() {
        Some(result) => result,
        None => blocking(call, got),
    }
}

/// The result of a try that is final: anything but "busy".
fn unless_busy(result: c_int) -> Option<c_int> {
    (result != libc::EBUSY).then_some(result)
}

/// Results after which the thread holds the lock.
fn locked(result: c_int) -> bool {
    result == 0 || result == libc::EOWNERDEAD
}

fn succeeded(result: c_int) -> bool {
    result == 0
}

/// Whether a time limit is one that the real function would look at only when it must wait: with
/// any other there is no try, so that its complaint about the time comes first, as without us.
///
/// # Safety
/// `until` is null or valid.
unsafe fn is_plausible(until: *const libc::timespec) -> bool {
    // SAFETY: null or valid, the caller's promise.
    unsafe { until.as_ref() }.is_some_and(|time| (0..1_000_000_000).contains(&time.tv_nsec))
}
