//! Answers processes that load the runtime: each gets a region and hands over its perf event.
//!
//! A thread of its own, so that no program waits for our thinking before its `main`. Who the peer
//! is comes from the socket, never from what it says.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use coz_rs_runtime_preload::handshake::{Hello, MAGIC, Ready, Welcome, sampler};
use coz_rs_runtime_preload::layout::Region;
use nix::cmsg_space;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType,
    UnixAddr, UnixCredentials, bind, getsockopt, listen, recvmsg, sendmsg, setsockopt, socket,
    sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

use super::shared_region::SharedRegion;
use super::target::{Sampler, Target};
use crate::launch::program::pidfd;
use crate::launch::tracer::tracer_of;
use crate::points::placer::Placer;

/// What every target is told.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Sample period, ns of CPU time.
    pub period: u64,
    /// The sampler wanted.
    pub sampler: Sampler,
    /// Whether the timer may stand in for a refused perf event.
    pub fall_back: bool,
    /// Whether samples leave kernel mode out.
    pub exclude_kernel: bool,
    /// Whether processes started by the program are left alone.
    pub no_follow: bool,
}

/// The server's end that the rest of the controller holds.
#[derive(Debug)]
pub struct GreetingServer {
    path: PathBuf,
    arrivals: Receiver<Target>,
    bell: Arc<EventFd>,
    /// Greetings under way.
    greeting: Arc<AtomicUsize>,
}

impl GreetingServer {
    /// Listens in `directory`, which only we may enter.
    ///
    /// # Errors
    /// If the socket cannot be made there.
    pub fn start(
        directory: &Path,
        terms: Terms,
        placer: Option<Arc<Mutex<Placer>>>,
    ) -> anyhow::Result<GreetingServer> {
        let path = directory.join("socket");
        let listener = socket(
            AddressFamily::Unix,
            SockType::SeqPacket,
            SockFlag::SOCK_CLOEXEC,
            None,
        )
        .context("making a socket")?;
        let address = UnixAddr::new(&path)
            .with_context(|| format!("{} is too long for a socket", path.display()))?;
        bind(listener.as_raw_fd(), &address)
            .with_context(|| format!("making the socket {}", path.display()))?;
        listen(&listener, Backlog::new(128)?).context("listening")?;
        let bell = Arc::new(
            EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
                .context("making an event descriptor")?,
        );
        let (sender, arrivals) = channel();
        let ringer = Arc::clone(&bell);
        let greeting = Arc::new(AtomicUsize::new(0));
        let under_way = Arc::clone(&greeting);
        std::thread::Builder::new()
            .name("coz-rs greeting".to_owned())
            .spawn(move || {
                serve(
                    &listener,
                    (terms, placer.as_deref()),
                    &sender,
                    &ringer,
                    &under_way,
                )
            })
            .context("starting a thread")?;
        Ok(GreetingServer {
            path,
            arrivals,
            bell,
            greeting,
        })
    }

    /// Where targets connect.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a target is being greeted: one whose process has ended may still come.
    #[must_use]
    pub fn is_greeting(&self) -> bool {
        // Acquire: partner of the Release when a greeting is over and its target sent.
        self.greeting.load(Acquire) > 0
    }

    /// The targets that have come since the last time.
    pub fn arrived(&mut self) -> Vec<Target> {
        // Fails only when nobody has rung.
        let _ = self.bell.read();
        self.arrivals.try_iter().collect()
    }
}

impl AsFd for GreetingServer {
    /// Readable once a target has arrived.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// What every target is told, and the points to put into it.
type Offer<'a> = (Terms, Option<&'a Mutex<Placer>>);

