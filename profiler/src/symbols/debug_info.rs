//! The debug information of one binary: units read when they are first needed.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::debug_file::DebugDirectories;
use super::debug_sections::{DebugSections, Dwarf, Reader};
use super::elf_file::ElfFile;
use super::file_addresses::FileAddresses;
use super::function_names::{Declared, DeclaredIn, demangled};
use super::functions::{FunctionId, NAMELESS};
use super::inline_tree::{Call, InlineTree, Node};
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

/// Something that has address ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    /// A line: its rows, and all code inlined by a call on it.
    Line(FileId, u32),
    /// A function: its code wherever it was inlined, with what was inlined into it.
    Function(FunctionId),
}

/// A binary's debug information.
#[derive(Debug)]
pub(super) struct DebugInfo {
    /// Name of the binary, for messages.
    name: PathBuf,
    /// The file that it lies in, if that is another one.
    separate: Option<PathBuf>,
    pub(super) sections: DebugSections,
    pub(super) index: UnitIndex,
    pub(super) addresses: FileAddresses,
    split: SplitUnits,
    pub(super) units: HashMap<u32, UnitTables>,
    /// Units whose file table has a file of this name, by last path component.
    units_naming: HashMap<String, Vec<(u32, FileId)>>,
    functions: HashMap<Function, FunctionId>,
    /// Units in which a function was met.
    met_in: HashMap<FunctionId, Vec<u32>>,
    problems: Vec<String>,
}

/// What is kept of a unit that was read.
#[derive(Debug, Default)]
pub(super) struct UnitTables {
    lines: LineTable,
    pub(super) functions: InlineTree,
    /// Numbers by entry, for units whose functions lie in a file that is not kept open.
    split_functions: Option<HashMap<u32, FunctionId>>,
    /// The function of each node, once a function's ranges were asked for.
    by_node: Option<Box<[FunctionId]>>,
}

