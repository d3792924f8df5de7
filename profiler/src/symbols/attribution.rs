//! [`Symbols`]: which line a sample belongs to, and which addresses belong to a line.
//!
//! Two directions of one truth: an address lies in the [`ranges`](Symbols::ranges) of a line if and
//! only if its [`chain`](Symbols::chain) names the line. The target judges hits by the former, the
//! controller owners by the latter, and both come from the same tables.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coz_rs_runtime_preload::unwind_row::Row;

use super::debug_file::{DebugDirectories, hexadecimal};
use super::debug_info::Place;
use super::function_names::demangled;
use super::modules::Modules;
use super::scope::Scope;
use super::source_files::{FileId, NO_FILE, SourceFiles};
use super::spans::join;

/// Number of a source line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineId(pub(super) u32);

/// Whom a sample belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The innermost line in scope.
    Line(LineId),
    /// Known code, none of it in scope.
    OutOfScope,
    /// No frame lies in a known module.
    Unknown,
}

/// What is known of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineInfo {
    /// The source file as shown: relative to the working directory where possible.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The function it is in, demangled.
    pub function: String,
    /// Where the source file lies on this machine, if it was found.
    pub source: Option<PathBuf>,
}

/// One frame at an address, inlined or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The source file as shown; empty if unknown.
    pub file: String,
    /// The line; 0 if unknown.
    pub line: u32,
    /// The function, demangled; empty if unknown.
    pub function: String,
    /// May experiments select its line?
    pub in_scope: bool,
    /// Is it in a source file of the user's, whatever the scope is narrowed to?
    pub is_users: bool,
}

/// A loaded module with its unwind table.
#[derive(Debug, Clone)]
pub struct UnwindModule {
    /// Path of the binary, or `[vdso]`.
    pub name: String,
    /// First mapped address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Address that rows count from.
    pub base: u64,
    /// The rows, ascending.
    pub rows: Arc<[Row]>,
}

/// The symbols of one target.
#[derive(Debug)]
pub struct Symbols {
    pub(super) modules: Modules,
    pub(super) files: SourceFiles,
    pub(super) directories: DebugDirectories,
    lines: Vec<Line>,
    numbers: HashMap<(FileId, u32), LineId>,
    /// Innermost line in scope by address.
    owners: HashMap<u64, Option<LineId>>,
    ranges: HashMap<LineId, Vec<(u64, u64)>>,
    generation: u64,
}

#[derive(Debug)]
struct Line {
    file: FileId,
    info: LineInfo,
}

impl Symbols {
    /// The symbols of a program that is about to run. Paths are shown relative to the current
    /// working directory.
    #[must_use]
    pub fn new(scope: Scope, executable: &Path) -> Symbols {
        let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        Symbols {
            modules: Modules::with_executable(executable),
            files: SourceFiles::new(scope, directory),
            directories: DebugDirectories::default(),
            lines: Vec::new(),
            numbers: HashMap::new(),
            owners: HashMap::new(),
            ranges: HashMap::new(),
            generation: 0,
        }
    }

    /// Searches separate debug files by build id in these directories, and in this cache of
    /// `debuginfod` clients, in place of the system's. Call it before anything else.
    pub fn search_debug_files_in(&mut self, global: Vec<PathBuf>, cache: Option<PathBuf>) {
        self.directories = DebugDirectories { global, cache };
    }

    /// Reads which modules the process has loaded; true if that changed. Reads no DWARF.
    ///
    /// # Errors
    /// The process is gone, or its mappings may not be read.
    pub fn update_modules(&mut self, pid: i32) -> anyhow::Result<bool> {
        let changed = self.modules.update(pid)?;
        if changed {
            self.owners.clear();
            self.ranges.clear();
            self.generation += 1;
        }
        Ok(changed)
    }

