//! Signals sent to the controller: it outlives them, to finish the profile.
//!
//! The terminal sends SIGINT, SIGQUIT and SIGHUP to the program too, as both are in one process
//! group; only a signal that a process sent to the controller alone is passed on.

use std::os::fd::{AsFd, BorrowedFd};

use anyhow::Context as _;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Signals that would end the controller.
const ENDING: [Signal; 4] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];

/// The signals held back from the controller, readable one by one.
#[derive(Debug)]
pub struct Signals {
    queue: SignalFd,
    inherited: SigSet,
}

/// One signal that arrived.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// Which.
    pub signal: Signal,
    /// Sent by a process (kill(2) and its kin), not by the terminal or the kernel.
    pub by_process: bool,
}

impl Signals {
    /// Holds them back from now on. To be called before any thread is made.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn hold() -> anyhow::Result<Signals> {
        let set: SigSet = ENDING.into_iter().collect();
        let mut inherited = SigSet::empty();
        nix::sys::signal::pthread_sigmask(
            nix::sys::signal::SigmaskHow::SIG_BLOCK,
            Some(&set),
            Some(&mut inherited),
        )
        .context("holding signals back")?;
        let queue = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .context("making a descriptor for signals")?;
        Ok(Signals { queue, inherited })
    }

    /// Holds back the terminal's wish to stop us, too (Ctrl-Z): whoever has taken the terminal over
    /// has to give it back first. To be called before any thread is made that draws.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn hold_stops(&mut self) -> anyhow::Result<()> {
        let mut set: SigSet = ENDING.into_iter().collect();
        set.add(Signal::SIGTSTP);
        nix::sys::signal::pthread_sigmask(
            nix::sys::signal::SigmaskHow::SIG_BLOCK,
            Some(&set),
            None,
        )
        .context("holding signals back")?;
        self.queue
            .set_mask(&set)
            .context("making a descriptor for signals")
    }

    /// The signal mask to give to the program: the one that we were given.
    #[must_use]
    pub fn inherited(&self) -> SigSet {
        self.inherited
    }

    /// The next signal, if one has arrived.
    pub fn take(&mut self) -> Option<Arrived> {
        let info = self.queue.read_signal().ok().flatten()?;
        let signal = Signal::try_from(i32::try_from(info.ssi_signo).ok()?).ok()?;
        // sigaction(2): codes of signals sent by a process are not positive.
        let by_process = info.ssi_code <= 0;
        Some(Arrived { signal, by_process })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}
