//! Which descriptors join two threads of this process, and what was done to them when.
//!
//! A read, poll or epoll_wait ends either because a thread of this process wrote (then the waiter
//! is excused, as for a condition variable) or because something outside did (then it is not). The
//! kernel does not say which, so this file keeps book, for eventfds, pipes and socket pairs that
//! this process made; any other descriptor has no entry and is none of our business.
//!
//! - **Objects and sides.** An eventfd, a pipe or a socket pair is one object with two sides: what
//!   is done on one side wakes those who wait on the other. A pipe's and a socket pair's side is
//!   that of the descriptor; on an eventfd reading is side 0 and writing is side 1.
//! - **Acts.** Before a thread writes (reads, closes), it pays and stamps its side of the object
//!   with the next number of one clock. A waiter notes the clock before it waits: if what ended its
//!   wait has a younger stamp on the other side, a thread of this process woke it.
//! - **epoll** returns the program's own word and no descriptor, so epoll_ctl notes which word
//!   stands for which descriptor with an entry. A wait counts as ended by us only if every event
//!   that it returned does.
//! - **When unsure, no credit.** Another process has no part in this book (a fork's child writes
//!   into its own copy), descriptors that came over a socket have no entry, tables that are full
//!   lose entries; the waiter then pays. A descriptor's number may be in use for something else, closed
//!   behind our back: so before anybody is excused, fstat(2) must still show the object.
//!
//! Outside windows only making, duplicating and closing descriptors and epoll_ctl are recorded.
//! Every other hook is two loads and a jump then; inside a window it is one load more for a
//! descriptor without an entry.

use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use super::shared;
use super::syscalls::inode;
use super::thread_local::{ELSEWHERE, thread};

/// Descriptors with higher numbers have no entry.
const DESCRIPTORS: usize = 1 << 16;
/// Registrations of such descriptors with an epoll instance, all together.
const REGISTRATIONS: usize = 1024;

/// One descriptor.
struct Entry {
    /// See [`Link`]; 0: none.
    link: AtomicU64,
    /// As root of an object: when something was last done on each side.
    acts: [AtomicU32; 2],
}

static ENTRIES: [Entry; DESCRIPTORS] = [const {
    Entry {
        link: AtomicU64::new(0),
        acts: [AtomicU32::new(0), AtomicU32::new(0)],
    }
}; DESCRIPTORS];
/// Counts acts.
static CLOCK: AtomicU32 = AtomicU32::new(0);

/// What a descriptor belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A pipe's or a socket pair's end, which is this side of it.
    End(usize),
    /// An eventfd.
    Event,
    /// An epoll instance that watches some of the others.
    Poll,
}

/// A descriptor's entry: bits 0–1 the kind, bit 2 the side, 3–18 the root (the number of the
/// object's first descriptor), the upper half the low half of the inode's number.
#[derive(Clone, Copy)]
pub struct Link(u64);

impl Link {
    fn new(kind: Kind, root: usize, inode: u64) -> Link {
        let (code, side) = match kind {
            Kind::End(side) => (1, side as u64 & 1),
            Kind::Event => (2, 0),
            Kind::Poll => (3, 0),
        };
        Link(code | side << 2 | (root as u64 & 0xffff) << 3 | inode << 32)
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        match self.0 & 3 {
            1 => Kind::End((self.0 >> 2 & 1) as usize),
            2 => Kind::Event,
            _ => Kind::Poll,
        }
    }

    fn root(self) -> Option<&'static Entry> {
        ENTRIES.get((self.0 >> 3 & 0xffff) as usize)
    }

    /// The side that an operation on it is done on.
    fn side(self, writes: bool) -> usize {
        match self.kind() {
            Kind::End(side) => side,
            Kind::Event | Kind::Poll => usize::from(writes),
        }
    }

    /// Something is about to be done on it that may wake the other side.
    pub fn act(self, writes: bool) {
        if let Some(cell) = self
            .root()
            .and_then(|root| root.acts.get(self.side(writes)))
        {
            cell.store(CLOCK.fetch_add(1, Relaxed).wrapping_add(1), Relaxed);
        }
    }

    /// Whether something was done since `start` on the side that a waiter (who wants to write, or
    /// else to read) waits for.
    pub fn acted_since(self, start: u32, writes: bool) -> bool {
        let other = 1 - self.side(writes);
        self.root()
            .and_then(|root| root.acts.get(other))
            .is_some_and(|cell| cell.load(Relaxed).wrapping_sub(start).cast_signed() > 0)
    }

    /// Whether `descriptor` still is what this entry says.
    pub fn still_is(self, descriptor: i32) -> bool {
        inode(descriptor).is_some_and(|inode| inode << 32 == self.0 & 0xffff_ffff_0000_0000)
    }
}

/// The clock of acts.
pub fn clock() -> u32 {
    CLOCK.load(Relaxed)
}

fn entry(descriptor: i32) -> Option<&'static Entry> {
    ENTRIES.get(usize::try_from(descriptor).ok()?)
}

