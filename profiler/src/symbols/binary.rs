//! One binary that processes load: its code, and what is read of it when it is first needed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use coz_rs_runtime_preload::unwind_row::Row;

use super::debug_fetch::{Fetch, Fetched};
use super::debug_file::{DebugDirectories, hexadecimal};
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
    functions: OnceLock<Vec<(u64, u64, String)>>,
    fetch: Option<Fetch>,
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
            functions: OnceLock::new(),
            fetch: None,
            rows: None,
            problems: Vec::new(),
        })
    }

    /// Its debug information; the unit headers are read at the first call.
    pub(super) fn debug(&mut self, directories: &DebugDirectories) -> Option<&mut DebugInfo> {
        if self.debug.is_none() && self.fetch.is_none() {
            self.debug = Some(self.find_debug(directories, None));
            let wants = self.debug.as_ref().is_some_and(Option::is_none);
            if let Some(tool) = directories.fetcher.as_ref().filter(|_| wants)
                && let Some(build_id) = self.elf.build_id()
            {
                self.fetch = Fetch::start(tool, &hexadecimal(build_id));
            }
        }
        self.debug.as_mut()?.as_deref_mut()
    }

    /// Takes in what was fetched meanwhile; true if there is more debug information now.
    pub(super) fn take_fetched(&mut self, directories: &DebugDirectories) -> bool {
        let Some(fetch) = &mut self.fetch else {
            return false;
        };
        let file = match fetch.poll() {
            Fetched::Pending => return false,
            Fetched::Nothing => None,
            Fetched::File(file) => Some(file),
        };
        self.fetch = None;
        let Some(found) = file.and_then(|file| self.find_debug(directories, Some(&file))) else {
            return false;
        };
        self.debug = Some(Some(found));
        true
    }

    fn find_debug(
        &mut self,
        directories: &DebugDirectories,
        fetched: Option<&Path>,
    ) -> Option<Box<DebugInfo>> {
        let (elf, path) = (&self.elf, &self.path);
        let addresses = &self.addresses;
        DebugInfo::find(
            elf,
            path,
            directories,
            fetched,
            addresses,
            &mut self.problems,
        )
        .map(Box::new)
    }

    /// Other names of the function at an address (from the first page): of functions that the
    /// linker found to be the same code.
    pub(super) fn aliases(&mut self, distance: u32) -> Vec<String> {
        let Some(&(start, _, _)) = self.function_at(distance) else {
            return Vec::new();
        };
        self.elf.names_at(start)
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
        let (_, _, name) = self.function_at(distance)?;
        Some(name)
    }

    /// Where that function begins and ends, from the first page.
    pub(super) fn symbol_span(&mut self, distance: u32) -> Option<(u32, u32)> {
        let first_page = self.span.0;
        let &(start, size, _) = self.function_at(distance)?;
        let start = start.checked_sub(first_page)?;
        let end = start.checked_add(size.max(1))?;
        Some((u32::try_from(start).ok()?, u32::try_from(end).ok()?))
    }

    /// How many functions of the symbol table have this readable name.
    pub(super) fn functions_named(&self, name: &str) -> usize {
        let functions = self.functions.get_or_init(|| self.elf.functions());
        // A mangled name tells functions apart; only plain ones are given twice.
        functions.iter().filter(|known| known.2 == name).count()
    }

    fn function_at(&self, distance: u32) -> Option<&(u64, u64, String)> {
        let functions = self.functions.get_or_init(|| self.elf.functions());
        let address = self.span.0.checked_add(u64::from(distance))?;
        let after = functions.partition_point(|function| function.0 <= address);
        let function = functions.get(after.checked_sub(1)?)?;
        // Hand-written assembly often gives no size.
        (function.1 == 0 || address - function.0 < function.1).then_some(function)
    }

    /// What is wrong with it, one sentence each.
    pub(super) fn problems(&self) -> impl Iterator<Item = &String> {
        self.problems
            .iter()
            .chain(self.debug_read().into_iter().flat_map(DebugInfo::problems))
    }
}
