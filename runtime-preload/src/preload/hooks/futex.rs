//! `syscall(SYS_futex, …)`: how Rust's std, parking_lot, crossbeam and C++20 atomics block; and the
//! few other calls by number that concern us: signals to threads, copies of the process, filters.
//!
//! `syscall` is variadic, so its entry is naked: it forwards every other call as libc would. A
//! process that shares its parent's memory (clone with CLONE_VM, vfork) must return from where it
//! was called, so those are among the others.

use core::arch::naked_asm;
use core::ffi::{c_int, c_long};

use super::super::syscalls::syscall6;
use super::super::thread_ledger::{self, after_block, before_block};
use super::super::{process_copies, shared};
use super::process::before_filter;
use super::replacement;
use super::signals::{raw_action, raw_mask};
use crate::segment::key;

const FUTEX_WAIT: u64 = 0;
const FUTEX_WAKE: u64 = 1;
const FUTEX_REQUEUE: u64 = 3;
const FUTEX_CMP_REQUEUE: u64 = 4;
const FUTEX_WAKE_OP: u64 = 5;
const FUTEX_LOCK_PI: u64 = 6;
const FUTEX_UNLOCK_PI: u64 = 7;
const FUTEX_WAIT_BITSET: u64 = 9;
const FUTEX_WAKE_BITSET: u64 = 10;
const FUTEX_WAIT_REQUEUE_PI: u64 = 11;
const FUTEX_CMP_REQUEUE_PI: u64 = 12;
const FUTEX_LOCK_PI2: u64 = 13;
/// Everything but FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME (linux/futex.h).
const COMMAND_MASK: u64 = 0x7f;

/// See syscall(2).
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub extern "C" fn syscall(_number: c_long) -> c_long {
    naked_asm!(
        "cmp rdi, {futex}",
        "je {on_futex}",
        "cmp rdi, {waitv}",
        "je {on_futex}",
        "cmp rdi, {clone}",
        "je 3f",
        "cmp rdi, {fork}",
        "je {on_other}",
        "cmp rdi, {kill}",
        "je {on_other}",
        "cmp rdi, {prctl}",
        "je {on_other}",
        "cmp rdi, {tkill}",
        "je {on_other}",
        "cmp rdi, {tgkill}",
        "je {on_other}",
        "cmp rdi, {seccomp}",
        "je {on_other}",
        "cmp rdi, {mask}",
        "je {on_other}",
        "cmp rdi, {execve}",
        "je {on_other}",
        "cmp rdi, {execveat}",
        "je {on_other}",
        "cmp rdi, {action}",
        "je {on_other}",
        "4:",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, qword ptr [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 2f",
        "ret",
        "2:",
        "mov rdi, rax",
        "jmp {on_error}",
        "3:",
        "test esi, {shares_memory}",
        "jnz 4b",
        "jmp {on_other}",
        futex = const libc::SYS_futex,
        waitv = const libc::SYS_futex_waitv,
        clone = const libc::SYS_clone,
        fork = const libc::SYS_fork,
        kill = const libc::SYS_kill,
        prctl = const libc::SYS_prctl,
        tkill = const libc::SYS_tkill,
        tgkill = const libc::SYS_tgkill,
        seccomp = const libc::SYS_seccomp,
        mask = const libc::SYS_rt_sigprocmask,
        action = const libc::SYS_rt_sigaction,
        execve = const libc::SYS_execve,
        execveat = const libc::SYS_execveat,
        shares_memory = const libc::CLONE_VM,
        on_futex = sym on_futex,
        on_other = sym on_other,
        on_error = sym on_error,
    )
}

/// glibc's convention: -1, and `errno` has the cause.
pub extern "C" fn on_error(result: c_long) -> c_long {
    // SAFETY: no argument.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the calling thread's errno.
    unsafe { *errno = -result as c_int };
    -1
}

extern "C" fn on_futex(number: c_long, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> c_long {
    // SAFETY: forwarded as the program gave them; the kernel checks its pointers.
    let call = || unsafe { syscall6(number, [a, b, c, d, e, f]) };
    let kept = shared::is_active();
    let looks = kept && thread_ledger::end_segment();
    let result = if number == libc::SYS_futex_waitv {
        waiting(call)
    } else {
        match b & COMMAND_MASK {
            FUTEX_WAIT
            | FUTEX_WAIT_BITSET
            | FUTEX_LOCK_PI
            | FUTEX_LOCK_PI2
            | FUTEX_WAIT_REQUEUE_PI => waiting(call),
            FUTEX_WAKE | FUTEX_WAKE_BITSET | FUTEX_WAKE_OP | FUTEX_REQUEUE | FUTEX_CMP_REQUEUE
            | FUTEX_CMP_REQUEUE_PI | FUTEX_UNLOCK_PI => {
                thread_ledger::before_wake();
                call()
            }
            _ => call(),
        }
    };
    if kept {
        thread_ledger::begin_segment(|| key("futex", a ^ (b & COMMAND_MASK)), looks);
    }
    returned(result)
}

fn returned(result: c_long) -> c_long {
    if (-4095..0).contains(&result) {
        on_error(result)
    } else {
        result
    }
}

extern "C" fn on_other(number: c_long, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> c_long {
    // SAFETY: forwarded as the program gave them; the kernel checks its pointers. A child of fork
    // or clone has its own copy of this stack.
    let call = || unsafe { syscall6(number, [a, b, c, d, e, f]) };
    match number {
        libc::SYS_fork | libc::SYS_clone => {
            process_copies::before();
            let result = call();
            if result == 0 {
                process_copies::after_in_child();
            } else {
                process_copies::after_in_parent();
            }
            return returned(result);
        }
        libc::SYS_prctl if a as i32 == libc::PR_SET_SECCOMP => {
            before_filter(b == u64::from(libc::SECCOMP_MODE_STRICT) || c != 0);
        }
        libc::SYS_seccomp => {
            // Questions, and trials whether there are filters at all, pass no filter.
            let strict = a == u64::from(libc::SECCOMP_SET_MODE_STRICT) && b == 0 && c == 0;
            let filter = a == u64::from(libc::SECCOMP_SET_MODE_FILTER) && c != 0;
            before_filter(strict || filter);
        }
        libc::SYS_rt_sigprocmask => return returned(raw_mask(a, b, c, d)),
        libc::SYS_rt_sigaction => return returned(raw_action(a, b, c, d)),
        libc::SYS_execve | libc::SYS_execveat => replacement::before(),
        libc::SYS_kill | libc::SYS_tkill | libc::SYS_tgkill => thread_ledger::before_wake(),
        _ => {}
    }
    returned(call())
}

/// A wait that returns a failure (changed value, time-out, signal) was not ended by a thread.
fn waiting(call: impl FnOnce() -> c_long) -> c_long {
    let wait = before_block();
    let result = call();
    after_block(wait, result >= 0);
    result
}
