//! One binary that processes load: its code, and what is read of it when it is first needed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use coz_rs_runtime_preload::unwind_row::Row;

use super::debug_file::DebugDirectories;
use super::debug_info::DebugInfo;
use super::elf_file::{ElfError, ElfFile};
use super::file_addresses::FileAddresses;
use super::unwind_table::{UnwindTable, unwind_table};

/// What tells one file from another, also when a path is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileIdentity {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) modified: (i64, i64),
}

/// An executable, a library or the vDSO.
#[derive(Debug)]
pub(super) struct Binary {
    pub(super) path: PathBuf,
    pub(super) identity: Option<FileIdentity>,
    pub(super) elf: ElfFile,
    /// Its first page and its end, in its own addresses.
    pub(super) span: (u64, u64),
    addresses: FileAddresses,
    /// `Some(None)`: searched, and there is none.
    debug: Option<Option<Box<DebugInfo>>>,
    has_debug: OnceLock<bool>,
    functions: Option<Vec<(u64, u64, String)>>,
    rows: Option<Arc<[Row]>>,
    problems: Vec<String>,
}

impl Binary {
    /// A binary that was found at `path`.
    pub(super) fn new(
        path: &Path,
        elf: ElfFile,
        identity: Option<FileIdentity>,
    ) -> Result<Binary, ElfError> {
        let span = elf.span()?;
        Ok(Binary {
            path: path.to_owned(),
            identity,
            span,
            addresses: FileAddresses::new(span.0, elf.code()),
            elf,
            debug: None,
            has_debug: OnceLock::new(),
            functions: None,
            rows: None,
            problems: Vec::new(),
        })
    }

    /// Its debug information; the unit headers are read at the first call.
    pub(super) fn debug(&mut self, directories: &DebugDirectories) -> Option<&mut DebugInfo> {
        let debug = self.debug.get_or_insert_with(|| {
            let (elf, path) = (&self.elf, &self.path);
            DebugInfo::find(elf, path, directories, &self.addresses, &mut self.problems)
                .map(Box::new)
        });
        debug.as_deref_mut()
    }

    /// Its debug information, if it was needed before.
    pub(super) fn debug_read(&self) -> Option<&DebugInfo> {
        self.debug.as_ref()?.as_deref()
    }

    /// Is there debug information, here or in a separate file? Reads section headers only.
    pub(super) fn has_debug(&self, directories: &DebugDirectories) -> bool {
        if let Some(found) = &self.debug {
            return found.is_some();
        }
        *self.has_debug.get_or_init(|| {
            self.elf.has_section(".debug_info")
                || directories.separate(&self.elf, &self.path).file.is_some()
        })
    }

    /// The unwind rows, built at the first call.
    pub(super) fn rows(&mut self) -> Arc<[Row]> {
        if let Some(rows) = &self.rows {
            return Arc::clone(rows);
        }
        let table = unwind_table(self.elf.bytes()).unwrap_or_else(|error| {
            self.problems.push(format!(
                "{}: its unwind table cannot be read: {error}.",
                self.path.display()
            ));
            UnwindTable::default()
        });
        if table.damaged > 0 {
            self.problems.push(format!(
                "{}: {} of its frame descriptions are damaged; stacks through them are cut short.",
                self.path.display(),
                table.damaged
            ));
        }
        log::debug!(
            "{}: {} unwind rows, {} rules not expressible",
            self.path.display(),
            table.rows.len(),
            table.inexpressible
        );
        let rows: Arc<[Row]> = table.rows.into();
        self.rows = Some(Arc::clone(&rows));
        rows
    }

    /// The function of the symbol table that an address (from the first page) lies in.
    pub(super) fn symbol(&mut self, distance: u32) -> Option<&str> {
        let elf = &self.elf;
        let functions = self.functions.get_or_insert_with(|| elf.functions());
        let address = self.span.0.checked_add(u64::from(distance))?;
        let after = functions.partition_point(|function| function.0 <= address);
        let (start, size, name) = functions.get(after.checked_sub(1)?)?;
        // Hand-written assembly often gives no size.
        (*size == 0 || address - start < *size).then_some(name)
    }

    /// What is wrong with it, one sentence each.
    pub(super) fn problems(&self) -> impl Iterator<Item = &String> {
        self.problems
            .iter()
            .chain(self.debug_read().into_iter().flat_map(DebugInfo::problems))
    }
}
