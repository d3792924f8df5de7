//! Taking ourselves out of the environment that children get (`--no-follow`).

use core::ffi::{CStr, c_char};

use crate::handshake::SOCKET_ENV;

const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// Removes the socket's variable, and the first entry of `LD_PRELOAD`, which is ours.
///
/// # Safety
/// `list` is the process's own NULL-terminated environment, and no other thread runs yet.
pub unsafe fn leave(list: *mut *mut c_char) {
    let mut from = list;
    let mut to = list;
    loop {
        // SAFETY: inside the list, whose end was not seen yet.
        let text = unsafe { *from };
        if text.is_null() {
            break;
        }
        // SAFETY: entries are NUL-terminated strings.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
        let socket = bytes
            .strip_prefix(SOCKET_ENV.to_bytes())
            .is_some_and(|rest| rest.first() == Some(&b'='));
        let preload = bytes.strip_prefix(PRELOAD);
        let others = preload.map(|paths| {
            paths
                .iter()
                .position(|byte| matches!(byte, b':' | b' '))
                .map(|at| (at, paths.len()))
        });
        if let Some(Some((at, length))) = others {
            // SAFETY: the value begins behind its name.
            let value = unsafe { text.add(PRELOAD.len()) };
            // SAFETY: `at` is inside the value.
            let rest = unsafe { value.add(at + 1) };
            // SAFETY: the rest with its NUL lies inside the same string; copy allows overlap.
            unsafe { core::ptr::copy(rest, value, length - at) };
        }
        if !socket && !matches!(others, Some(None)) {
            // SAFETY: `to` never passes `from`.
            unsafe { *to = text };
            // SAFETY: still inside the list.
            to = unsafe { to.add(1) };
        }
        // SAFETY: the end was not reached.
        from = unsafe { from.add(1) };
    }
    // SAFETY: at most where the old end was.
    unsafe { *to = core::ptr::null_mut() };
}
