//! Reading and writing eventfds, pipes and socket pairs of this process: see `descriptors`.
//!
//! Either side may wait for the other: a reader for data, a writer for room. So each pays first,
//! stamps its side, and is excused if the other side's stamp is younger than its own start.

use core::ffi::{c_int, c_void};

use super::super::descriptors;
use super::super::thread_ledger::{after_block, after_outside, before_block};
use super::hook;

type Vector = *const libc::iovec;

#[inline]
fn transfer(descriptor: c_int, writes: bool, call: impl FnOnce() -> isize) -> isize {
    let Some(link) = descriptors::link(descriptor) else {
        let result = call();
        after_outside();
        return result;
    };
    let start = descriptors::clock();
    let wait = before_block();
    link.act(writes);
    let result = call();
    let woken = || result >= 0 && link.acted_since(start, writes) && link.still_is(descriptor);
    after_block(wait, woken());
    result
}

hook! {
    /// See read(2).
    fn read(descriptor: c_int, to: *mut c_void, count: usize) -> isize,
    call => transfer(descriptor, false, call)
}

hook! {
    /// read(2) as called from code that was compiled with _FORTIFY_SOURCE.
    fn __read_chk(descriptor: c_int, to: *mut c_void, count: usize, room: usize) -> isize,
    call => transfer(descriptor, false, call)
}

hook! {
    /// See readv(2).
    fn readv(descriptor: c_int, parts: Vector, count: c_int) -> isize,
    call => transfer(descriptor, false, call)
}

hook! {
    /// See recv(2).
    fn recv(descriptor: c_int, to: *mut c_void, count: usize, flags: c_int) -> isize,
    call => transfer(descriptor, false, call)
}

hook! {
    /// recv(2) as called from code that was compiled with _FORTIFY_SOURCE.
    fn __recv_chk(
        descriptor: c_int, to: *mut c_void, count: usize, room: usize, flags: c_int
    ) -> isize,
    call => transfer(descriptor, false, call)
}

hook! {
    /// See recvfrom(2).
    fn recvfrom(
        descriptor: c_int, to: *mut c_void, count: usize, flags: c_int,
        address: *mut libc::sockaddr, size: *mut libc::socklen_t
    ) -> isize,
    call => transfer(descriptor, false, call)
}

hook! {
    /// See recvmsg(2).
    fn recvmsg(descriptor: c_int, message: *mut libc::msghdr, flags: c_int) -> isize,
    call => transfer(descriptor, false, call)
}

hook! {
    /// See eventfd_read(3).
    fn eventfd_read(descriptor: c_int, value: *mut u64) -> c_int,
    call => transfer(descriptor, false, || call() as isize) as c_int
}

hook! {
    /// See write(2).
    fn write(descriptor: c_int, from: *const c_void, count: usize) -> isize,
    call => transfer(descriptor, true, call)
}

hook! {
    /// See writev(2).
    fn writev(descriptor: c_int, parts: Vector, count: c_int) -> isize,
    call => transfer(descriptor, true, call)
}

hook! {
    /// See send(2).
    fn send(descriptor: c_int, from: *const c_void, count: usize, flags: c_int) -> isize,
    call => transfer(descriptor, true, call)
}

hook! {
    /// See sendto(2).
    fn sendto(
        descriptor: c_int, from: *const c_void, count: usize, flags: c_int,
        address: *const libc::sockaddr, size: libc::socklen_t
    ) -> isize,
    call => transfer(descriptor, true, call)
}

hook! {
    /// See sendmsg(2).
    fn sendmsg(descriptor: c_int, message: *const libc::msghdr, flags: c_int) -> isize,
    call => transfer(descriptor, true, call)
}

hook! {
    /// See eventfd_write(3).
    fn eventfd_write(descriptor: c_int, value: u64) -> c_int,
    call => transfer(descriptor, true, || call() as isize) as c_int
}
