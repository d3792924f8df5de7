//! Processes: copies that no handler of pthread_atfork sees, and the program's own filter of system
//! calls.
//!
//! fork(3) itself needs no hook: see `process_copies`.

use core::arch::naked_asm;
use core::ffi::{c_int, c_ulong};
use core::mem::offset_of;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use super::super::thread_ledger::SLEEPING;
use super::super::thread_local::{ELSEWHERE, ThreadLocal};
use super::super::{breakpoints, process_copies, real_functions as real, shared, syscalls};
use super::futex::on_error;
use crate::layout::fault;

/// See fork(2): a fork without handlers.
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Fork() -> libc::pid_t {
    process_copies::before();
    // SAFETY: no argument.
    let result = unsafe { real::_Fork()() };
    if result == 0 {
        process_copies::after_in_child();
    } else {
        process_copies::after_in_parent();
    }
    result
}

/// See vfork(2). The child runs in our memory, on our stack: hooks do nothing until it is gone. The
/// return address waits in a register, as the child uses the stack that it lies on.
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn vfork() -> libc::pid_t {
    naked_asm!(
        ".cfi_startproc",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_register rip, rdi",
        "mov eax, {vfork}",
        "syscall",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset rip, 0",
        "cmp rax, -4095",
        "jae 3f",
        "mov rdx, qword ptr [rip + coz_rs_thread@GOTTPOFF]",
        "test eax, eax",
        "jz 2f",
        "sub dword ptr fs:[rdx + {inside}], {elsewhere}",
        "ret",
        "2:",
        "add dword ptr fs:[rdx + {inside}], {elsewhere}",
        "ret",
        "3:",
        "mov rdi, rax",
        "jmp {on_error}",
        ".cfi_endproc",
        vfork = const libc::SYS_vfork,
        inside = const offset_of!(ThreadLocal, inside),
        elsewhere = const ELSEWHERE,
        on_error = sym on_error,
    )
}

/// See prctl(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(
    option: c_int,
    a: c_ulong,
    b: c_ulong,
    c: c_ulong,
    d: c_ulong,
) -> c_int {
    if option == libc::PR_SET_SECCOMP {
        let strict = a == c_ulong::from(libc::SECCOMP_MODE_STRICT);
        before_filter(strict || b != 0);
    }
    // SAFETY: the caller's arguments; the real one looks at those that the option has.
    unsafe { real::prctl()(option, a, b, c, d) }
}

/// Before a filter of system calls comes into force, which may forbid ours. Those who only ask
/// whether filters exist (`installs` is false) pass none.
pub fn before_filter(installs: bool) {
    if !installs || shared::region().is_none() {
        return;
    }
    // A filter may forbid what a trap needs.
    breakpoints::remove();
    shared::turn_off(fault::SECCOMP);
    // A filter may be for all threads: wait until none of them is in a pause of ours, each slice of
    // which is at most 10 ms, and a little more for those just inside a hook.
    for round in 0..200 {
        // Acquire: partner of the pause's end.
        if round >= 4 && SLEEPING.load(Acquire) == 0 {
            return;
        }
        syscalls::sleep_until(syscalls::now() + 250_000);
    }
    SLEEPING.store(0, Relaxed);
}
