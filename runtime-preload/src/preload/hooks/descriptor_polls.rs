//! Waiting for one of several descriptors: excused if all that became ready did so because a thread
//! of this process made it, see `descriptors`.

use core::ffi::c_int;

use super::super::descriptors::{self, Kind};
use super::super::real_functions::Time;
use super::super::thread_ledger::{after_block, after_outside, before_block};
use super::hook;

/// Descriptors that a fixed set of select(2) has room for; larger ones are only forwarded.
const SET_SIZE: c_int = 1024;

/// Waits for what nobody in this process makes ready, or for a time.
#[inline]
fn outside(call: impl FnOnce() -> c_int) -> c_int {
    let result = call();
    after_outside();
    result
}

/// Waits, and asks `woken` for what ended it, given when it began.
#[inline]
fn waiting(call: impl FnOnce() -> c_int, woken: impl FnOnce(u32, usize) -> bool) -> c_int {
    let start = descriptors::clock();
    let wait = before_block();
    let result = call();
    let woken = usize::try_from(result).is_ok_and(|count| count > 0 && woken(start, count));
    after_block(wait, woken);
    result
}

/// Whether a descriptor is ready because a thread of this process made it so since `start`.
fn made_ready(descriptor: c_int, writes: bool, start: u32) -> bool {
    descriptors::link(descriptor)
        .is_some_and(|link| link.acted_since(start, writes) && link.still_is(descriptor))
}

/// The caller's list for poll(2).
///
/// # Safety
/// As the real function demands.
unsafe fn list<'a>(list: *const libc::pollfd, count: libc::nfds_t) -> &'a [libc::pollfd] {
    if list.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise. The kernel writes `revents` meanwhile, which are read only
    // after the call, through a slice made anew.
    unsafe { core::slice::from_raw_parts(list, count as usize) }
}

/// # Safety
/// As poll(2).
unsafe fn poll_list(
    fds: *const libc::pollfd,
    count: libc::nfds_t,
    call: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's arguments.
    let asked = unsafe { list(fds, count) };
    if !asked
        .iter()
        .any(|asked| descriptors::link(asked.fd).is_some())
    {
        return outside(call);
    }
    waiting(call, |start, _| {
        // SAFETY: the caller's arguments.
        let answered = unsafe { list(fds, count) };
        let mut ready = answered.iter().filter(|answered| answered.revents != 0);
        ready.all(|ready| made_ready(ready.fd, only_room(i32::from(ready.revents)), start))
    })
}

/// Whether events (of poll or epoll, whose bits are the same) say no more than that there is room.
fn only_room(events: c_int) -> bool {
    events & c_int::from(libc::POLLOUT) != 0 && events & c_int::from(libc::POLLIN) == 0
}

hook! {
    /// See poll(2).
    fn poll(fds: *mut libc::pollfd, count: libc::nfds_t, time: c_int) -> c_int, call => {
        if time == 0 {
            return call();
        }
        // SAFETY: the caller's arguments.
        unsafe { poll_list(fds, count, call) }
    }
}

hook! {
    /// poll(2) as called from code that was compiled with _FORTIFY_SOURCE.
    fn __poll_chk(fds: *mut libc::pollfd, count: libc::nfds_t, time: c_int, room: usize) -> c_int,
    call => {
        if time == 0 {
            return call();
        }
        // SAFETY: the caller's arguments.
        unsafe { poll_list(fds, count, call) }
    }
}

hook! {
    /// See ppoll(2).
    fn ppoll(
        fds: *mut libc::pollfd, count: libc::nfds_t, time: Time, mask: *const libc::sigset_t
    ) -> c_int,
    [mask] call => {
        // SAFETY: the caller's arguments.
        unsafe { poll_list(fds, count, call) }
    }
}

hook! {
    /// ppoll(2) as called from code that was compiled with _FORTIFY_SOURCE.
    fn __ppoll_chk(
        fds: *mut libc::pollfd, count: libc::nfds_t, time: Time, mask: *const libc::sigset_t,
        room: usize
    ) -> c_int,
    [mask] call => {
        // SAFETY: the caller's arguments.
        unsafe { poll_list(fds, count, call) }
    }
}

