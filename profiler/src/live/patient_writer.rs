//! Writing to a terminal that may take nothing more (the user pressed Ctrl-S, or nobody reads the
//! other end): for as long as the view is on, and not for ever.

use std::fs::File;
use std::io::{ErrorKind, Result, Write};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};

/// Between two looks at whether to go on, ms.
const SLICE: u8 = 50;
/// How long what is written after the view's end is tried.
const AT_THE_END: Duration = Duration::from_millis(300);

/// The terminal, opened once more so that nobody else's writes become non-blocking.
pub(super) struct PatientWriter {
    file: File,
    stop: Arc<AtomicBool>,
    /// Since when the view is over.
    stopped: Option<Instant>,
}

impl PatientWriter {
    /// Writes until `stop` says that the view is over.
    pub fn new(terminal: &OwnedFd, stop: Arc<AtomicBool>) -> Result<PatientWriter> {
        let again = format!("/proc/self/fd/{}", terminal.as_raw_fd());
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
        let opened = File::options().write(true).custom_flags(flags).open(again);
        // A terminal of another user, after `su`, cannot be opened; it is written to as others do.
        let file = match opened {
            Ok(file) => file,
            Err(_) => terminal.try_clone()?.into(),
        };
        Ok(PatientWriter {
            file,
            stop,
            stopped: None,
        })
    }

    fn is_out_of_patience(&mut self) -> bool {
        // Pairs with the one that stops us.
        if self.stopped.is_none() && self.stop.load(Ordering::Acquire) {
            self.stopped = Some(Instant::now());
        }
        self.stopped
            .is_some_and(|since| since.elapsed() > AT_THE_END)
    }
}

impl Write for PatientWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        loop {
            match self.file.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.is_out_of_patience() {
                        return Err(ErrorKind::TimedOut.into());
                    }
                    let mut fds = [PollFd::new(self.file.as_fd(), PollFlags::POLLOUT)];
                    // Interrupted or not, the next write tells.
                    let _ = poll(&mut fds, SLICE);
                }
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::pty::openpty;
    use std::io::Read as _;

    #[test]
    fn a_terminal_that_nobody_reads_is_given_up_and_one_that_is_read_gets_everything() {
        let pair = openpty(None, None).unwrap();
        let stop = Arc::new(AtomicBool::new(true));
        let mut writer = PatientWriter::new(&pair.slave, Arc::clone(&stop)).unwrap();
        let full = writer.write_all(&[b'x'; 1 << 20]).unwrap_err();
        assert_eq!(full.kind(), ErrorKind::TimedOut);
        // Other descriptors of the terminal still block.
        let flags = nix::fcntl::fcntl(&pair.slave, nix::fcntl::FcntlArg::F_GETFL).unwrap();
        assert_eq!(flags & libc::O_NONBLOCK, 0);

        let pair = openpty(None, None).unwrap();
        stop.store(false, Ordering::Relaxed);
        let mut writer = PatientWriter::new(&pair.slave, stop).unwrap();
        let mut master = File::from(pair.master);
        let reader = std::thread::spawn(move || {
            let (mut buffer, mut left) = (vec![0; 1 << 16], 1_usize << 20);
            while left > 0 {
                left -= master.read(&mut buffer).unwrap();
            }
        });
        writer.write_all(&[b'x'; 1 << 20]).unwrap();
        reader.join().unwrap();
    }
}