    /// The loaded modules with their unwind tables, ascending; tables are built once a file.
    pub fn unwind_modules(&mut self) -> Vec<UnwindModule> {
        let Modules {
            binaries, loaded, ..
        } = &mut self.modules;
        let modules = loaded.iter().filter_map(|module| {
            let binary = binaries.get_mut(module.binary)?;
            Some(UnwindModule {
                name: binary.path.display().to_string(),
                start: module.start,
                end: module.end,
                base: module.start,
                rows: binary.rows(),
            })
        });
        modules.collect()
    }

    /// Does the address lie in a known module?
    #[must_use]
    pub fn knows(&self, address: u64) -> bool {
        self.modules.find(address).is_some()
    }

    /// Whom a sample belongs to. `frames` go from the interrupted address outwards; all but the
    /// first are return addresses minus one.
    pub fn owner(&mut self, frames: &[u64]) -> Owner {
        let mut known = false;
        for &address in frames {
            known |= self.knows(address);
            let line = match self.owners.get(&address) {
                Some(&line) => line,
                None => {
                    let line = self.innermost_line(address);
                    self.owners.insert(address, line);
                    line
                }
            };
            if let Some(line) = line {
                return Owner::Line(line);
            }
        }
        if known {
            Owner::OutOfScope
        } else {
            Owner::Unknown
        }
    }

    /// The frames at an address, inlined ones first. Code without debug information, and binaries
    /// out of scope, give one frame with a function of the symbol table.
    pub fn chain(&mut self, address: u64) -> Vec<Frame> {
        let Some((binary, distance)) = self.modules.find(address) else {
            return Vec::new();
        };
        let places = self.places(binary, distance);
        let mut frames: Vec<Frame> = Vec::with_capacity(places.len());
        for place in &places {
            frames.push(Frame {
                file: self.files.display(place.file).to_owned(),
                line: place.line,
                function: self.function(binary, place),
                in_scope: self.selectable(place),
                is_users: place.line != 0 && self.files.is_users(place.file),
            });
        }
        // Where debug information names no function, the symbol table does.
        if frames.last().is_none_or(|last| last.function.is_empty())
            && let Some(function) = self.symbol(binary, distance)
        {
            match frames.last_mut() {
                Some(last) => last.function = function,
                None => {
                    let file = String::new();
                    frames.push(Frame {
                        file,
                        line: 0,
                        function,
                        in_scope: false,
                        is_users: false,
                    });
                }
            }
        }
        frames
    }

    /// What is known of a line.
    ///
    /// # Panics
    /// If the line is not of these symbols.
    #[must_use]
    pub fn line(&self, id: LineId) -> &LineInfo {
        &self.lines[id.0 as usize].info
    }

    /// The addresses of a line in all modules loaded now: absolute, ascending, disjoint, half-open.
    ///
    /// Rows of the line in every unit, and all code inlined by a call on it.
    pub fn ranges(&mut self, id: LineId) -> Vec<(u64, u64)> {
        if let Some(ranges) = self.ranges.get(&id) {
            return ranges.clone();
        }
        let Some(line) = self.lines.get(id.0 as usize) else {
            return Vec::new();
        };
        let (file, line) = (line.file, line.info.line);
        let mut ranges = Vec::new();
        for number in self.binaries_in_scope() {
            let Symbols {
                modules,
                files,
                directories,
                ..
            } = self;
            let Some(binary) = modules.binaries.get_mut(number) else {
                continue;
            };
            let Some(debug) = binary.debug(directories) else {
                continue;
            };
            let distances = debug.ranges(file, line, files);
            for module in modules
                .loaded
                .iter()
                .filter(|module| module.binary == number)
            {
                ranges.extend(distances.iter().filter_map(|&(start, end)| {
                    let place = |distance| module.start.checked_add(u64::from(distance));
                    Some((place(start)?, place(end)?.min(module.end)))
                }));
            }
        }
        let ranges = join(ranges);
        self.ranges.insert(id, ranges.clone());
        ranges
    }