/// The descriptors below `count` in a set of select(2).
///
/// # Safety
/// `set` is null or has room for `count` descriptors.
unsafe fn members(set: *const libc::fd_set, count: c_int) -> impl Iterator<Item = c_int> {
    let words = set.cast::<u64>();
    (0..count).filter(move |descriptor| {
        if words.is_null() {
            return false;
        }
        let word = words.wrapping_add(*descriptor as usize / 64);
        // SAFETY: inside the set, the caller's promise.
        let word = unsafe { word.read() };
        word >> (descriptor % 64) & 1 != 0
    })
}

/// The sets of a select(2): to read, to write, with an exception.
struct Sets([*mut libc::fd_set; 3]);

/// # Safety
/// As select(2).
unsafe fn select_sets(sets: Sets, count: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let [read, write, exception] = sets.0;
    // SAFETY: the caller's arguments, as below.
    let asked = || unsafe { members(read, count) };
    // SAFETY: as above.
    let asked_to_write = || unsafe { members(write, count) };
    let known = |descriptor| descriptors::link(descriptor).is_some();
    if !(0..=SET_SIZE).contains(&count) || !(asked().any(known) || asked_to_write().any(known)) {
        return outside(call);
    }
    waiting(call, |start, _| {
        // SAFETY: as above.
        let none = unsafe { members(exception, count) }.next().is_none();
        none && asked().all(|descriptor| made_ready(descriptor, false, start))
            && asked_to_write().all(|descriptor| made_ready(descriptor, true, start))
    })
}

hook! {
    /// See select(2).
    fn select(
        count: c_int, read: *mut libc::fd_set, write: *mut libc::fd_set,
        exception: *mut libc::fd_set, time: *mut libc::timeval
    ) -> c_int,
    call => {
        // SAFETY: the caller's arguments.
        unsafe { select_sets(Sets([read, write, exception]), count, call) }
    }
}

hook! {
    /// See pselect(2).
    fn pselect(
        count: c_int, read: *mut libc::fd_set, write: *mut libc::fd_set,
        exception: *mut libc::fd_set, time: Time, mask: *const libc::sigset_t
    ) -> c_int,
    [mask] call => {
        // SAFETY: the caller's arguments.
        unsafe { select_sets(Sets([read, write, exception]), count, call) }
    }
}

/// # Safety
/// As epoll_wait(2).
unsafe fn wait_for_events(
    poll: c_int,
    events: *const libc::epoll_event,
    call: impl FnOnce() -> c_int,
) -> c_int {
    if descriptors::link(poll).is_none_or(|link| link.kind() != Kind::Poll) {
        return outside(call);
    }
    waiting(call, |start, count| {
        (0..count).all(|index| {
            let place = events.wrapping_add(index);
            // SAFETY: the kernel has filled in so many; the structure is packed.
            let event = unsafe { place.read_unaligned() };
            let word = event.u64;
            let writes = only_room(event.events as c_int);
            descriptors::watched(poll, word).is_some_and(|(descriptor, link)| {
                link.acted_since(start, writes) && link.still_is(descriptor)
            })
        })
    })
}

hook! {
    /// See epoll_wait(2).
    fn epoll_wait(
        poll: c_int, events: *mut libc::epoll_event, count: c_int, time: c_int
    ) -> c_int,
    call => {
        if time == 0 {
            return call();
        }
        // SAFETY: the caller's arguments.
        unsafe { wait_for_events(poll, events, call) }
    }
}

hook! {
    /// See epoll_pwait(2).
    fn epoll_pwait(
        poll: c_int, events: *mut libc::epoll_event, count: c_int, time: c_int,
        mask: *const libc::sigset_t
    ) -> c_int,
    [mask] call => {
        if time == 0 {
            return call();
        }
        // SAFETY: the caller's arguments.
        unsafe { wait_for_events(poll, events, call) }
    }
}

hook! {
    /// See epoll_pwait2(2).
    fn epoll_pwait2(
        poll: c_int, events: *mut libc::epoll_event, count: c_int, time: Time,
        mask: *const libc::sigset_t
    ) -> c_int,
    [mask] call => {
        // SAFETY: the caller's arguments.
        unsafe { wait_for_events(poll, events, call) }
    }
}
