//! Whether a target's perf event is on. It is off while a debugger or strace is there: whoever
//! traces a process sees each of its signals first. And it is off while samples rest
//! ([`super::rest`]).
//!
//! A tracer would stop at every sample that comes by SIGTRAP. A process that is traced when it
//! greets is sampled by timer; where a tracer comes later the event is switched off until it goes.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

use crate::launch::tracer::tracer_of;

/// Time between two looks: a debugger that has come reads the program's symbols for longer, with
/// the program stopped, so that it mostly meets no sample.
const EVERY: Duration = Duration::from_millis(50);
/// `_IO('$', 0)` and `_IO('$', 1)` (perf_event_open(2)).
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;

/// What is known of a process's tracer.
#[derive(Debug, Default)]
pub(super) struct Tracing {
    looked: Option<Instant>,
    /// The event is switched off because of it.
    tracer: Option<u32>,
    /// The event is switched off because nobody wants samples.
    rests: bool,
}

impl Tracing {
    /// Whether the event is switched off.
    pub(super) fn is_traced(&self) -> bool {
        self.tracer.is_some()
    }

    /// Looks whether somebody traces the process whose samples come from `event`, and switches the
    /// event off or on; the tracer, when one has just come.
    pub(super) fn look(&mut self, pid: u32, event: &OwnedFd) -> Option<u32> {
        if self.looked.is_some_and(|looked| looked.elapsed() < EVERY) {
            return None;
        }
        self.looked = Some(Instant::now());
        let tracer = tracer_of(pid);
        if tracer.is_some() == self.tracer.is_some() {
            return None;
        }
        self.tracer = tracer;
        self.switch(event);
        tracer
    }

    /// Samples rest from now on, or are wanted again; `holds_back` says that the process may be about
    /// to call exec, which has switched the event off by itself.
    pub(super) fn rest(&mut self, rests: bool, event: &OwnedFd, holds_back: bool) {
        let stays_off = holds_back && !rests;
        if self.rests != rests && !stays_off {
            self.rests = rests;
            self.switch(event);
        }
    }

    /// Switches the event on, unless there is a reason for it to be off.
    pub(super) fn switch(&self, event: &OwnedFd) {
        let off = self.tracer.is_some() || self.rests;
        let request = if off { DISABLE } else { ENABLE };
        // SAFETY: no pointer involved; the descriptor is a perf event's or the call fails. It acts
        // on the events that threads have inherited, too.
        unsafe { libc::ioctl(event.as_raw_fd(), request, 0) };
    }
}
