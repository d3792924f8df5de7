//! The terminal, taken over and given back: the alternate screen, no cursor, no echo. Keys keep their
//! meaning (Ctrl-C and Ctrl-Z reach the program too), and nothing is read.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};

use super::patient_writer::PatientWriter;
use crate::command_line::ColourChoice;
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use ratatui::layout::Rect;
use terminal_size::{Height, Width, terminal_size_of};

/// The alternate screen and no cursor (DEC private modes 1049 and 25), and back.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// What the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ability {
    pub colour: bool,
    pub unicode: bool,
}

/// Whether a terminal that took nothing more is still to be told to leave the alternate screen.
static OWED: AtomicBool = AtomicBool::new(false);

/// How to give back the terminal that is taken over now, for whoever has to.
static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

struct Taken {
    terminal: OwnedFd,
    modes: Option<Termios>,
}

/// A terminal to draw on: standard error's, else standard output's.
pub(super) fn terminal() -> Option<OwnedFd> {
    let (stderr, stdout) = (std::io::stderr(), std::io::stdout());
    let own = |stream: BorrowedFd<'_>| stream.try_clone_to_owned().ok();
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        None
    } else if stderr.is_terminal() {
        own(stderr.as_fd())
    } else if stdout.is_terminal() {
        own(stdout.as_fd())
    } else {
        None
    }
}

/// What writes to it.
pub(super) type Writer = Box<dyn std::io::Write>;

/// The terminal while it is taken over; given back when dropped, and when the process panics.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: OwnedFd,
    stop: Arc<AtomicBool>,
}

impl Screen {
    /// Takes it over until `stop`; what it does not take for a while then is given up.
    pub fn enter(terminal: OwnedFd, stop: &Arc<AtomicBool>) -> std::io::Result<Screen> {
        give_back_when_panicking();
        let modes = tcgetattr(&terminal).ok();
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(Taken {
            terminal: terminal.try_clone()?,
            modes: modes.clone(),
        });
        let screen = Screen {
            terminal,
            stop: Arc::clone(stop),
        };
        if let Some(mut modes) = modes {
            modes.local_flags.remove(LocalFlags::ECHO);
            // Typed characters would be in the way, no more.
            let _ = tcsetattr(&screen.terminal, SetArg::TCSANOW, &modes);
        }
        let mut writer = PatientWriter::new(&screen.terminal, Arc::clone(stop))?;
        writer.write_all(ENTER)?;
        Ok(screen)
    }

    /// Where to write.
    pub fn writer(&self) -> Writer {
        match PatientWriter::new(&self.terminal, Arc::clone(&self.stop)) {
            Ok(writer) => Box::new(std::io::BufWriter::new(writer)),
            Err(_) => Box::new(std::io::sink()),
        }
    }

    /// How large the terminal is now.
    pub fn area(&self) -> Rect {
        let (width, height) = match terminal_size_of(&self.terminal) {
            Some((Width(width), Height(height))) if width > 0 && height > 0 => (width, height),
            _ => (80, 24),
        };
        Rect::new(0, 0, width, height)
    }

    pub fn ability(&self) -> Ability {
        let style = crate::report_output::style(self.terminal.as_fd(), ColourChoice::Auto);
        Ability {
            colour: style.colour,
            unicode: style.braille,
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Restores the terminal that is taken over, if one is.
fn give_back() {
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(taken) = taken else { return };
    if let Some(modes) = &taken.modes {
        let _ = tcsetattr(&taken.terminal, SetArg::TCSANOW, modes);
    }
    let over = Arc::new(AtomicBool::new(true));
    let left = PatientWriter::new(&taken.terminal, over).and_then(|mut w| w.write_all(LEAVE));
    // Half of it is no harm: it is written once more.
    OWED.store(left.is_err(), Ordering::Relaxed);
}

/// Leaves a screen that could not be left at once, before anything else is printed on it. Waits for
/// the terminal as whatever is printed does.
pub(super) fn leave_if_owed() {
    if OWED.swap(false, Ordering::Relaxed)
        && let Some(terminal) = terminal()
    {
        let _ = File::from(terminal).write_all(LEAVE);
    }
}

/// What a panic says must be readable after it.
fn give_back_when_panicking() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::pty::openpty;
    use nix::unistd::read;

    #[test]
    fn a_panic_gives_the_terminal_back() {
        let pair = openpty(None, None).unwrap();
        let before = tcgetattr(&pair.slave).unwrap();
        let taken = pair.slave.try_clone().unwrap();
        let ended = std::panic::catch_unwind(move || {
            let screen = Screen::enter(taken, &Arc::new(AtomicBool::new(false))).unwrap();
            let during = tcgetattr(&screen.terminal).unwrap();
            assert!(!during.local_flags.contains(LocalFlags::ECHO));
            panic!("wanted by a test");
        });
        assert!(ended.is_err());
        assert_eq!(
            tcgetattr(&pair.slave).unwrap().local_flags,
            before.local_flags
        );
        let mut written = [0; 200];
        let count = read(&pair.master, &mut written).unwrap();
        assert_eq!(written[..count], [ENTER, LEAVE].concat());
    }
}
