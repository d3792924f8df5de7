//! The debug information of one binary: units read when they are first needed.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::debug_file::DebugDirectories;
use super::debug_sections::{DebugSections, Dwarf, Reader};
use super::elf_file::ElfFile;
use super::file_addresses::FileAddresses;
use super::function_names::{demangled, raw_name};
use super::inline_tree::{InlineTree, Node};
use super::line_table::LineTable;
use super::source_files::{FileId, NO_FILE, SourceFiles};
use super::spans::NOTHING;
use super::split_units::SplitUnits;
use super::unit_files::{self, UnitFiles};
use super::unit_index::UnitIndex;

/// One frame at an address, inlined or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Where execution is in this frame; [`NO_FILE`] if unknown.
    pub(super) file: FileId,
    /// Line in the file; 0 is code of no line.
    pub(super) line: u32,
    /// The function, if it is known.
    pub(super) function: Option<Function>,
}

/// A function's entry in the debug information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Function {
    unit: u32,
    entry: u32,
}

/// A binary's debug information.
#[derive(Debug)]
pub(super) struct DebugInfo {
    /// Name of the binary, for messages.
    name: PathBuf,
    /// The file that it lies in, if that is another one.
    separate: Option<PathBuf>,
    sections: DebugSections,
    index: UnitIndex,
    addresses: FileAddresses,
    split: SplitUnits,
    units: HashMap<u32, UnitTables>,
    /// Units whose file table has a file of this name, by last path component.
    units_naming: HashMap<String, Vec<(u32, FileId)>>,
    names: HashMap<Function, String>,
    problems: Vec<String>,
}

/// What is kept of a unit that was read.
#[derive(Debug, Default)]
struct UnitTables {
    lines: LineTable,
    functions: InlineTree,
    /// Names by entry, for units whose functions lie in a file that is not kept open.
    split_names: Option<HashMap<u32, String>>,
}

impl DebugInfo {
    /// The debug information of `elf`, which lies at `path`, from itself or a separate file;
    /// `None` if there is none. Reads unit headers only.
    pub(super) fn find(
        elf: &ElfFile,
        path: &Path,
        directories: &DebugDirectories,
        addresses: &FileAddresses,
        problems: &mut Vec<String>,
    ) -> Option<DebugInfo> {
        let mut faults = Vec::new();
        let mut separate = None;
        if !elf.has_section(".debug_info") {
            let found = directories.separate(elf, path);
            faults.extend(found.refused);
            separate = found.file;
        }
        let holder = separate.as_ref().map_or(elf, |(_, file)| file);
        if !holder.has_section(".debug_info") {
            problems.extend(faults.iter().map(|fault| sentence(path, fault)));
            return None;
        }
        let holder_path = separate.as_ref().map(|(path, _)| path.as_path());
        let alternate = directories.alternate(holder, holder_path.unwrap_or(path));
        faults.extend(alternate.refused);
        let alternate = alternate.file.as_ref().map(|(_, file)| file);
        let sections = DebugSections::load(holder, alternate, &mut faults);
        let index = UnitIndex::new(&sections.dwarf(), addresses);
        let split = SplitUnits::new(path, holder_path, &mut faults);
        if index.damaged > 0 {
            faults.push(format!(
                "{} units of its debug information are damaged and left out",
                index.damaged
            ));
        }
        Some(DebugInfo {
            name: path.to_owned(),
            separate: holder_path.map(Path::to_owned),
            sections,
            index,
            addresses: addresses.clone(),
            split,
            units: HashMap::new(),
            units_naming: HashMap::new(),
            names: HashMap::new(),
            problems: faults.iter().map(|fault| sentence(path, fault)).collect(),
        })
    }

    /// The file that it lies in, if it is not in the binary.
    pub(super) fn separate_file(&self) -> Option<&Path> {
        self.separate.as_deref()
    }

