//! What the program prints while the view is on: it goes to a terminal of its own (a pseudo-terminal,
//! so that the program writes what it would write to a terminal), is kept in a file without a name,
//! and is printed when the view is over. Streams that do not go to the terminal are left alone.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{IsTerminal as _, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::Context as _;
use coz_rs_plot::safe_text::one_line;
use nix::poll::{PollFd, PollFlags, poll};
use nix::pty::{Winsize, openpty};
use nix::sys::termios::{OutputFlags, SetArg, tcgetattr, tcsetattr};
use terminal_size::{Height, Width, terminal_size_of};

/// Lines of the program's output that the view shows.
const SHOWN: usize = 6;
/// Characters kept of one of them.
const WIDEST: usize = 400;

/// The last lines, safe to show.
#[derive(Debug, Default)]
pub(super) struct Tail {
    lines: VecDeque<String>,
    open: Vec<u8>,
}

impl Tail {
    pub fn lines(&self) -> Vec<String> {
        let open = (!self.open.is_empty()).then(|| readable(&self.open));
        self.lines.iter().cloned().chain(open).collect()
    }

    fn take(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                b'\n' => {
                    self.lines.push_back(readable(&self.open));
                    self.open.clear();
                    if self.lines.len() > SHOWN {
                        self.lines.pop_front();
                    }
                }
                // A program that draws a bar begins its line anew.
                b'\r' => {}
                _ => {
                    if self.open.len() < WIDEST {
                        self.open.push(byte);
                    }
                }
            }
        }
    }
}

/// A line without the sequences that colour it; what else a terminal would obey is escaped.
fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::new();
    let mut rest = &*text;
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let end = after.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c));
        rest = end.map_or("", |end| &after[end + 1..]);
    }
    plain.push_str(rest);
    one_line(&plain)
}

/// The program's terminal.
#[derive(Debug)]
pub(super) struct ProgramOutput {
    stdout: bool,
    stderr: bool,
    slave: OwnedFd,
    kept: File,
    tail: Arc<Mutex<Tail>>,
    stop: Arc<AtomicBool>,
    reader: JoinHandle<()>,
}

impl ProgramOutput {
    /// A terminal as large as ours, if the program's output would go to ours.
    pub fn open(terminal: &OwnedFd) -> anyhow::Result<Option<ProgramOutput>> {
        let (stdout, stderr) = (
            std::io::stdout().is_terminal(),
            std::io::stderr().is_terminal(),
        );
        if !stdout && !stderr {
            return Ok(None);
        }
        let size = terminal_size_of(terminal).map(|(Width(width), Height(height))| Winsize {
            ws_row: height,
            ws_col: width,
            ws_xpixel: 0,
            ws_ypixel: 0,
        });
        let pair = openpty(size.as_ref(), None).context("making a terminal for the program")?;
        // The terminal that it is printed on at last turns line feeds into what it needs.
        if let Ok(mut modes) = tcgetattr(&pair.slave) {
            modes.output_flags.remove(OutputFlags::OPOST);
            let _ = tcsetattr(&pair.slave, SetArg::TCSANOW, &modes);
        }
        for end in [&pair.master, &pair.slave] {
            // The program gets its end by dup2, which clears this.
            nix::fcntl::fcntl(
                end.as_fd(),
                nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC),
            )
            .context("making a terminal for the program")?;
        }
        let kept = nameless_file().context("making a file for the program's output")?;
        let tail = Arc::new(Mutex::new(Tail::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let reader = {
            let (tail, stop) = (Arc::clone(&tail), Arc::clone(&stop));
            let (master, kept) = (File::from(pair.master), kept.try_clone()?);
            std::thread::Builder::new()
                .name("coz-rs-output".to_owned())
                .spawn(move || keep(master, kept, &tail, &stop))
                .context("starting the thread that reads the program's output")?
        };
        Ok(Some(ProgramOutput {
            stdout,
            stderr,
            slave: pair.slave,
            kept,
            tail,
            stop,
            reader,
        }))
    }

    /// The program's streams, those that are ours to give.
    pub fn streams(&self) -> anyhow::Result<(Option<Stdio>, Option<Stdio>)> {
        let stream = |wanted: bool| -> anyhow::Result<Option<Stdio>> {
            let slave = || {
                self.slave
                    .try_clone()
                    .context("giving the program its terminal")
            };
            wanted.then(slave).transpose().map(|fd| fd.map(Stdio::from))
        };
        Ok((stream(self.stdout)?, stream(self.stderr)?))
    }

    pub fn tail(&self) -> Arc<Mutex<Tail>> {
        Arc::clone(&self.tail)
    }

    /// Prints all of it where it would have gone.
    pub fn print(mut self) {
        // Pairs with the reader's look at it.
        self.stop.store(true, Ordering::Release);
        let _ = self.reader.join();
        if self.kept.rewind().is_ok() {
            // A terminal that is gone is no reason to fail.
            if self.stdout {
                let _ = std::io::copy(&mut self.kept, &mut std::io::stdout().lock());
                let _ = std::io::stdout().flush();
            } else {
                let _ = std::io::copy(&mut self.kept, &mut std::io::stderr().lock());
            }
        }
    }
}

/// Keeps what the program writes, until it is told to stop and nothing more comes.
fn keep(mut master: File, mut kept: File, tail: &Mutex<Tail>, stop: &AtomicBool) {
    let mut buffer = [0; 16 << 10];
    loop {
        let mut fds = [PollFd::new(master.as_fd(), PollFlags::POLLIN)];
        let ready = poll(&mut fds, 50_u8).unwrap_or(0) > 0;
        let readable = fds[0]
            .revents()
            .is_some_and(|events| events.contains(PollFlags::POLLIN));
        if !ready || !readable {
            // Pairs with the one that stops us. All ends being closed is no end: the program may
            // be run again.
            if stop.load(Ordering::Acquire) {
                return;
            }
            if ready {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            continue;
        }
        let Ok(count @ 1..) = master.read(&mut buffer) else {
            continue;
        };
        // A full disk must not stop the program.
        let _ = kept.write_all(&buffer[..count]);
        tail.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(&buffer[..count]);
    }
}

/// A file that is gone when we are.
fn nameless_file() -> std::io::Result<File> {
    let on_disk = File::options()
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_TMPFILE)
        .open(std::env::temp_dir());
    on_disk.or_else(|_| {
        let flags = nix::sys::memfd::MFdFlags::MFD_CLOEXEC;
        let fd = nix::sys::memfd::memfd_create(c"coz-rs-output", flags)?;
        Ok(File::from(fd))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_readable_and_harmless() {
        let mut tail = Tail::default();
        for line in 0..9 {
            tail.take(format!("line {line}\r\n").as_bytes());
        }
        tail.take(b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07 \xff");
        let lines = tail.lines();
        assert_eq!((lines.len(), lines[0].as_str()), (SHOWN + 1, "line 3"));
        assert_eq!(lines[SHOWN], "red \\u{1b}]0;title\\u{7} \u{fffd}");
        tail.take(&[b'x'; 5000]);
        assert!(tail.lines()[SHOWN].chars().count() <= WIDEST);
    }
}
