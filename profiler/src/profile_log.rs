//! The profile of the session: written record group by record group, kept for the estimates.

use std::path::Path;

use coz_rs_plot::record::{Record, Session};
use coz_rs_plot::writer::{ProfileWriter, WriteError};

/// The profile being written.
#[derive(Debug)]
pub struct ProfileLog {
    writer: ProfileWriter,
    records: Vec<Record>,
    failure: Option<WriteError>,
}

impl ProfileLog {
    /// Opens the profile for a run.
    ///
    /// # Errors
    /// If it cannot be written, or belongs to another program and `force` is not set.
    pub fn open(path: &Path, session: &Session, force: bool) -> Result<ProfileLog, WriteError> {
        Ok(ProfileLog {
            writer: ProfileWriter::create_or_append(path, session, force)?,
            records: Vec::new(),
            failure: None,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.writer.path()
    }

    /// Adds a group of records by one write. The first failure is remembered; later groups are
    /// tried, as room may have been made.
    pub fn append(&mut self, records: &[Record]) {
        self.records.extend_from_slice(records);
        if let Err(error) = self.writer.append(records) {
            log::debug!("{error}");
            self.failure.get_or_insert(error);
        }
    }

    /// Why writing failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<&WriteError> {
        self.failure.as_ref()
    }

    /// All records of this session.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }
}
