//! The handshake with the controller, from connecting to giving the perf event away.
//!
//! Runs once, at start-up, and never waits longer than [`PATIENCE`] seconds in one call.

use core::ffi::CStr;

use super::syscalls::close;
use crate::handshake::{Hello, MAGIC, Ready, Welcome};
use crate::layout::{self, Region};

/// Seconds that one send or receive may take.
const PATIENCE: i64 = 2;

/// Room for one descriptor in a control message (cmsg(3)): header and one int, padded.
#[repr(C, align(8))]
struct Control([u8; 24]);

/// A conversation under way.
pub struct Greeting {
    socket: i32,
    /// The controller's answer.
    pub welcome: Welcome,
    /// The mapped region.
    pub region: *mut Region,
}

/// Connects, says hello, and maps the region that comes back.
pub fn greet(path: &CStr) -> Option<Greeting> {
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: no pointer involved.
    let socket = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    if socket < 0 {
        return None;
    }
    let greeting = talk(socket, path);
    if greeting.is_none() {
        close(socket);
    }
    greeting
}

fn talk(socket: i32, path: &CStr) -> Option<Greeting> {
    let patience = libc::timeval {
        tv_sec: PATIENCE,
        tv_usec: 0,
    };
    for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
        let size = size_of_val(&patience) as libc::socklen_t;
        let value = (&raw const patience).cast();
        // SAFETY: the value is a timeval of that size.
        unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, option, value, size) };
    }
    // SAFETY: all-zero is a valid sockaddr_un.
    let mut address: libc::sockaddr_un = unsafe { core::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = path.to_bytes();
    if bytes.len() >= address.sun_path.len() {
        return None;
    }
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: a valid address of that size.
    if unsafe { libc::connect(socket, (&raw const address).cast(), size) } != 0 {
        return None;
    }
    let hello = Hello {
        magic: MAGIC,
        region_size: size_of::<Region>() as u64,
    };
    let size = size_of::<Hello>();
    // SAFETY: `hello` is plain bytes without padding.
    let sent = unsafe { libc::send(socket, (&raw const hello).cast(), size, libc::MSG_NOSIGNAL) };
    if sent != size as isize {
        return None;
    }
    let (welcome, memory) = receive(socket)?;
    let region = map(memory);
    close(memory);
    Some(Greeting {
        socket,
        welcome,
        region: region?,
    })
}

fn receive(socket: i32) -> Option<(Welcome, i32)> {
    let mut welcome = Welcome {
        magic: 0,
        period: 0,
        sampler: 0,
        fall_back: 0,
        exclude_kernel: 0,
        no_follow: 0,
    };
    let mut control = Control([0; 24]);
    let mut part = libc::iovec {
        iov_base: (&raw mut welcome).cast(),
        iov_len: size_of::<Welcome>(),
    };
    let mut message = message(&mut part, &mut control);
    // SAFETY: the message's pointers are valid for their lengths.
    let got = unsafe { libc::recvmsg(socket, &mut message, libc::MSG_CMSG_CLOEXEC) };
    if got != size_of::<Welcome>() as isize || welcome.magic != MAGIC {
        return None;
    }
    // SAFETY: recvmsg filled the message in.
    let header = unsafe { libc::CMSG_FIRSTHDR(&message) };
    // SAFETY: null or inside the control buffer.
    let header = unsafe { header.as_ref() }?;
    if header.cmsg_level != libc::SOL_SOCKET || header.cmsg_type != libc::SCM_RIGHTS {
        return None;
    }
    // SAFETY: a SCM_RIGHTS message carries at least one int.
    let data = unsafe { libc::CMSG_DATA(header) };
    // SAFETY: as above.
    let memory = unsafe { data.cast::<i32>().read_unaligned() };
    Some((welcome, memory))
}

fn message(part: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: all-zero is a valid msghdr.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len();
    message
}

fn map(memory: i32) -> Option<*mut Region> {
    // SAFETY: all-zero is a valid stat to be filled in.
    let mut status: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: a valid place for the status.
    if unsafe { libc::fstat(memory, &mut status) } != 0
        || status.st_size as u64 != size_of::<Region>() as u64
    {
        return None;
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping where the kernel likes; the file is sealed against shrinking.
    let address = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            size_of::<Region>(),
            protection,
            libc::MAP_SHARED | libc::MAP_NORESERVE,
            memory,
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return None;
    }
    let region = address.cast::<Region>();
    // SAFETY: mapped with the region's size, zero-filled or written by the controller.
    let header = unsafe { &(*region).header };
    let fits = header.magic.load(core::sync::atomic::Ordering::Relaxed) == layout::MAGIC;
    if !fits {
        // SAFETY: our own mapping, of which no reference is left.
        unsafe { libc::munmap(address, size_of::<Region>()) };
        return None;
    }
    Some(region)
}

impl Greeting {
    /// Hangs up.
    pub fn give_up(self) {
        close(self.socket);
    }

    /// Tells the controller which sampler runs, gives it the event, and hangs up.
    pub fn finish(self, ready: Ready, event: Option<i32>) {
        let mut control = Control([0; 24]);
        let mut ready = ready;
        let mut part = libc::iovec {
            iov_base: (&raw mut ready).cast(),
            iov_len: size_of::<Ready>(),
        };
        let mut message = message(&mut part, &mut control);
        if let Some(event) = event {
            // SAFETY: the control buffer has room for one header.
            let header = unsafe { libc::CMSG_FIRSTHDR(&message) };
            // SAFETY: arithmetic only.
            let length = unsafe { libc::CMSG_LEN(4) } as usize;
            // SAFETY: the header is inside the control buffer.
            unsafe {
                header.write(libc::cmsghdr {
                    cmsg_len: length,
                    cmsg_level: libc::SOL_SOCKET,
                    cmsg_type: libc::SCM_RIGHTS,
                });
            }
            // SAFETY: the header is inside the control buffer.
            let data = unsafe { libc::CMSG_DATA(header) };
            // SAFETY: the data is inside the control buffer (CMSG_SPACE of one int is 24).
            unsafe { data.cast::<i32>().write_unaligned(event) };
        } else {
            message.msg_control = core::ptr::null_mut();
            message.msg_controllen = 0;
        }
        // SAFETY: the message's pointers are valid for their lengths.
        unsafe { libc::sendmsg(self.socket, &message, libc::MSG_NOSIGNAL) };
        if let Some(event) = event {
            close(event);
        }
        close(self.socket);
    }
}