fn serve(
    listener: &OwnedFd,
    offer: Offer<'_>,
    arrivals: &Sender<Target>,
    bell: &EventFd,
    greeting: &AtomicUsize,
) {
    loop {
        // SAFETY: no pointer but nulls, which mean that the peer's address is not wanted.
        let fd = unsafe {
            libc::accept4(
                listener.as_raw_fd(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                libc::SOCK_CLOEXEC,
            )
        };
        if fd < 0 {
            let error = std::io::Error::last_os_error();
            log::debug!("accepting a target: {error}");
            if error.raw_os_error() == Some(libc::EBADF) {
                return;
            }
            // Out of descriptors perhaps: do not spin.
            std::thread::sleep(std::time::Duration::from_millis(10));
            continue;
        }
        // SAFETY: a new descriptor that nobody else owns.
        let peer = unsafe { OwnedFd::from_raw_fd(fd) };
        greeting.fetch_add(1, Relaxed);
        match greet(&peer, offer) {
            Ok(target) => {
                if arrivals.send(target).is_err() {
                    return;
                }
                // The counter of an eventfd overflows at 2^64 - 1.
                let _ = bell.write(1);
            }
            Err(error) => log::debug!("a target did not get ready: {error:#}"),
        }
        // Release: partner of the Acquire in `is_greeting`.
        greeting.fetch_sub(1, Release);
    }
}

/// Seconds that one message of a target may take; it can die, or be stopped by a debugger.
const PATIENCE: i64 = 1;

fn greet(peer: &OwnedFd, (terms, placer): Offer<'_>) -> anyhow::Result<Target> {
    let credentials: UnixCredentials =
        getsockopt(peer, sockopt::PeerCredentials).context("asking who it is")?;
    anyhow::ensure!(
        credentials.uid() == nix::unistd::geteuid().as_raw(),
        "it runs as user {}",
        credentials.uid()
    );
    let pid = u32::try_from(credentials.pid()).context("its process id")?;
    let end = pidfd(pid)?;
    setsockopt(peer, sockopt::ReceiveTimeout, &TimeVal::seconds(PATIENCE))?;
    setsockopt(peer, sockopt::SendTimeout, &TimeVal::seconds(PATIENCE))?;
    let (hello, _) = receive::<{ size_of::<Hello>() }>(peer)?;
    let size = u64_at(&hello, 8);
    anyhow::ensure!(u64_at(&hello, 0) == MAGIC, "it speaks another version");
    anyhow::ensure!(
        size == size_of::<Region>() as u64,
        "its region has {size} bytes"
    );
    let (mut region, memory) = SharedRegion::create(terms.period)?;
    if let Some(placer) = placer {
        let mut placer = placer.lock().unwrap_or_else(PoisonError::into_inner);
        placer.arm(pid, &mut region);
    }
    let is_traced = tracer_of(pid).is_some();
    send(peer, &welcome(terms, is_traced), memory.as_raw_fd())?;
    drop(memory);
    let (ready, event) = receive::<{ size_of::<Ready>() }>(peer)?;
    anyhow::ensure!(u64_at(&ready, 0) == MAGIC, "it speaks another version");
    region.find_counted();
    if let Some(placer) = placer {
        let mut placer = placer.lock().unwrap_or_else(PoisonError::into_inner);
        placer.settle(&region);
    }
    let sampler = match u32_at(&ready, 8) {
        sampler::SIGTRAP => Sampler::Sigtrap,
        sampler::TIMER => Sampler::Timer,
        _ => Sampler::None,
    };
    let perf_errno = u32_at(&ready, 12).cast_signed();
    Ok(Target::new(pid, end, region, sampler, perf_errno, event))
}

/// What a target is told. One that a debugger or strace traces is sampled by timer: its tracer
/// would stop at every SIGTRAP.
fn welcome(terms: Terms, is_traced: bool) -> [u8; size_of::<Welcome>()] {
    let wanted = match terms.sampler {
        Sampler::Sigtrap | Sampler::Timer if is_traced => sampler::QUIET_TIMER,
        Sampler::Sigtrap => sampler::SIGTRAP,
        Sampler::Timer => sampler::TIMER,
        Sampler::None => sampler::NONE,
    };
    let mut bytes = [0; size_of::<Welcome>()];
    bytes[0..8].copy_from_slice(&MAGIC.to_ne_bytes());
    bytes[8..16].copy_from_slice(&terms.period.to_ne_bytes());
    let words = [
        wanted,
        u32::from(terms.fall_back),
        u32::from(terms.exclude_kernel),
        u32::from(terms.no_follow),
    ];
    for (place, word) in bytes[16..].chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

// The bytes above and below are these fields in this order, without padding.
const _: () = {
    assert!(size_of::<Welcome>() == 32 && std::mem::offset_of!(Welcome, period) == 8);
    assert!(std::mem::offset_of!(Welcome, sampler) == 16);
    assert!(std::mem::offset_of!(Welcome, fall_back) == 20);
    assert!(std::mem::offset_of!(Welcome, exclude_kernel) == 24);
    assert!(std::mem::offset_of!(Welcome, no_follow) == 28);
    assert!(size_of::<Hello>() == 16 && std::mem::offset_of!(Hello, region_size) == 8);
    assert!(std::mem::offset_of!(Ready, sampler) == 8);
    assert!(std::mem::offset_of!(Ready, perf_errno) == 12);
};

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(word)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(word)
}

fn send(peer: &OwnedFd, message: &[u8], descriptor: RawFd) -> anyhow::Result<()> {
    let rights = [descriptor];
    let control = [ControlMessage::ScmRights(&rights)];
    sendmsg::<UnixAddr>(
        peer.as_raw_fd(),
        &[IoSlice::new(message)],
        &control,
        MsgFlags::MSG_NOSIGNAL,
        None,
    )
    .context("welcoming it")?;
    Ok(())
}

fn receive<const SIZE: usize>(peer: &OwnedFd) -> anyhow::Result<([u8; SIZE], Option<OwnedFd>)> {
    let mut bytes = [0; SIZE];
    let mut space = cmsg_space!([RawFd; 4]);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let message = recvmsg::<UnixAddr>(
        peer.as_raw_fd(),
        &mut parts,
        Some(&mut space),
        MsgFlags::MSG_CMSG_CLOEXEC,
    )
    .context("hearing from it")?;
    let length = message.bytes;
    let mut descriptors = Vec::new();
    for control in message.cmsgs().context("reading its descriptors")? {
        if let ControlMessageOwned::ScmRights(sent) = control {
            for descriptor in sent {
                // SAFETY: the kernel has just installed this descriptor for us.
                descriptors.push(unsafe { OwnedFd::from_raw_fd(descriptor) });
            }
        }
    }
    anyhow::ensure!(length == SIZE, "it sent {length} bytes, not {SIZE}");
    Ok((bytes, descriptors.into_iter().next()))
}