impl DebugInfo {
    /// The debug information of `elf`, which lies at `path`, from itself or a separate file;
    /// `None` if there is none. Reads unit headers only.
    pub(super) fn find(
        elf: &ElfFile,
        path: &Path,
        directories: &DebugDirectories,
        fetched: Option<&Path>,
        addresses: &FileAddresses,
        problems: &mut Vec<String>,
    ) -> Option<DebugInfo> {
        let mut faults = Vec::new();
        let mut separate = None;
        if !elf.has_section(".debug_info") {
            let found = directories.separate_or(elf, path, fetched);
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
            functions: HashMap::new(),
            met_in: HashMap::new(),
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

    /// The addresses whose [`places`](DebugInfo::places) name what is wanted; any order, may touch.
    pub(super) fn ranges(&mut self, wanted: Wanted, files: &mut SourceFiles) -> Vec<(u32, u32)> {
        self.ranges_within(wanted, None, files)
    }

    /// As [`ranges`](DebugInfo::ranges), but where the frame that names it lies in one of the
    /// functions, or was inlined into one.
    pub(super) fn ranges_within(
        &mut self,
        wanted: Wanted,
        within: Option<&[FunctionId]>,
        files: &mut SourceFiles,
    ) -> Vec<(u32, u32)> {
        let file = match wanted {
            Wanted::Line(file, _) => file,
            Wanted::Function(function) => files.functions.file(function),
        };
        let mut units = self.units_with(file, files);
        if let Wanted::Function(function) = wanted {
            // A unit need not list the file of a function that it holds.
            units.extend(self.met_in.get(&function).into_iter().flatten());
            units.sort_unstable();
            units.dedup();
        }
        let mut ranges = Vec::new();
        for unit in units {
            self.read_unit(unit, files);
            if within.is_some() || matches!(wanted, Wanted::Function(_)) {
                self.number_functions(unit, files);
            }
            let Some(tables) = self.units.get(&unit) else {
                continue;
            };
            for (start, end) in tables.ranges(wanted, within) {
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

    /// The number of the function of an entry.
    pub(super) fn function(&mut self, function: Function, files: &mut SourceFiles) -> FunctionId {
        if let Some(&known) = self.functions.get(&function) {
            return known;
        }
        let split = self.units.get(&function.unit);
        let number = match split.and_then(|unit| unit.split_functions.as_ref()) {
            Some(split) => split.get(&function.entry).copied().unwrap_or(NAMELESS),
            None => {
                let dwarf = self.sections.dwarf();
                match self.index.unit(&dwarf, function.unit) {
                    Ok(unit) => {
                        let mut unit_files = UnitFiles::new(&dwarf, &unit, files);
                        let index = Some(&self.index);
                        number(&dwarf, index, &unit, function.entry, &mut unit_files)
                    }
                    Err(_) => NAMELESS,
                }
            }
        };
        self.functions.insert(function, number);
        let met_in = self.met_in.entry(number).or_default();
        if !met_in.contains(&function.unit) {
            met_in.push(function.unit);
        }
        number
    }

    /// Numbers the functions of all nodes of a unit that was read.
    fn number_functions(&mut self, unit: u32, files: &mut SourceFiles) {
        let Some(tables) = self.units.get_mut(&unit) else {
            return;
        };
        if tables.by_node.is_some() {
            return;
        }
        let mut by_entry = tables.split_functions.clone().unwrap_or_default();
        if tables.split_functions.is_none() {
            let dwarf = self.sections.dwarf();
            if let Ok(parsed) = self.index.unit(&dwarf, unit) {
                let mut unit_files = UnitFiles::new(&dwarf, &parsed, files);
                for entry in tables.functions.entries() {
                    by_entry.entry(entry).or_insert_with(|| {
                        let index = Some(&self.index);
                        number(&dwarf, index, &parsed, entry, &mut unit_files)
                    });
                }
            }
        }
        let numbers = tables.functions.entries();
        let numbers = numbers.map(|entry| by_entry.get(&entry).copied().unwrap_or(NAMELESS));
        tables.by_node = Some(numbers.collect());
    }

    pub(super) fn units_with(&mut self, file: FileId, files: &mut SourceFiles) -> Vec<u32> {
        if file == NO_FILE {
            return Vec::new();
        }
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

    pub(super) fn read_unit(&mut self, number: u32, files: &mut SourceFiles) {
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
                let mut numbers = HashMap::new();
                for entry in functions.entries() {
                    numbers
                        .entry(entry)
                        .or_insert_with(|| number(dwarf, None, unit, entry, files));
                }
                (functions, numbers, read)
            });
        match split {
            Ok((functions, numbers, read)) => {
                tables.functions = functions;
                tables.split_functions = Some(numbers);
                faults.extend(read.err().map(damaged));
            }
            Err(fault) => {
                tables.split_functions = Some(HashMap::new());
                faults.push(fault);
            }
        }
    }
}

impl UnitTables {
    /// See [`DebugInfo::ranges_within`]; functions have been numbered if they are asked for.
    fn ranges(&self, wanted: Wanted, within: Option<&[FunctionId]>) -> Vec<(u32, u32)> {
        let by_node = self.by_node.as_deref().unwrap_or_default();
        let function = |node: usize| by_node.get(node).copied().unwrap_or(NAMELESS);
        let inside = within.map(|within| {
            let is_in = |node: usize, _: &Node| within.contains(&function(node));
            self.functions.nodes_beneath(is_in)
        });
        // Of a call the caller's frame counts, of a function its own.
        let is_inside = |node: usize| {
            let inside = inside.as_ref();
            inside.is_none_or(|inside| inside.get(node).copied().unwrap_or(false))
        };
        let marked = match wanted {
            Wanted::Line(file, line) => self.functions.nodes_beneath(|_, node| {
                node.call == Some(Call { file, line }) && is_inside(node.parent as usize)
            }),
            Wanted::Function(id) => self
                .functions
                .nodes_beneath(|number, _| function(number) == id && is_inside(number)),
        };
        let mut ranges = self.functions.code_of(&marked);
        if let Wanted::Line(file, line) = wanted {
            let rows = self.lines.stretches();
            let rows = rows.filter(|row| (row.2, row.3) == (file, line));
            let rows: Vec<(u32, u32)> = rows.map(|(start, end, _, _)| (start, end)).collect();
            match &inside {
                None => ranges.extend(rows),
                Some(inside) => {
                    let mut code = self.functions.code_of(inside);
                    code.sort_unstable();
                    for (start, end) in rows {
                        let first = code.partition_point(|part| part.1 <= start);
                        let parts = code[first..].iter().take_while(|part| part.0 < end);
                        ranges.extend(parts.map(|part| (part.0.max(start), part.1.min(end))));
                    }
                }
            }
        }
        ranges
    }
}

/// The number of the function whose entry is at `entry` of `unit`.
fn number<'a>(
    dwarf: &Dwarf<'a>,
    index: Option<&UnitIndex>,
    unit: &gimli::Unit<Reader<'a>>,
    entry: u32,
    files: &mut UnitFiles<'_, '_>,
) -> FunctionId {
    let declared = Declared::read(dwarf, index, unit, entry as usize);
    let name = demangled(declared.raw_name().unwrap_or_default());
    let file = match declared.file() {
        Some(DeclaredIn::Index(number)) => files.number(*number),
        Some(DeclaredIn::Path(path)) => files.named(path),
        None => NO_FILE,
    };
    files.function(name, file)
}

/// A fault as a sentence that names the file.
fn sentence(path: &Path, fault: &str) -> String {
    format!("{}: {fault}.", path.display())
}
