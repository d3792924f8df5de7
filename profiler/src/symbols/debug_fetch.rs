//! Debug information fetched by `debuginfod-find`, while the program runs and experiments go on.
//!
//! Only where the user has set `DEBUGINFOD_URLS`. The tool keeps what it fetches in its cache, so
//! it is asked once; whoever wants the result asks whether it is there yet.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server may be slow, or nobody may answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// A file that is being fetched.
#[derive(Debug)]
pub(super) struct Fetch {
    child: Child,
    since: Instant,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fetched {
    /// Not over yet.
    Pending,
    /// Where the file is now.
    File(PathBuf),
    /// There is none, or it took too long.
    Nothing,
}

impl Fetch {
    /// Begins to fetch the debug information of this build; nothing if the tool cannot be started.
    pub(super) fn start(tool: &Path, build_id: &str) -> Option<Fetch> {
        let child = Command::new(tool)
            .args(["debuginfo", build_id])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        match child {
            Ok(child) => Some(Fetch {
                child,
                since: Instant::now(),
            }),
            Err(error) => {
                log::info!("{} cannot be started: {error}", tool.display());
                None
            }
        }
    }

    /// What came of it so far. Does not wait.
    pub(super) fn poll(&mut self) -> Fetched {
        match self.child.try_wait() {
            Ok(None) if self.since.elapsed() < PATIENCE => Fetched::Pending,
            Ok(Some(status)) if status.success() => self.file(),
            _ => Fetched::Nothing,
        }
    }

    /// The path that the tool has printed; it is shorter than a pipe is long.
    fn file(&mut self) -> Fetched {
        use std::os::unix::ffi::OsStringExt as _;
        const LONGEST: u64 = 4096;
        let Some(output) = self.child.stdout.take() else {
            return Fetched::Nothing;
        };
        let mut path = Vec::new();
        if output.take(LONGEST).read_to_end(&mut path).is_err() {
            return Fetched::Nothing;
        }
        while path.last().is_some_and(u8::is_ascii_whitespace) {
            path.pop();
        }
        let path = PathBuf::from(std::ffi::OsString::from_vec(path));
        if path.is_absolute() {
            Fetched::File(path)
        } else {
            Fetched::Nothing
        }
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        // It may have ended long ago; whoever ends us does not wait for a server.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
