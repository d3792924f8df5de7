//! Writing a causal profile: appended record group by record group, so that a kill at any moment
//! leaves a readable file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::record::{Record, Session};

/// A profile that cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file cannot be opened for writing.
    #[error("{} cannot be written: {source}; name another file with -o", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file has content that no coz-rs wrote.
    #[error(
        "{} was not written by coz-rs; name another file with -o, or append to it with --force",
        path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// The file is the profile of another command.
    #[error(
        "{} is the profile of another command (`{command}`); name another file with -o, or append \
         to it with --force", path.display()
    )]
    OtherCommand {
        /// The file.
        path: PathBuf,
        /// The command in it.
        command: String,
    },
    /// The file is the profile of another build of the program.
    #[error(
        "{} is the profile of another build of this program; name another file with -o, or append \
         to it with --force", path.display()
    )]
    OtherBuild {
        /// The file.
        path: PathBuf,
    },
    /// Writing failed: the disk is full, for instance.
    #[error("{} could not be written to its end: {source}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A profile being written.
#[derive(Debug)]
pub struct ProfileWriter {
    path: PathBuf,
    file: File,
    /// The file ends within a line: what follows must begin a new one.
    within_line: bool,
    buffer: Vec<u8>,
}

impl ProfileWriter {
    /// Opens a profile for a session: makes the file, or appends if its last session was of the
    /// same command and build, or if `force` is set. Writes nothing yet.
    ///
    /// # Errors
    /// If the file cannot be written or belongs to something else.
    pub fn create_or_append(
        path: impl AsRef<Path>,
        session: &Session,
        force: bool,
    ) -> Result<ProfileWriter, WriteError> {
        let path = path.as_ref().to_owned();
        let unwritable = |source| WriteError::Unwritable {
            path: path.clone(),
            source,
        };
        // The standard library adds O_CLOEXEC: the program must not inherit the file.
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(unwritable)?;
        let metadata = file.metadata().map_err(unwritable)?;
        let mut within_line = false;
        if metadata.is_file() && metadata.len() > 0 {
            let mut old = File::open(&path).map_err(unwritable)?;
            if !force {
                may_append(&path, last_session(&old).map_err(unwritable)?, session)?;
            }
            within_line = !ends_a_line(&mut old).map_err(unwritable)?;
            file.seek(SeekFrom::End(0)).map_err(unwritable)?;
        }
        Ok(ProfileWriter {
            path,
            file,
            within_line,
            buffer: Vec::new(),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a group of records by one write, so that a reader finds all of it or (after a kill or
    /// on a full disk) a beginning of it.
    ///
    /// # Errors
    /// If not all could be written. Later groups may be tried; they begin on a new line.
    pub fn append(&mut self, group: &[Record]) -> Result<(), WriteError> {
        if group.is_empty() {
            return Ok(());
        }
        self.buffer.clear();
        if self.within_line {
            self.buffer.push(b'\n');
        }
        for record in group {
            serde_json::to_writer(&mut self.buffer, record).map_err(|error| self.failed(error))?;
            self.buffer.push(b'\n');
        }
        let written = loop {
            match self.file.write(&self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        match written {
            Ok(count) if count == self.buffer.len() => {
                self.within_line = false;
                Ok(())
            }
            Ok(count) => {
                if count > 0 {
                    self.within_line = self.buffer[count - 1] != b'\n';
                }
                Err(self.failed(io::Error::from(io::ErrorKind::StorageFull)))
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    fn failed(&self, source: impl Into<io::Error>) -> WriteError {
        WriteError::Failed {
            path: self.path.clone(),
            source: source.into(),
        }
    }
}

fn may_append(path: &Path, last: Option<Session>, session: &Session) -> Result<(), WriteError> {
    let path = path.to_owned();
    match last {
        None => Err(WriteError::NotOurs { path }),
        Some(last) if last.command != session.command => Err(WriteError::OtherCommand {
            path,
            command: crate::safe_text::one_line(&last.command.join(" ")),
        }),
        Some(last) if last.build_id != session.build_id => Err(WriteError::OtherBuild { path }),
        Some(_) => Ok(()),
    }
}

/// The last session of a file, read line by line: profiles may be long.
fn last_session(file: &File) -> io::Result<Option<Session>> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let mut last = None;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(last);
        }
        let may_be = line.starts_with(br#"{"type":"startup""#);
        if may_be && let Ok(Record::Session(session)) = serde_json::from_slice(&line) {
            last = Some(session);
        }
    }
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
