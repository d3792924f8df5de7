//! exec: no sample may be on its way when the process becomes another program.
//!
//! A sample taken in the kernel while it replaces the program would reach the new one, whose
//! SIGTRAP has no handler, and end it (perf_event_open(2): the event itself is removed, a signal
//! that is due is not). So the thread that opened the event, which is the one that executes all but
//! always, switches it off first. Should the call fail, the controller switches it on again.
//!
//! The variadic members of the family are passed on by a jump, so all are.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int};
use core::sync::atomic::Ordering::Relaxed;

use super::super::syscalls::{now, syscall4};
use super::super::{perf_event, real_functions as real, shared};

/// Switches the calling thread's event off.
pub fn before() {
    if !perf_event::is_running() || shared::is_off() {
        return;
    }
    if let Some(region) = shared::region() {
        region.header.replacing.store(now(), Relaxed);
        // SAFETY: takes no pointer; acts on events that the calling thread opened.
        unsafe {
            syscall4(
                libc::SYS_prctl,
                libc::PR_TASK_PERF_EVENTS_DISABLE as u64,
                0,
                0,
                0,
            )
        };
    }
}

macro_rules! passed_on {
    ($($name:ident $prepare:ident ($($argument:ty),*);)*) => {$(
        extern "C" fn $prepare() -> *const () {
            before();
            real::$name() as *const ()
        }

        #[doc = concat!("See ", stringify!($name), "(3).")]
        ///
        /// # Safety
        /// As the real one.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($(_: $argument),*) -> c_int {
            naked_asm!(
                ".cfi_startproc",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "push rdx",
                ".cfi_adjust_cfa_offset 8",
                "push rcx",
                ".cfi_adjust_cfa_offset 8",
                "push r8",
                ".cfi_adjust_cfa_offset 8",
                "push r9",
                ".cfi_adjust_cfa_offset 8",
                // The number of vector registers in use, for variadic functions.
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                "call {prepare}",
                "mov r11, rax",
                "pop rax",
                ".cfi_adjust_cfa_offset -8",
                "pop r9",
                ".cfi_adjust_cfa_offset -8",
                "pop r8",
                ".cfi_adjust_cfa_offset -8",
                "pop rcx",
                ".cfi_adjust_cfa_offset -8",
                "pop rdx",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "jmp r11",
                ".cfi_endproc",
                prepare = sym $prepare,
            )
        }
    )*};
}

type Words = *const *const c_char;

passed_on! {
    execve before_execve (*const c_char, Words, Words);
    execv before_execv (*const c_char, Words);
    execvp before_execvp (*const c_char, Words);
    execvpe before_execvpe (*const c_char, Words, Words);
    execl before_execl (*const c_char, *const c_char);
    execlp before_execlp (*const c_char, *const c_char);
    execle before_execle (*const c_char, *const c_char);
    fexecve before_fexecve (c_int, Words, Words);
    execveat before_execveat (c_int, *const c_char, Words, Words, c_int);
}