    /// The source files in the tables of all units.
    pub(super) fn files(&self, files: &mut SourceFiles) -> BTreeSet<FileId> {
        let dwarf = self.sections.dwarf();
        let mut found = BTreeSet::new();
        for number in 0..self.index.len() {
            let Ok(unit) = self.index.unit(&dwarf, number) else {
                continue;
            };
            unit_files::all(&unit, |index, header| {
                let path = unit_files::path(&dwarf, &unit, header, index);
                found.extend(path.map(|path| files.number(&path)));
            });
        }
        found.remove(&NO_FILE);
        found
    }

    /// What could not be read so far, one sentence each.
    pub(super) fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The frames at `address`, innermost first; empty where nothing is known.
    pub(super) fn places(&mut self, address: u32, files: &mut SourceFiles) -> Vec<Place> {
        let Some(unit) = self.index.unit_at(address) else {
            return Vec::new();
        };
        self.read_unit(unit, files);
        let Some(tables) = self.units.get(&unit) else {
            return Vec::new();
        };
        let row = tables.lines.at(address);
        let (mut file, mut line) = row.unwrap_or((NO_FILE, 0));
        let mut node = tables.functions.at(address);
        if row.is_none() && node.is_none() {
            return Vec::new();
        }
        let mut places = Vec::new();
        loop {
            let function = node.map(|node| Function {
                unit,
                entry: node.entry,
            });
            places.push(Place {
                file,
                line,
                function,
            });
            let Some(Node {
                call: Some(call),
                parent,
                ..
            }) = node
            else {
                return places;
            };
            (file, line) = (call.file, call.line);
            node = if parent == NOTHING {
                None
            } else {
                tables.functions.node(parent)
            };
        }
    }

    /// The addresses whose [`places`](DebugInfo::places) name this line; any order, may touch.
    pub(super) fn ranges(
        &mut self,
        file: FileId,
        line: u32,
        files: &mut SourceFiles,
    ) -> Vec<(u32, u32)> {
        let mut ranges = Vec::new();
        for unit in self.units_with(file, files) {
            self.read_unit(unit, files);
            let Some(tables) = self.units.get(&unit) else {
                continue;
            };
            let rows = tables
                .lines
                .stretches()
                .filter(|row| (row.2, row.3) == (file, line));
            let rows = rows.map(|(start, end, _, _)| (start, end));
            for (start, end) in rows.chain(tables.functions.called_from(file, line)) {
                ranges.extend(self.index.owned(start, end, unit));
            }
        }
        ranges
    }