    /// Grows when [`ranges`](Symbols::ranges) may give more, or others, than before.
    #[must_use]
    pub fn ranges_generation(&self) -> u64 {
        self.generation
    }

    /// What is missing or damaged, one sentence each, naming the file.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> = self.modules.problems().cloned().collect();
        if let Some(main) = self
            .modules
            .main()
            .filter(|main| !main.has_debug(&self.directories))
        {
            problems.insert(
                0,
                format!(
                    "{} has no debug information: build it with -g (C, C++) or \
                     CARGO_PROFILE_RELEASE_DEBUG=true (Rust), and do not strip it.",
                    main.path.display()
                ),
            );
        }
        problems
    }

    /// Has the main executable debug information?
    #[must_use]
    pub fn has_debug_info(&self) -> bool {
        self.modules
            .main()
            .is_some_and(|main| main.has_debug(&self.directories))
    }

    /// The main executable's build id, in hexadecimal.
    #[must_use]
    pub fn build_id(&self) -> Option<String> {
        self.modules.main()?.elf.build_id().map(hexadecimal)
    }

    /// Numbers of the binaries whose lines may be selected.
    pub(super) fn binaries_in_scope(&self) -> Vec<usize> {
        (0..self.modules.binaries.len())
            .filter(|number| self.binary_in_scope(*number))
            .collect()
    }

    /// The number of a line; `function` is asked for when the line is new.
    pub(super) fn number(
        &mut self,
        file: FileId,
        line: u32,
        function: impl FnOnce(&mut Symbols) -> String,
    ) -> LineId {
        if let Some(&known) = self.numbers.get(&(file, line)) {
            return known;
        }
        let info = LineInfo {
            file: self.files.display(file).to_owned(),
            line,
            function: function(self),
            source: self.files.on_disk(file),
        };
        // Lines come from 32-bit addresses of binaries: they cannot outgrow their number.
        let id = LineId(self.lines.len() as u32);
        self.lines.push(Line { file, info });
        self.numbers.insert((file, line), id);
        id
    }

    /// The demangled name of a place's function; empty if unknown.
    pub(super) fn function(&mut self, binary: usize, place: &Place) -> String {
        let Some(function) = place.function else {
            return String::new();
        };
        let debug = self
            .modules
            .binaries
            .get_mut(binary)
            .and_then(|b| b.debug(&self.directories));
        debug.map_or_else(String::new, |debug| {
            debug.function_name(function).to_owned()
        })
    }

    /// The frames at a distance from a binary's first page.
    pub(super) fn places(&mut self, binary: usize, distance: u32) -> Vec<Place> {
        if !self.binary_in_scope(binary) {
            return Vec::new();
        }
        let debug = self
            .modules
            .binaries
            .get_mut(binary)
            .and_then(|b| b.debug(&self.directories));
        debug.map_or_else(Vec::new, |debug| debug.places(distance, &mut self.files))
    }

    fn binary_in_scope(&self, number: usize) -> bool {
        let is_main = self.modules.main == Some(number);
        let binary = self.modules.binaries.get(number);
        binary.is_some_and(|binary| self.files.scope().has_binary(&binary.path, is_main))
    }

    fn selectable(&self, place: &Place) -> bool {
        place.file != NO_FILE && place.line != 0 && self.files.in_scope(place.file)
    }

    fn innermost_line(&mut self, address: u64) -> Option<LineId> {
        let (binary, distance) = self.modules.find(address)?;
        let places = self.places(binary, distance);
        let place = *places.iter().find(|place| self.selectable(place))?;
        Some(self.number(place.file, place.line, |symbols| {
            let name = symbols.function(binary, &place);
            if name.is_empty() {
                symbols.symbol(binary, distance).unwrap_or_default()
            } else {
                name
            }
        }))
    }

    fn symbol(&mut self, binary: usize, distance: u32) -> Option<String> {
        let binary = self.modules.binaries.get_mut(binary)?;
        Some(demangled(binary.symbol(distance)?))
    }
}
