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
use super::debug_info::{Place, Wanted};
use super::function_names::demangled;
use super::functions::{FunctionId, NAMELESS};
use super::hit_ranges::{HitRanges, without};
use super::left_out::{LeftOut, LeftOutId, Rule};
use super::modules::Modules;
use super::scope::{Scope, Unit};
use super::source_files::{FileId, NO_FILE, SourceFiles};
use super::spans::join;

/// Number of a source line, or of a function where functions are selected.
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

/// What a sample says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributed {
    /// Whom it belongs to.
    pub owner: Owner,
    /// The innermost code before the owner that a rule left out; of code that a user may want in
    /// scope rather than its caller if there is such.
    pub left_out: Option<LeftOutId>,
}

/// What is known of a line or a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineInfo {
    /// What the profile calls it: `file:line`, or the function's name; with the caller that it
    /// must be beneath.
    pub location: String,
    /// The source file as shown: relative to the working directory where possible.
    pub file: String,
    /// The line, counted from 1; 0 of a function.
    pub line: u32,
    /// The function it is in, demangled.
    pub function: String,
    /// Other functions whose code is the same, so that the linker kept one for all.
    pub aliases: Vec<String>,
    /// Where the source file lies on this machine, if it was found.
    pub source: Option<PathBuf>,
}

impl LineInfo {
    /// The function with its aliases, as the profile tells it.
    #[must_use]
    pub fn function_and_aliases(&self) -> String {
        if self.aliases.is_empty() {
            return self.function.clone();
        }
        format!(
            "{} (same code as {})",
            self.function,
            self.aliases.join(", ")
        )
    }
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
    numbers: HashMap<Wanted, LineId>,
    /// What is at an address, by address.
    looks: HashMap<u64, Look>,
    ranges: HashMap<LineId, HitRanges>,
    left_out: Vec<LeftOut>,
    left_out_numbers: HashMap<LeftOut, LeftOutId>,
    /// Functions met that hits must be beneath,
    callers: Vec<FunctionId>,
    /// and such that only symbol tables know: binary, start and end.
    caller_symbols: Vec<(usize, u32, u32)>,
    generation: u64,
}

#[derive(Debug)]
struct Line {
    wanted: Wanted,
    info: LineInfo,
    looked_for_aliases: bool,
}

