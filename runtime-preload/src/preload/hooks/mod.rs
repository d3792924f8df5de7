//! The interposed functions, by family. `exports.txt` beside the manifest lists all of them.
//!
//! Each has four steps: re-entry check and before-hook (in `thread_ledger`), the real call, the
//! after-hook; the result and `errno` are the real ones. With no window in force a hook is one
//! predictable branch.

mod barrier;
mod condition;
mod futex;
mod mutex;
mod signals;
mod thread_life;

use core::ffi::c_int;

use super::thread_ledger::{after_block, before_block};

/// Runs a call that may block until another thread of the process ends the wait; the thread is
/// excused if the call's result is one of success.
#[inline]
fn blocking(call: impl FnOnce() -> c_int, woken: impl FnOnce(c_int) -> bool) -> c_int {
    let wait = before_block();
    let result = call();
    after_block(wait, woken(result));
    result
}
