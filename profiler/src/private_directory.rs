//! A directory of this run's own, for the socket; it goes when the run is over.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

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
    }
}
