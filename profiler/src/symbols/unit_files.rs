//! The file table of one unit's line program.

use gimli::LineProgramHeader;

use super::debug_sections::{Dwarf, Reader};
use super::functions::FunctionId;
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

    /// The file with this path, whatever table names it.
    pub(super) fn named(&mut self, path: &str) -> FileId {
        self.files.number(path)
    }

    /// The number of a function.
    pub(super) fn function(&mut self, name: String, file: FileId) -> FunctionId {
        self.files.functions.number(name, file)
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

/// Calls `found` with the index of every file of the table whose path may end in `name`.
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
    // Before DWARF 5, file 0 is the unit's own, and not in the table.
    let first = u64::from(header.version() < 5);
    let unlisted = header.file(0).filter(|_| first == 1).map(|file| (0, file));
    for (index, file) in unlisted
        .into_iter()
        .chain((first..).zip(header.file_names()))
    {
        if let Ok(path) = dwarf.attr_string(unit, file.path_name())
            && may_end_in(path.slice(), name)
        {
            found(index, header);
        }
    }
}

/// Calls `found` with the index of every file of the unit's table.
pub(super) fn all(
    unit: &gimli::Unit<Reader<'_>>,
    mut found: impl FnMut(u64, &LineProgramHeader<Reader<'_>>),
) {
    let Some(program) = unit.line_program.as_ref() else {
        return;
    };
    let header = program.header();
    let first = u64::from(header.version() < 5);
    for index in (first..).take(header.file_names().len()) {
        found(index, header);
    }
}

/// Could `path` end in `name` once it is made normal? A cheap test that lets odd ones through.
fn may_end_in(path: &[u8], name: &str) -> bool {
    let last = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    last == name.as_bytes() || matches!(last, b"" | b"." | b"..") || !last.is_ascii()
}
