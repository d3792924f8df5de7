//! The file table of one unit's line program.

use gimli::LineProgramHeader;

use super::debug_sections::{Dwarf, Reader};
use super::source_files::{FileId, NO_FILE, SourceFiles};

/// Numbers files of a unit when they are first needed: most of a table never is.
pub(super) struct UnitFiles<'u, 'a> {
    dwarf: &'u Dwarf<'a>,
    unit: &'u gimli::Unit<Reader<'a>>,
    files: &'u mut SourceFiles,
    known: Vec<Option<FileId>>,
}

impl<'u, 'a> UnitFiles<'u, 'a> {
    /// The table of `unit`, whose line program gives it.
    pub(super) fn new(
        dwarf: &'u Dwarf<'a>,
        unit: &'u gimli::Unit<Reader<'a>>,
        files: &'u mut SourceFiles,
    ) -> UnitFiles<'u, 'a> {
        UnitFiles {
            dwarf,
            unit,
            files,
            known: Vec::new(),
        }
    }

    /// The file with this index in the table.
    pub(super) fn number(&mut self, index: u64) -> FileId {
        /// Larger tables than compilers write would only cost memory.
        const MOST: usize = 1 << 20;
        let Some(slot) = usize::try_from(index).ok().filter(|slot| *slot < MOST) else {
            return NO_FILE;
        };
        if let Some(&Some(known)) = self.known.get(slot) {
            return known;
        }
        let path = self
            .unit
            .line_program
            .as_ref()
            .and_then(|program| path(self.dwarf, self.unit, program.header(), index));
        let number = path.map_or(NO_FILE, |path| self.files.number(&path));
        if self.known.len() <= slot {
            self.known.resize(slot + 1, None);
        }
        self.known[slot] = Some(number);
        number
    }
}

/// The path of a file of the table: compilation directory, directory, name.
pub(super) fn path(
    dwarf: &Dwarf<'_>,
    unit: &gimli::Unit<Reader<'_>>,
    header: &LineProgramHeader<Reader<'_>>,
    index: u64,
) -> Option<String> {
    let file = header.file(index)?;
    let mut path = unit
        .comp_dir
        .map_or_else(String::new, |dir| dir.to_string_lossy().into_owned());
    // Directory 0 is the compilation directory, which DWARF 5 lists as well.
    let names_directory = file.directory_index() != 0 || (path.is_empty() && header.version() >= 5);
    if let Some(directory) = file.directory(header).filter(|_| names_directory) {
        push(
            &mut path,
            &dwarf.attr_string(unit, directory).ok()?.to_string_lossy(),
        );
    }
    push(
        &mut path,
        &dwarf
            .attr_string(unit, file.path_name())
            .ok()?
            .to_string_lossy(),
    );
    Some(path)
}

fn push(path: &mut String, part: &str) {
    if part.starts_with('/') || part.starts_with('<') {
        path.clear();
    } else if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(part);
}

/// Calls `found` with the index of every file of the table whose last path component is `name`.
pub(super) fn named(
    dwarf: &Dwarf<'_>,
    unit: &gimli::Unit<Reader<'_>>,
    name: &str,
    mut found: impl FnMut(u64, &LineProgramHeader<Reader<'_>>),
) {
    let Some(program) = unit.line_program.as_ref() else {
        return;
    };
    let header = program.header();
    let first = if header.version() >= 5 { 0 } else { 1 };
    for (index, file) in (first..).zip(header.file_names()) {
        let Ok(path) = dwarf.attr_string(unit, file.path_name()) else {
            continue;
        };
        let bytes = path.slice();
        let last = bytes
            .iter()
            .rposition(|&b| b == b'/')
            .map_or(0, |slash| slash + 1);
        if &bytes[last..] == name.as_bytes() {
            found(index, header);
        }
    }
}