/// The entry of a descriptor, if it has one.
#[inline]
pub fn link(descriptor: i32) -> Option<Link> {
    let link = entry(descriptor)?.link.load(Relaxed);
    (link != 0).then_some(Link(link))
}

/// Whether the calling thread may write into this process's book: not the child of a vfork, which
/// has its parent's memory but not its descriptors. And not where profiling is off: the book needs
/// system calls, which a filter of the program's may forbid.
fn may_write() -> bool {
    thread().inside.load(Relaxed) < ELSEWHERE && !shared::is_off()
}

/// Notes a new object with these descriptors, in the order of their sides.
pub fn made(kind: fn(usize) -> Kind, descriptors: &[i32]) {
    let Some(root) = descriptors
        .first()
        .and_then(|first| usize::try_from(*first).ok())
    else {
        return;
    };
    if root >= DESCRIPTORS || !may_write() {
        return;
    }
    for (side, descriptor) in descriptors.iter().enumerate() {
        if let (Some(entry), Some(inode)) = (entry(*descriptor), inode(*descriptor)) {
            let link = Link::new(kind(side), root, inode);
            entry.link.store(link.0, Relaxed);
        }
    }
}

/// `copy` is a duplicate of `original`, and whatever it was before is closed.
pub fn duplicated(original: i32, copy: i32) {
    if let (Some(from), Some(to)) = (entry(original), entry(copy))
        && original != copy
        && may_write()
    {
        let link = from.link.load(Relaxed);
        if link | to.link.load(Relaxed) != 0 {
            to.link.store(link, Relaxed);
        }
    }
}

/// `descriptor` is about to be closed.
pub fn closed(descriptor: i32, link: Link) {
    let Some(entry) = entry(descriptor).filter(|_| may_write()) else {
        return;
    };
    entry.link.store(0, Relaxed);
    let poll = link.kind() == Kind::Poll;
    for slot in in_use() {
        let (key_poll, key_descriptor) = slot.pair();
        let key = if poll { key_poll } else { key_descriptor };
        if key == descriptor {
            slot.key.store(0, Relaxed);
        }
    }
}

/// One registration with an epoll instance.
pub struct Registration {
    /// The instance's descriptor plus 1 in the upper half, the watched one plus 1 in the lower
    /// half; 0: free.
    key: AtomicU64,
    /// The program's word for it.
    word: AtomicU64,
}

static TABLE: [Registration; REGISTRATIONS] = [const {
    Registration {
        key: AtomicU64::new(0),
        word: AtomicU64::new(0),
    }
}; REGISTRATIONS];
/// Registrations at and beyond this were never used.
static HIGH: AtomicU32 = AtomicU32::new(0);

impl Registration {
    fn pair(&self) -> (i32, i32) {
        // Acquire: partner of the Release in `registered`.
        let key = self.key.load(Acquire);
        ((key >> 32) as i32 - 1, key as u32 as i32 - 1)
    }
}

fn in_use() -> impl Iterator<Item = &'static Registration> {
    TABLE.iter().take(HIGH.load(Relaxed) as usize)
}

fn key(poll: i32, descriptor: i32) -> u64 {
    (poll as u64 + 1) << 32 | (descriptor as u64 + 1)
}

/// The epoll instance `poll` watches `descriptor` under `word` from now on.
pub fn registered(poll: i32, descriptor: i32, word: u64) {
    unregistered(poll, descriptor);
    let (Some(own), Some(watched)) = (entry(poll), link(descriptor)) else {
        return;
    };
    if watched.kind() == Kind::Poll || !may_write() {
        return;
    }
    for (index, slot) in TABLE.iter().enumerate() {
        let free = slot.key.load(Relaxed) == 0;
        // Taken by an impossible pair first, so that nobody reads the old word under the new key.
        if free
            && slot
                .key
                .compare_exchange(0, u64::MAX, Relaxed, Relaxed)
                .is_ok()
        {
            slot.word.store(word, Relaxed);
            // Release: partner of the Acquire in `pair`.
            slot.key.store(key(poll, descriptor), Release);
            HIGH.fetch_max(index as u32 + 1, Relaxed);
            let link = Link::new(Kind::Poll, 0, inode(poll).unwrap_or(0));
            own.link.store(link.0, Relaxed);
            return;
        }
    }
}

/// It watches it no more, or under another word.
pub fn unregistered(poll: i32, descriptor: i32) {
    let key = key(poll, descriptor);
    for slot in in_use() {
        let _ = slot.key.compare_exchange(key, 0, Relaxed, Relaxed);
    }
}

/// The descriptor that the epoll instance `poll` watches under `word`, if it has an entry.
pub fn watched(poll: i32, word: u64) -> Option<(i32, Link)> {
    let slot = in_use().find(|slot| {
        let (key_poll, _) = slot.pair();
        key_poll == poll && slot.word.load(Relaxed) == word
    })?;
    let (_, descriptor) = slot.pair();
    Some((descriptor, link(descriptor)?))
}
