//! The running program: started with everything inherited untouched, and ended as it ends.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::Context as _;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, pthread_sigmask};
use nix::unistd::Pid;

use super::inherited;
use super::preload_library::preload_value;
use coz_rs_runtime_preload::handshake::SOCKET_ENV;

/// Environment variable that moves the stack, in end-to-end runs only.
const PADDING_ENV: &str = "COZ_RS_PADDING";

/// The program, running or ended.
#[derive(Debug)]
pub struct Program {
    child: Child,
    end: OwnedFd,
}

impl Program {
    /// Starts `command` with `library` preloaded and `socket` to greet; its environment is longer
    /// by `padding` bytes; `output` stands in for its standard
    /// output and error where it is given.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        command: &[OsString],
        library: &Path,
        socket: &Path,
        mask: SigSet,
        padding: usize,
        output: (Option<Stdio>, Option<Stdio>),
    ) -> anyhow::Result<Program> {
        let (name, arguments) = command.split_first().context("no command was given")?;
        let users = std::env::var_os("LD_PRELOAD");
        let mut child = Command::new(name);
        child
            .args(arguments)
            .env("LD_PRELOAD", preload_value(library, users.as_deref()))
            .env(SOCKET_ENV.to_str()?, socket);
        if let Some(stdout) = output.0 {
            child.stdout(stdout);
        }
        if let Some(stderr) = output.1 {
            child.stderr(stderr);
        }
        if padding > 0 {
            child.env(PADDING_ENV, " ".repeat(padding));
        }
        let as_we_were_given = move || {
            inherited::restore();
            pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&mask), None).map_err(Into::into)
        };
        // SAFETY: between fork and exec only signal(2), close(2) and sigprocmask(2) are called,
        // which signal-safety(7) allows.
        unsafe { child.pre_exec(as_we_were_given) };
        let child = child
            .spawn()
            .with_context(|| format!("starting {}", Path::new(name).display()))?;
        let end = pidfd(child.id())?;
        Ok(Program { child, end })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Passes a signal on.
    pub fn signal(&self, signal: Signal) {
        // It may have ended a moment ago; as we have not waited for it, the id is still its own.
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), signal);
    }

    /// Its status, if it has ended.
    ///
    /// # Errors
    /// If the system does not know it.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.child
            .try_wait()
            .context("asking for the program's end")
    }
}

impl AsFd for Program {
    /// Readable once the program has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }
}

/// A descriptor that becomes readable when the process ends (pidfd_open(2)).
///
/// # Errors
/// If there is no such process or no descriptor left.
pub fn pidfd(pid: u32) -> anyhow::Result<OwnedFd> {
    // SAFETY: no pointer involved; the result is checked.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(fd).unwrap_or(-1);
    if fd < 0 {
        let error = std::io::Error::last_os_error();
        return Err(error).with_context(|| format!("watching process {pid}"));
    }
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Ends this process as `status` says the program ended, with `instead` for a plain success.
pub fn end_like(status: ExitStatus, instead: i32) -> ! {
    if let Some(number) = status.signal() {
        die_by(number);
        std::process::exit(128 + number);
    }
    match status.code() {
        Some(0) | None => std::process::exit(instead),
        Some(code) => std::process::exit(code),
    }
}

/// Dies by the signal; returns only if the signal does not kill.
fn die_by(number: i32) {
    // The program has dumped its core if it wanted to; ours would overwrite it.
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a valid limit.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
    // SAFETY: SIG_DFL is a valid action.
    unsafe { libc::signal(number, libc::SIG_DFL) };
    if let Ok(signal) = Signal::try_from(number) {
        let mut set = SigSet::empty();
        set.add(signal);
        // Fails for no valid set.
        let _ = pthread_sigmask(SigmaskHow::SIG_UNBLOCK, Some(&set), None);
    }
    // SAFETY: no pointer involved.
    unsafe { libc::raise(number) };
}

/// Moves the standard input back to where it was, so that a repeated program reads the same.
#[derive(Debug)]
pub struct StandardInput {
    start: Option<i64>,
    is_stream: bool,
}

impl StandardInput {
    /// Remembers the present position.
    #[must_use]
    pub fn remember() -> StandardInput {
        let stdin = std::io::stdin();
        let kind = nix::sys::stat::fstat(stdin.as_fd()).map(|status| status.st_mode & libc::S_IFMT);
        let regular = kind == Ok(libc::S_IFREG);
        // SAFETY: no pointer involved.
        let at = unsafe { libc::lseek(stdin.as_raw_fd(), 0, libc::SEEK_CUR) };
        StandardInput {
            start: (regular && at >= 0).then_some(at),
            is_stream: matches!(kind, Ok(libc::S_IFIFO | libc::S_IFSOCK)),
        }
    }

    /// Whether a second run would find less to read than the first.
    #[must_use]
    pub fn runs_dry(&self) -> bool {
        self.is_stream
    }

    /// Moves back.
    pub fn rewind(&self) {
        if let Some(start) = self.start {
            // SAFETY: no pointer involved.
            unsafe { libc::lseek(std::io::stdin().as_raw_fd(), start, libc::SEEK_SET) };
        }
    }
}