    /// All lines of the file that have code, ascending.
    pub(super) fn lines_of(&mut self, file: FileId, files: &mut SourceFiles) -> Vec<u32> {
        let mut lines = Vec::new();
        for unit in self.units_with(file, files) {
            self.read_unit(unit, files);
            let Some(tables) = self.units.get(&unit) else {
                continue;
            };
            let rows = tables.lines.stretches();
            let owned = rows.filter(|row| self.index.owned(row.0, row.1, unit).next().is_some());
            lines.extend(owned.filter(|row| row.2 == file).map(|row| row.3));
            let calls = tables.functions.calls().filter(|call| call.file == file);
            lines.extend(calls.map(|call| call.line));
        }
        lines.retain(|line| *line != 0);
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// Files whose last path component is `name`.
    pub(super) fn files_named(&mut self, name: &str, files: &mut SourceFiles) -> Vec<FileId> {
        let mut found: Vec<FileId> = self
            .units_naming(name, files)
            .iter()
            .map(|&(_, file)| file)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The function's name, demangled; empty if it has none.
    pub(super) fn function_name(&mut self, function: Function) -> &str {
        if !self.names.contains_key(&function) {
            let name = self.raw_name(function).unwrap_or_default();
            self.names.insert(function, demangled(&name));
        }
        self.names.get(&function).map_or("", String::as_str)
    }

    fn raw_name(&self, function: Function) -> Option<String> {
        let split = self
            .units
            .get(&function.unit)
            .and_then(|unit| unit.split_names.as_ref());
        if let Some(names) = split {
            return names.get(&function.entry).cloned();
        }
        let dwarf = self.sections.dwarf();
        let unit = self.index.unit(&dwarf, function.unit).ok()?;
        let name = raw_name(&dwarf, Some(&self.index), &unit, function.entry as usize);
        name.map(std::borrow::Cow::into_owned)
    }

    fn units_with(&mut self, file: FileId, files: &mut SourceFiles) -> Vec<u32> {
        let path = files.path(file);
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        let mut units: Vec<u32> = self
            .units_naming(&name, files)
            .iter()
            .filter(|(_, other)| *other == file)
            .map(|&(unit, _)| unit)
            .collect();
        units.dedup();
        units
    }

    fn units_naming(&mut self, name: &str, files: &mut SourceFiles) -> &[(u32, FileId)] {
        if !self.units_naming.contains_key(name) {
            let dwarf = self.sections.dwarf();
            let mut naming = Vec::new();
            for number in 0..self.index.len() {
                let Ok(unit) = self.index.unit(&dwarf, number) else {
                    continue;
                };
                unit_files::named(&dwarf, &unit, name, |index, header| {
                    let path = unit_files::path(&dwarf, &unit, header, index);
                    naming.extend(path.map(|path| (number, files.number(&path))));
                });
            }
            self.units_naming.insert(name.to_owned(), naming);
        }
        self.units_naming.get(name).map_or(&[], Vec::as_slice)
    }

    fn read_unit(&mut self, number: u32, files: &mut SourceFiles) {
        if self.units.contains_key(&number) {
            return;
        }
        let dwarf = self.sections.dwarf();
        let mut faults = Vec::new();
        let tables = match self.index.unit(&dwarf, number) {
            Ok(unit) => {
                let mut unit_files = UnitFiles::new(&dwarf, &unit, files);
                let (lines, read) = LineTable::read(&unit, &mut unit_files, &self.addresses);
                faults.extend(
                    read.err()
                        .map(|error| format!("a line table is damaged: {error}")),
                );
                let mut tables = UnitTables {
                    lines,
                    ..UnitTables::default()
                };
                self.read_functions(&dwarf, &unit, &mut unit_files, &mut tables, &mut faults);
                tables
            }
            Err(error) => {
                faults.push(format!(
                    "a unit of its debug information is damaged: {error}"
                ));
                UnitTables::default()
            }
        };
        self.units.insert(number, tables);
        for fault in faults {
            let problem = sentence(&self.name, &fault);
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }

    fn read_functions<'a>(
        &self,
        dwarf: &Dwarf<'a>,
        unit: &gimli::Unit<Reader<'a>>,
        files: &mut UnitFiles<'_, '_>,
        tables: &mut UnitTables,
        faults: &mut Vec<String>,
    ) {
        let damaged = |error| format!("the functions of a unit are damaged: {error}");
        let name = unit.dwo_name().ok().flatten();
        let Some(id) = unit.dwo_id.filter(|_| name.is_some()) else {
            let (functions, read) = InlineTree::read(dwarf, unit, files, &self.addresses);
            tables.functions = functions;
            faults.extend(read.err().map(damaged));
            return;
        };
        let split = self
            .split
            .with_split_part(dwarf, unit, id, faults, |dwarf, unit| {
                let (functions, read) = InlineTree::read(dwarf, unit, files, &self.addresses);
                let names = functions.entries().filter_map(|entry| {
                    Some((
                        entry,
                        raw_name(dwarf, None, unit, entry as usize)?.into_owned(),
                    ))
                });
                let names = names.collect();
                (functions, names, read)
            });
        match split {
            Ok((functions, names, read)) => {
                tables.functions = functions;
                tables.split_names = Some(names);
                faults.extend(read.err().map(damaged));
            }
            Err(fault) => {
                tables.split_names = Some(HashMap::new());
                faults.push(fault);
            }
        }
    }
}

/// A fault as a sentence that names the file.
fn sentence(path: &Path, fault: &str) -> String {
    format!("{}: {fault}.", path.display())
}
