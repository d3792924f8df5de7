//! `syscall(SYS_futex, …)`: how Rust's std, parking_lot, crossbeam and C++20 atomics block.
//!
//! `syscall` is variadic, so its entry is naked: it forwards every other call as libc would.

use core::arch::naked_asm;
use core::ffi::{c_int, c_long};

use super::super::syscalls::syscall6;
use super::super::thread_ledger::{self, after_block, before_block};

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
        futex = const libc::SYS_futex,
        waitv = const libc::SYS_futex_waitv,
        on_futex = sym on_futex,
        on_error = sym on_error,
    )
}

/// glibc's convention: -1, and `errno` has the cause.
extern "C" fn on_error(result: c_long) -> c_long {
    // SAFETY: no argument.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the calling thread's errno.
    unsafe { *errno = -result as c_int };
    -1
}

extern "C" fn on_futex(number: c_long, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> c_long {
    // SAFETY: forwarded as the program gave them; the kernel checks its pointers.
    let call = || unsafe { syscall6(number, [a, b, c, d, e, f]) };
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
    if (-4095..0).contains(&result) {
        on_error(result)
    } else {
        result
    }
}

/// A wait that returns a failure (changed value, time-out, signal) was not ended by a thread.
fn waiting(call: impl FnOnce() -> c_long) -> c_long {
    let wait = before_block();
    let result = call();
    after_block(wait, result >= 0);
    result
}
