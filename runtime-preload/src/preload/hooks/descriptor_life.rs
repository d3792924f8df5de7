//! Descriptors that are made, duplicated, closed, and watched: the book that `descriptors` keeps.
//! These hooks work whether or not a window is in force.

use core::ffi::{c_int, c_uint, c_ulong};

use super::super::descriptors::{self, Kind};
use super::super::real_functions as real;
use super::super::{shared, thread_ledger};
use super::hook;

/// See eventfd(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eventfd(count: c_uint, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    let made = unsafe { real::eventfd()(count, flags) };
    if made >= 0 {
        descriptors::made(|_| Kind::Event, &[made]);
    }
    made
}

/// # Safety
/// `ends` has two valid elements.
unsafe fn note_pair(ends: *const c_int) {
    // SAFETY: the caller's promise; the real function has just filled them in.
    if let Some(ends) = unsafe { ends.cast::<[c_int; 2]>().as_ref() } {
        descriptors::made(Kind::End, ends);
    }
}

/// See pipe(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pipe(ends: *mut c_int) -> c_int {
    // SAFETY: the caller's argument.
    let result = unsafe { real::pipe()(ends) };
    if result == 0 {
        // SAFETY: filled in.
        unsafe { note_pair(ends) };
    }
    result
}

/// See pipe2(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pipe2(ends: *mut c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    let result = unsafe { real::pipe2()(ends, flags) };
    if result == 0 {
        // SAFETY: filled in.
        unsafe { note_pair(ends) };
    }
    result
}

/// See socketpair(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    ends: *mut c_int,
) -> c_int {
    // SAFETY: the caller's arguments.
    let result = unsafe { real::socketpair()(domain, kind, protocol, ends) };
    if result == 0 {
        // SAFETY: filled in.
        unsafe { note_pair(ends) };
    }
    result
}

/// See dup(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup(descriptor: c_int) -> c_int {
    // SAFETY: the caller's argument.
    let copy = unsafe { real::dup()(descriptor) };
    if copy >= 0 {
        descriptors::duplicated(descriptor, copy);
    }
    copy
}

/// See dup2(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup2(descriptor: c_int, onto: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    let copy = unsafe { real::dup2()(descriptor, onto) };
    if copy >= 0 {
        descriptors::duplicated(descriptor, copy);
    }
    copy
}

/// See dup3(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup3(descriptor: c_int, onto: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    let copy = unsafe { real::dup3()(descriptor, onto, flags) };
    if copy >= 0 {
        descriptors::duplicated(descriptor, copy);
    }
    copy
}

/// Notes what fcntl duplicated.
fn after_fcntl(descriptor: c_int, command: c_int, result: c_int) -> c_int {
    let duplicates = command == libc::F_DUPFD || command == libc::F_DUPFD_CLOEXEC;
    if duplicates && result >= 0 {
        descriptors::duplicated(descriptor, result);
    }
    result
}

/// See fcntl(2), whose third argument, if it has one, is one word.
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl(descriptor: c_int, command: c_int, word: c_ulong) -> c_int {
    // SAFETY: the caller's arguments.
    let result = unsafe { real::fcntl()(descriptor, command, word) };
    after_fcntl(descriptor, command, result)
}

/// fcntl(2) under the name that it has for files of any size.
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl64(descriptor: c_int, command: c_int, word: c_ulong) -> c_int {
    // SAFETY: the caller's arguments.
    let result = unsafe { real::fcntl64()(descriptor, command, word) };
    after_fcntl(descriptor, command, result)
}

/// See close(2). The other side of a pipe sees its end.
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    if let Some(link) = descriptors::link(descriptor) {
        if shared::is_active() {
            thread_ledger::before_wake();
            link.act(true);
        }
        descriptors::closed(descriptor, link);
    }
    // SAFETY: the caller's argument.
    unsafe { real::close()(descriptor) }
}

hook! {
    /// See shutdown(2). The other side of a socket pair sees its end.
    fn shutdown(descriptor: c_int, how: c_int) -> c_int, call => {
        if let Some(link) = descriptors::link(descriptor) {
            thread_ledger::before_wake();
            link.act(true);
        }
        call()
    }
}

/// See epoll_ctl(2).
///
/// # Safety
/// As the real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_ctl(
    poll: c_int,
    operation: c_int,
    descriptor: c_int,
    event: *mut libc::epoll_event,
) -> c_int {
    if descriptors::link(descriptor).is_none() {
        // SAFETY: the caller's arguments.
        return unsafe { real::epoll_ctl()(poll, operation, descriptor, event) };
    }
    // SAFETY: the caller's arguments.
    let result = unsafe { real::epoll_ctl()(poll, operation, descriptor, event) };
    if result == 0 {
        if operation == libc::EPOLL_CTL_DEL {
            descriptors::unregistered(poll, descriptor);
        // SAFETY: valid, as the kernel has just read it.
        } else if let Some(event) = unsafe { event.as_ref() } {
            descriptors::registered(poll, descriptor, event.u64);
        }
    }
    result
}