/// What is at an address.
#[derive(Debug, Clone, Copy, Default)]
struct Look {
    /// The innermost line, or function, in scope.
    owner: Option<LineId>,
    /// The demanded caller is that frame, or one that it was inlined into.
    beneath: bool,
    /// The demanded caller is among the frames.
    is_caller: bool,
    /// What was left out before the owner.
    left_out: Option<LeftOutId>,
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
            looks: HashMap::new(),
            ranges: HashMap::new(),
            left_out: Vec::new(),
            left_out_numbers: HashMap::new(),
            callers: Vec::new(),
            caller_symbols: Vec::new(),
            generation: 0,
        }
    }

    /// Searches separate debug files by build id in these directories, and in this cache of
    /// `debuginfod` clients, in place of the system's. Call it before anything else.
    pub fn search_debug_files_in(&mut self, global: Vec<PathBuf>, cache: Option<PathBuf>) {
        self.directories = DebugDirectories {
            global,
            cache,
            fetcher: None,
        };
    }

    /// Fetches missing debug information by this tool, which is called as `debuginfod-find` is, in
    /// place of the system's. Call it before anything else.
    pub fn fetch_debug_files_by(&mut self, tool: PathBuf) {
        self.directories.fetcher = Some(tool);
    }

    /// Takes in debug information that was fetched meanwhile; true if there was any.
    pub fn take_fetched(&mut self) -> bool {
        let mut any = false;
        for binary in &mut self.modules.binaries {
            any |= binary.take_fetched(&self.directories);
        }
        if any {
            self.looks.clear();
            self.ranges.clear();
            self.generation += 1;
        }
        any
    }

    /// Reads which modules the process has loaded; true if that changed. Reads no DWARF.
    ///
    /// # Errors
    /// The process is gone, or its mappings may not be read.
    pub fn update_modules(&mut self, pid: i32) -> anyhow::Result<bool> {
        let changed = self.modules.update(pid)?;
        if changed {
            self.looks.clear();
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
        self.attribute(frames).owner
    }

    /// As [`owner`](Symbols::owner), and what was left out on the way to it.
    pub fn attribute(&mut self, frames: &[u64]) -> Attributed {
        let under = self.files.scope().under().is_some();
        let (mut known, mut owner, mut left_out) = (false, None, None);
        let mut beneath = false;
        for &address in frames {
            known |= self.knows(address);
            let look = self.look(address);
            if owner.is_some() {
                beneath = look.is_caller;
            } else {
                left_out = self.more_wanted(left_out, look.left_out);
                owner = look.owner;
                beneath = look.owner.is_some() && look.beneath;
            }
            if owner.is_some() && (beneath || !under) {
                break;
            }
        }
        match owner {
            Some(line) if beneath || !under => Attributed {
                owner: Owner::Line(line),
                left_out,
            },
            Some(line) => {
                let location = self.line(line).location.clone();
                let caller = self.files.scope().under();
                let text = caller.map_or_else(String::new, |caller| caller.text.clone());
                let rule = Rule::Under(text);
                Attributed {
                    owner: Owner::OutOfScope,
                    left_out: Some(self.note_left_out(LeftOut { rule, location })),
                }
            }
            None if known => Attributed {
                owner: Owner::OutOfScope,
                left_out,
            },
            None => {
                let location = String::new();
                let rule = Rule::NoModule;
                Attributed {
                    owner: Owner::Unknown,
                    left_out: Some(self.note_left_out(LeftOut { rule, location })),
                }
            }
        }
    }

    /// What a rule left out.
    ///
    /// # Panics
    /// If the number is not of these symbols.
    #[must_use]
    pub fn left_out(&self, id: LeftOutId) -> &LeftOut {
        &self.left_out[id.0 as usize]
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
                in_scope: self.selectable(binary, place),
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

    /// File and line number of a line; nothing of a function.
    pub(super) fn file_and_line(&self, id: LineId) -> Option<(FileId, u32)> {
        match self.lines.get(id.0 as usize)?.wanted {
            Wanted::Line(file, line) => Some((file, line)),
            Wanted::Function(_) => None,
        }
    }

    /// The addresses of a line in all modules loaded now: absolute, ascending, disjoint, half-open.
    ///
    /// Rows of the line in every unit, and all code inlined by a call on it. Of a function: its code
    /// wherever it was inlined.
    pub fn ranges(&mut self, id: LineId) -> Vec<(u64, u64)> {
        let HitRanges { alone, beneath, .. } = self.hit_ranges(id);
        join(alone.into_iter().chain(beneath).collect())
    }

    /// The addresses that make a stack a hit of the line.
    pub fn hit_ranges(&mut self, id: LineId) -> HitRanges {
        if let Some(ranges) = self.ranges.get(&id) {
            return ranges.clone();
        }
        let Some(line) = self.lines.get(id.0 as usize) else {
            return HitRanges::default();
        };
        let wanted = line.wanted;
        let all = self.placed(wanted, None);
        let ranges = if self.files.scope().under().is_none() {
            HitRanges {
                alone: join(all),
                ..HitRanges::default()
            }
        } else {
            let within = self.callers.clone();
            let alone = join(self.placed(wanted, Some(&within)));
            let mut callers = Vec::new();
            for caller in within {
                callers.extend(self.placed(Wanted::Function(caller), None));
            }
            for &(number, start, end) in &self.caller_symbols {
                callers.extend(self.modules.placed(number, start, end));
            }
            HitRanges {
                beneath: without(all, &alone),
                callers: join(callers),
                alone,
            }
        };
        self.ranges.insert(id, ranges.clone());
        ranges
    }

    /// The addresses of something in all modules loaded now, in any order.
    fn placed(&mut self, wanted: Wanted, within: Option<&[FunctionId]>) -> Vec<(u64, u64)> {
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
            for (start, end) in debug.ranges_within(wanted, within, files) {
                ranges.extend(modules.placed(number, start, end));
            }
        }
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

    /// The number of a line or function; its function's name is asked for when it is new.
    pub(super) fn number(
        &mut self,
        wanted: Wanted,
        function: impl FnOnce(&mut Symbols) -> String,
    ) -> LineId {
        if let Some(&known) = self.numbers.get(&wanted) {
            return known;
        }
        let function = function(self);
        let (file, line) = match wanted {
            Wanted::Line(file, line) => (file, line),
            Wanted::Function(function) => (self.files.functions.file(function), 0),
        };
        let shown = self.files.display(file).to_owned();
        let mut location = match wanted {
            Wanted::Line(..) => format!("{shown}:{line}"),
            Wanted::Function(id) if self.is_ambiguous(id) => format!("{function} ({shown})"),
            Wanted::Function(_) => function.clone(),
        };
        if let Some(caller) = self.files.scope().under() {
            location = format!("{location} under {}", caller.text);
        }
        let info = LineInfo {
            location,
            file: shown,
            line,
            function,
            aliases: Vec::new(),
            source: self.files.on_disk(file),
        };
        // Lines come from 32-bit addresses of binaries: they cannot outgrow their number.
        let id = LineId(self.lines.len() as u32);
        self.lines.push(Line {
            wanted,
            info,
            looked_for_aliases: false,
        });
        self.numbers.insert(wanted, id);
        id
    }

    /// Do several functions share the name? Those of the symbol tables count, so that the answer
    /// does not depend on which was met first.
    fn is_ambiguous(&self, function: FunctionId) -> bool {
        let name = self.files.functions.name(function);
        let mut in_scope = self.binaries_in_scope().into_iter();
        self.files.functions.is_ambiguous(function)
            || in_scope.any(|number| {
                let binary = self.modules.binaries.get(number);
                binary.is_some_and(|binary| binary.functions_named(name) > 1)
            })
    }

    /// Of two pieces of code left out the one that a user may want in scope, or else the first.
    fn more_wanted(&self, first: Option<LeftOutId>, next: Option<LeftOutId>) -> Option<LeftOutId> {
        let widened =
            |id: Option<LeftOutId>| id.is_some_and(|id| self.left_out(id).rule.is_widened());
        if first.is_none() || (!widened(first) && widened(next)) {
            next
        } else {
            first
        }
    }

    fn note_left_out(&mut self, left_out: LeftOut) -> LeftOutId {
        if let Some(&known) = self.left_out_numbers.get(&left_out) {
            return known;
        }
        // As many as there are lines at most.
        let id = LeftOutId(self.left_out.len() as u32);
        self.left_out.push(left_out.clone());
        self.left_out_numbers.insert(left_out, id);
        id
    }

    /// The demangled name of a place's function; empty if unknown.
    pub(super) fn function(&mut self, binary: usize, place: &Place) -> String {
        let id = self.function_id(binary, place);
        self.files.functions.name(id).to_owned()
    }

    fn function_id(&mut self, binary: usize, place: &Place) -> FunctionId {
        let Some(function) = place.function else {
            return NAMELESS;
        };
        let debug = self
            .modules
            .binaries
            .get_mut(binary)
            .and_then(|b| b.debug(&self.directories));
        debug.map_or(NAMELESS, |debug| debug.function(function, &mut self.files))
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

    /// Why experiments may not select the place, if they may not.
    fn place_rule(&mut self, binary: usize, place: &Place) -> Option<Rule> {
        let by_function = self.files.scope().unit() == Unit::Function;
        let mut file = place.file;
        if by_function || self.files.scope().judges_functions() {
            let function = self.function_id(binary, place);
            if by_function {
                if function == NAMELESS {
                    return Some(Rule::NoLine);
                }
                let declared = self.files.functions.file(function);
                file = if declared == NO_FILE { file } else { declared };
            }
            let name = self.files.functions.name(function);
            if let Some(rule) = self.files.scope().function_rule(name) {
                return Some(rule);
            }
        }
        if !by_function && place.line == 0 {
            return Some(Rule::NoLine);
        }
        self.files.rule(file).cloned()
    }

    fn selectable(&mut self, binary: usize, place: &Place) -> bool {
        self.place_rule(binary, place).is_none()
    }

    /// What is at an address, looked up once.
    fn look(&mut self, address: u64) -> Look {
        if let Some(&look) = self.looks.get(&address) {
            return look;
        }
        let look = self.look_anew(address);
        self.looks.insert(address, look);
        look
    }

    fn look_anew(&mut self, address: u64) -> Look {
        let mut look = Look::default();
        let Some((binary, distance)) = self.modules.find(address) else {
            return look;
        };
        let places = self.places(binary, distance);
        if places.is_empty() {
            let function = self.symbol(binary, distance).unwrap_or_default();
            look.is_caller = self.is_caller(&function);
            if look.is_caller {
                self.add_caller_symbol(binary, distance);
            }
            if let Some(rule) = self.binary_rule(binary) {
                let location = function;
                look.left_out = Some(self.note_left_out(LeftOut { rule, location }));
            }
            return look;
        }
        for place in &places {
            if look.owner.is_none() {
                match self.place_rule(binary, place) {
                    None => {
                        let id = self.number_of_place(binary, place, distance);
                        if place == places.last().unwrap_or(place) {
                            self.add_aliases(id, binary, distance);
                        }
                        look.owner = Some(id);
                    }
                    Some(rule) => {
                        let location = self.location_of(binary, place);
                        let left_out = self.note_left_out(LeftOut { rule, location });
                        look.left_out = self.more_wanted(look.left_out, Some(left_out));
                    }
                }
            }
            if self.files.scope().under().is_some() {
                let function = self.function_id(binary, place);
                let name = self.files.functions.name(function).to_owned();
                if self.is_caller(&name) {
                    look.is_caller = true;
                    // This frame is the owner, or one that the owner was inlined into.
                    look.beneath |= look.owner.is_some();
                    self.add_caller(function);
                }
            }
        }
        look
    }

    fn number_of_place(&mut self, binary: usize, place: &Place, distance: u32) -> LineId {
        let function = self.function_id(binary, place);
        let wanted = match self.files.scope().unit() {
            Unit::Line => Wanted::Line(place.file, place.line),
            Unit::Function => Wanted::Function(function),
        };
        self.number(wanted, |symbols| {
            let name = symbols.files.functions.name(function).to_owned();
            if name.is_empty() {
                symbols.symbol(binary, distance).unwrap_or_default()
            } else {
                name
            }
        })
    }

    /// Notes other functions of the same code, once.
    fn add_aliases(&mut self, id: LineId, binary: usize, distance: u32) {
        let Some(binary) = self.modules.binaries.get_mut(binary) else {
            return;
        };
        let Some(line) = self.lines.get_mut(id.0 as usize) else {
            return;
        };
        if line.looked_for_aliases {
            return;
        }
        line.looked_for_aliases = true;
        let names = binary.aliases(distance);
        let mut names: Vec<String> = names.iter().map(|name| demangled(name)).collect();
        names.retain(|name| *name != line.info.function);
        names.dedup();
        line.info.aliases = names;
    }

    /// `file:line` of a place, or its function if functions are selected or the line is unknown.
    fn location_of(&mut self, binary: usize, place: &Place) -> String {
        let by_function = self.files.scope().unit() == Unit::Function;
        if by_function || place.file == NO_FILE || place.line == 0 {
            return self.function(binary, place);
        }
        format!("{}:{}", self.files.display(place.file), place.line)
    }

    /// Why code that debug information does not know is out of scope.
    fn binary_rule(&self, number: usize) -> Option<Rule> {
        let binary = self.modules.binaries.get(number)?;
        let name = binary.path.file_name().unwrap_or(binary.path.as_os_str());
        let name = name.to_string_lossy().into_owned();
        Some(if !self.binary_in_scope(number) {
            let is_system = ["/usr/", "/lib/", "/lib64/", "["].iter().any(|prefix| {
                binary
                    .path
                    .as_os_str()
                    .as_encoded_bytes()
                    .starts_with(prefix.as_bytes())
            });
            if is_system {
                Rule::SystemBinary(name)
            } else {
                Rule::Binary(name)
            }
        } else if binary.has_debug(&self.directories) {
            Rule::NoLine
        } else {
            Rule::NoDebugInformation(name)
        })
    }

    fn is_caller(&self, function: &str) -> bool {
        let caller = self.files.scope().under();
        caller.is_some_and(|caller| caller.names(function))
    }

    fn add_caller(&mut self, function: FunctionId) {
        if !self.callers.contains(&function) {
            self.callers.push(function);
            self.ranges.clear();
            self.generation += 1;
        }
    }

    fn add_caller_symbol(&mut self, number: usize, distance: u32) {
        let binary = self.modules.binaries.get_mut(number);
        let Some((start, end)) = binary.and_then(|binary| binary.symbol_span(distance)) else {
            return;
        };
        if !self.caller_symbols.contains(&(number, start, end)) {
            self.caller_symbols.push((number, start, end));
            self.ranges.clear();
            self.generation += 1;
        }
    }

    fn symbol(&mut self, binary: usize, distance: u32) -> Option<String> {
        let binary = self.modules.binaries.get_mut(binary)?;
        Some(demangled(binary.symbol(distance)?))
    }
}
