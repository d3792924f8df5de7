//! Libraries that the program loads so that they find their own functions first.
//!
//! A library loaded with RTLD_DEEPBIND calls libc past our hooks: its waits are not seen. That is
//! counted, so that the results can say so. The call itself is passed on by a jump, as dlopen(3)
//! looks at its return address to know on whose behalf it searches.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use super::super::{real_functions as real, shared};

/// Notes the flags; the real function.
extern "C" fn prepare(_name: *const c_char, flags: c_int) -> *const () {
    if flags & libc::RTLD_DEEPBIND != 0
        && let Some(region) = shared::region()
    {
        region.header.deep_bindings.fetch_add(1, Relaxed);
    }
    real::dlopen() as *const ()
}

/// See dlopen(3).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlopen(_name: *const c_char, _flags: c_int) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {prepare}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp rax",
        ".cfi_endproc",
        prepare = sym prepare,
    )
}
