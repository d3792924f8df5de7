//! What this process was given at its start and Rust's start-up changes: the program gets it as it
//! was.
//!
//! Before `main`, std makes SIGPIPE ignored and puts /dev/null in the place of standard streams
//! that are closed; a command that it spawns gets SIGPIPE by default. A program that was started
//! with SIGPIPE ignored, or without a standard input, must find just that.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Bits of [`FOUND`]: SIGPIPE was ignored; SIGXFSZ was; the streams 0, 1, 2 were closed.
const PIPE_IGNORED: u8 = 1;
const FILE_SIZE_IGNORED: u8 = 2;
const CLOSED: [u8; 3] = [4, 8, 16];

static FOUND: AtomicU8 = AtomicU8::new(0);

#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Runs before std's start-up, as all constructors do.
extern "C" fn look() {
    let mut found = 0;
    for (signal, bit) in [
        (libc::SIGPIPE, PIPE_IGNORED),
        (libc::SIGXFSZ, FILE_SIZE_IGNORED),
    ] {
        if is_ignored(signal) {
            found |= bit;
        }
    }
    for (stream, bit) in CLOSED.into_iter().enumerate() {
        // SAFETY: no pointer involved.
        if unsafe { libc::fcntl(stream as i32, libc::F_GETFD) } < 0 {
            found |= bit;
        }
    }
    FOUND.store(found, Relaxed);
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero is a valid sigaction to be filled in.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: only asks; the place is valid.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Makes writes beyond `ulimit -f` fail in this process, where they would end it.
pub fn outlive_file_size_limit() {
    // SAFETY: SIG_IGN is a valid action.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Puts everything back as it was found. To be called in a child between fork and exec.
///
/// # Signal safety
/// sigaction and close only.
pub fn restore() {
    let found = FOUND.load(Relaxed);
    for (signal, bit) in [
        (libc::SIGPIPE, PIPE_IGNORED),
        (libc::SIGXFSZ, FILE_SIZE_IGNORED),
    ] {
        let action = if found & bit == 0 {
            libc::SIG_DFL
        } else {
            libc::SIG_IGN
        };
        // SAFETY: both are valid actions.
        unsafe { libc::signal(signal, action) };
    }
    for (stream, bit) in CLOSED.into_iter().enumerate() {
        if found & bit != 0 {
            // SAFETY: what stands there is std's /dev/null, which nobody uses after exec.
            unsafe { libc::close(stream as i32) };
        }
    }
}
