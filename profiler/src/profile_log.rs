//! The profile of the session: written record group by record group, kept for the estimates.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use coz_rs_plot::record::{Record, Session};

/// The profile being written.
#[derive(Debug)]
pub struct ProfileLog {
    path: PathBuf,
    file: File,
    records: Vec<Record>,
    failure: Option<String>,
}

impl ProfileLog {
    /// Opens the profile for a run.
    ///
    /// # Errors
    /// If it cannot be written, or belongs to another program and `force` is not set.
    pub fn open(path: &Path, session: &Session, _force: bool) -> anyhow::Result<ProfileLog> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .with_context(|| {
                format!(
                    "{} cannot be written; name another file with -o",
                    path.display()
                )
            })?;
        let mut log = ProfileLog {
            path: path.to_owned(),
            file,
            records: Vec::new(),
            failure: None,
        };
        log.append(&[Record::Session(session.clone())]);
        Ok(log)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a group of records by one write. A failure is remembered, not repeated.
    pub fn append(&mut self, records: &[Record]) {
        self.records.extend_from_slice(records);
        if self.failure.is_some() {
            return;
        }
        let mut text = String::new();
        for record in records {
            match serde_json::to_string(record) {
                Ok(line) => {
                    text.push_str(&line);
                    text.push('\n');
                }
                Err(error) => self.failure = Some(error.to_string()),
            }
        }
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            self.failure = Some(error.to_string());
        }
    }

    /// Why writing stopped, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// All records of this session.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }
}
