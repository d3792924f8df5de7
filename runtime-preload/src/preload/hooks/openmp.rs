//! OpenMP as gcc compiles it: the GOMP_ functions of libgomp, whose futex calls are inline code.
//!
//! libgomp waits by spinning first, so all of these count as spinning while they wait. It tells
//! nobody whether a wait was one, so what cannot be tried is bracketed: G grows only when somebody
//! is credited, so a passage without a wait is excused nothing. Idle members of a team sleep inside
//! libgomp where no hook is: the function that a team runs is wrapped, and a member is excused from
//! what G grew between two such runs.
//!
//! These functions exist only if an OpenMP runtime is loaded, which may be another one that also
//! exports them: see `openmp_runtime` for how the real ones are found.

use core::arch::naked_asm;
use core::ffi::{c_long, c_uint, c_void};
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;

use super::super::shared;
use super::super::thread_ledger::{self, Wait};
use super::super::thread_local::{ThreadLocal, thread};
use super::openmp_runtime as runtime;
use super::{after_block, before_spin, spinning};
use crate::segment::{hash, key, key_of};

/// The function that the members of a team run.
pub type Work = extern "C" fn(*mut c_void);

/// One exported OpenMP function: notes where it was called from, by which `openmp_runtime` finds
/// the caller's own runtime, and goes on to `body`.
macro_rules! openmp_entry {
    (
        $(#[$meta:meta])*
        fn $name:ident($($word:ident: $type:ty),*) -> $result:ty, $real:ident => $body:expr
    ) => {
        const _: () = {
            unsafe extern "C" fn body($($word: $type),*) -> $result {
                let $real = runtime::$name();
                $body
            }
            $(#[$meta])*
            ///
            /// # Safety
            /// As the real one.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name($($word: $type),*) -> $result {
                naked_asm!(
                    "mov rax, qword ptr [rip + coz_rs_thread@GOTTPOFF]",
                    "mov r11, qword ptr [rsp]",
                    "mov qword ptr fs:[rax + {caller}], r11",
                    "jmp {body}",
                    caller = const offset_of!(ThreadLocal, caller),
                    body = sym body,
                )
            }
        };
    };
}

/// One OpenMP function: in a window it does what follows the arrow.
macro_rules! openmp_hook {
    (
        $(#[$meta:meta])*
        fn $name:ident($($word:ident: $type:ty),*) -> $result:ty, $call:ident => $body:expr
    ) => {
        openmp_entry! {
            $(#[$meta])*
            fn $name($($word: $type),*) -> $result, real => {
                // SAFETY: the caller's arguments, unchanged.
                let $call = || unsafe { real($($word),*) };
                if !shared::is_active() {
                    return $call();
                }
                const HOOK: u64 = hash(stringify!($name));
                let place = thread().caller.load(Relaxed);
                let looks = thread_ledger::end_segment();
                let result = $body;
                thread_ledger::begin_segment(|| key_of(HOOK, place), looks);
                result
            }
        }
    };
}

openmp_hook! {
    /// A barrier of the program's own.
    fn GOMP_barrier() -> (), call => spinning(call, |()| true)
}

openmp_hook! {
    /// The barrier at the end of a loop.
    fn GOMP_loop_end() -> (), call => spinning(call, |()| true)
}

openmp_hook! {
    /// The barrier at the end of sections.
    fn GOMP_sections_end() -> (), call => spinning(call, |()| true)
}

openmp_hook! {
    /// Enters the critical section without a name.
    fn GOMP_critical_start() -> (), call => spinning(call, |()| true)
}

openmp_hook! {
    /// Leaves it.
    fn GOMP_critical_end() -> (), call => {
        thread_ledger::before_wake();
        call();
    }
}

openmp_hook! {
    /// Enters a critical section with a name.
    fn GOMP_critical_name_start(name: *mut *mut c_void) -> (), call => spinning(call, |()| true)
}

openmp_hook! {
    /// Leaves it.
    fn GOMP_critical_name_end(name: *mut *mut c_void) -> (), call => {
        thread_ledger::before_wake();
        call();
    }
}

openmp_hook! {
    /// Waits for its turn in an ordered loop.
    fn GOMP_ordered_start() -> (), call => spinning(call, |()| true)
}

openmp_hook! {
    /// Gives the turn to the next.
    fn GOMP_ordered_end() -> (), call => {
        thread_ledger::before_wake();
        call();
    }
}

openmp_hook! {
    /// Takes a lock; tries first.
    fn omp_set_lock(lock: *mut c_void) -> (), call => {
        thread_ledger::pay_before_lock();
        // SAFETY: the caller's argument.
        if unsafe { runtime::omp_test_lock()(lock) } == 0 {
            spinning(call, |()| true);
        }
    }
}

openmp_hook! {
    /// Gives a lock back.
    fn omp_unset_lock(lock: *mut c_void) -> (), call => {
        thread_ledger::before_wake();
        call();
    }
}

openmp_hook! {
    /// Takes a lock that its holder may take again; tries first.
    fn omp_set_nest_lock(lock: *mut c_void) -> (), call => {
        thread_ledger::pay_before_lock();
        // SAFETY: the caller's argument.
        if unsafe { runtime::omp_test_nest_lock()(lock) } == 0 {
            spinning(call, |()| true);
        }
    }
}

openmp_hook! {
    /// Gives such a lock back.
    fn omp_unset_nest_lock(lock: *mut c_void) -> (), call => {
        thread_ledger::before_wake();
        call();
    }
}

/// What a team runs for the program. Lives on the stack of the thread that made the team, which
/// waits until all of its members have run it.
struct Team {
    work: Work,
    data: *mut c_void,
}

/// What a team runs for us. A member that has done its part wakes who waits for it, and idles
/// until the next team.
extern "C" fn member(team: *mut c_void) {
    // SAFETY: `in_team`'s own record, see [`Team`].
    let team = unsafe { &*team.cast::<Team>() };
    end_idling();
    thread_ledger::begin_segment(|| key("work of a team", team.work as usize as u64), true);
    (team.work)(team.data);
    thread_ledger::end_segment();
    let (g, window) = before_spin().into_words();
    let idle = &thread().idle;
    idle[0].store(g, Relaxed);
    idle[1].store(window, Relaxed);
}

fn end_idling() {
    let idle = &thread().idle;
    let wait = Wait::from_words(idle[0].load(Relaxed), idle[1].swap(0, Relaxed));
    after_block(wait, true);
}

/// Makes a team run `work`: wakes its members, is one itself, and waits for the others.
fn in_team(work: Work, data: *mut c_void, call: impl Fn(Work, *mut c_void)) {
    if !shared::is_active() {
        call(work, data);
        return;
    }
    let looks = thread_ledger::end_segment();
    thread_ledger::before_wake();
    let mut team = Team { work, data };
    call(member, (&raw mut team).cast());
    end_idling();
    thread_ledger::begin_segment(|| key("end of a team", work as usize as u64), looks);
}

openmp_entry! {
    /// See libgomp's "Implementing PARALLEL construct".
    fn GOMP_parallel(work: Work, data: *mut c_void, threads: c_uint, flags: c_uint) -> (),
    real => {
        // SAFETY: the caller's arguments, or work that runs the caller's.
        in_team(work, data, |work, data| unsafe { real(work, data, threads, flags) });
    }
}

openmp_entry! {
    /// See libgomp's "Implementing SECTIONS construct".
    fn GOMP_parallel_sections(
        work: Work, data: *mut c_void, threads: c_uint, count: c_uint, flags: c_uint
    ) -> (),
    real => {
        // SAFETY: the caller's arguments, or work that runs the caller's.
        in_team(work, data, |work, data| unsafe { real(work, data, threads, count, flags) });
    }
}

/// Loops shared by a new team, in chunks.
macro_rules! chunked_loops {
    ($($name:ident)*) => {
        $(openmp_entry! {
            /// See libgomp's "Implementing FOR Construct".
            fn $name(
                work: Work, data: *mut c_void, threads: c_uint, start: c_long, end: c_long,
                step: c_long, chunk: c_long, flags: c_uint
            ) -> (),
            real => {
                // SAFETY: the caller's arguments, or work that runs the caller's.
                in_team(work, data, |work, data| unsafe {
                    real(work, data, threads, start, end, step, chunk, flags);
                });
            }
        })*
    };
}

chunked_loops! {
    GOMP_parallel_loop_static
    GOMP_parallel_loop_dynamic
    GOMP_parallel_loop_guided
    GOMP_parallel_loop_nonmonotonic_dynamic
    GOMP_parallel_loop_nonmonotonic_guided
}

/// Loops shared by a new team as the environment says.
macro_rules! runtime_loops {
    ($($name:ident)*) => {
        $(openmp_entry! {
            /// See libgomp's "Implementing FOR Construct".
            fn $name(
                work: Work, data: *mut c_void, threads: c_uint, start: c_long, end: c_long,
                step: c_long, flags: c_uint
            ) -> (),
            real => {
                // SAFETY: the caller's arguments, or work that runs the caller's.
                in_team(work, data, |work, data| unsafe {
                    real(work, data, threads, start, end, step, flags);
                });
            }
        })*
    };
}

runtime_loops! {
    GOMP_parallel_loop_runtime
    GOMP_parallel_loop_nonmonotonic_runtime
    GOMP_parallel_loop_maybe_nonmonotonic_runtime
}
