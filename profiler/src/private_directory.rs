//! A directory of this run's own, for the socket; it goes when the run is over.

use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};

/// The directory, mode 0700.
#[derive(Debug)]
pub struct PrivateDirectory {
    path: PathBuf,
}

/// Paths of sockets end at 108 bytes (unix(7)); the socket's own name needs some of them.
const LONGEST: usize = 90;

impl PrivateDirectory {
    /// Makes it under `TMPDIR`, or under `/tmp` if that path could not be used.
    ///
    /// # Errors
    /// If neither can be written to.
    pub fn make() -> anyhow::Result<PrivateDirectory> {
        let temporary = std::env::temp_dir();
        let special = |byte: &u8| matches!(byte, b' ' | b':' | b'\t' | b'\n' | b'$');
        let bytes = temporary.as_os_str().as_encoded_bytes();
        let usable = bytes.len() < LONGEST - 20 && !bytes.iter().any(special);
        let mut last = None;
        for base in [Some(temporary).filter(|_| usable), Some("/tmp".into())] {
            let Some(base) = base else { continue };
            // mkdtemp(3) makes it with mode 0700.
            match nix::unistd::mkdtemp(&base.join("coz-rs-XXXXXX")) {
                Ok(path) => return Ok(PrivateDirectory { path }),
                Err(error) => last = Some((error, base)),
            }
        }
        let (error, base) = last.context("no directory for temporary files")?;
        Err(error).with_context(|| format!("making a directory in {}", base.display()))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // A directory that stays is a blemish, not an error.
        let _ = std::fs::remove_dir_all(&self.path);
        if let Some(base) = self.path.parent() {
            remove_abandoned(base);
        }
    }
}

/// Removes the directories of controllers that were killed: ours, with a socket that nobody
/// listens to any more.
fn remove_abandoned(base: &Path) {
    let user = nix::unistd::geteuid().as_raw();
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let ours = entry.file_name().as_encoded_bytes().starts_with(b"coz-rs-")
            && entry
                .metadata()
                .is_ok_and(|found| found.is_dir() && found.uid() == user);
        if ours && is_abandoned(&entry.path().join("socket")) {
            // Somebody else may be removing it too.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(path: &Path) -> bool {
    let Ok(address) = UnixAddr::new(path) else {
        return false;
    };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let Ok(caller) = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None) else {
        return false;
    };
    connect(caller.as_raw_fd(), &address) == Err(Errno::ECONNREFUSED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{Backlog, bind, listen};

    #[test]
    fn only_directories_that_nobody_listens_in_are_removed() {
        let base = PrivateDirectory::make().unwrap();
        let make = |name: &str, listens: bool| {
            let place = base.path().join(name);
            std::fs::create_dir(&place).unwrap();
            let flags = SockFlag::SOCK_CLOEXEC;
            let fd = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None).unwrap();
            let address = UnixAddr::new(&place.join("socket")).unwrap();
            bind(fd.as_raw_fd(), &address).unwrap();
            if listens {
                listen(&fd, Backlog::new(1).unwrap()).unwrap();
            }
            (place, listens.then_some(fd))
        };
        let (dead, _) = make("coz-rs-dead", false);
        let (alive, _listener) = make("coz-rs-alive", true);
        let (other, _) = make("another", false);
        std::fs::create_dir(base.path().join("coz-rs-new")).unwrap();
        remove_abandoned(base.path());
        assert!(!dead.exists());
        assert!(alive.exists() && other.exists() && base.path().join("coz-rs-new").exists());
    }
}
