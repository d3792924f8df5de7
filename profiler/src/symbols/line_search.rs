//! Finding the line that a user names as `file:line`.

use super::attribution::{LineId, Symbols};
use super::caller::Caller;
use super::debug_info::{Place, Wanted};
use super::scope::Unit;
use super::source_files::{FileId, normal};

/// Why there is no such line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineNotFound {
    /// The text is not of the form.
    #[error("`{spec}` is not FILE:LINE; write for instance src/main.rs:42")]
    NotALine {
        /// What was given.
        spec: String,
    },
    /// No source file of that name has code.
    #[error("no code of a file `{file}` is in the program or its debug information")]
    NoSuchFile {
        /// The file that was asked for.
        file: String,
    },
    /// The file has code, but not on that line.
    #[error(
        "{file} has no code on line {line}; the nearest lines with code are {} (the code of a line \
         may also have been folded into a function of the same code)",
        list(.nearest)
    )]
    NoCode {
        /// The file as shown.
        file: String,
        /// The line that was asked for.
        line: u32,
        /// The nearest lines that have code, ascending.
        nearest: Vec<u32>,
    },
    /// No function of that name was met yet.
    #[error("no sample was taken in a function `{function}` so far")]
    NoSuchFunction {
        /// The function that was asked for.
        function: String,
    },
    /// Several files fit.
    #[error("`{spec}` may be {}; name more of the path", .files.join(" or "))]
    Ambiguous {
        /// What was given.
        spec: String,
        /// The files that fit and have code on that line.
        files: Vec<String>,
    },
}

fn list(lines: &[u32]) -> String {
    lines
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// How many lines [`LineNotFound::NoCode`] suggests.
const SUGGESTIONS: usize = 6;

impl Symbols {
    /// The line that `spec` names: `FILE:LINE`, of which the last parts of the path are enough; where
    /// functions are selected, the function of that name.
    ///
    /// Also lines out of the source scope: who names one means it.
    ///
    /// # Errors
    /// See [`LineNotFound`].
    pub fn find_line(&mut self, spec: &str) -> Result<LineId, LineNotFound> {
        if self.files.scope().unit() == Unit::Function {
            return self.find_function(spec);
        }
        let not_a_line = || LineNotFound::NotALine {
            spec: spec.to_owned(),
        };
        let (file, line) = spec.rsplit_once(':').ok_or_else(not_a_line)?;
        let line: u32 = line
            .parse()
            .ok()
            .filter(|line| *line > 0)
            .ok_or_else(not_a_line)?;
        let wanted = normal(file.trim());
        if wanted.is_empty() {
            return Err(not_a_line());
        }

        let mut fitting = self.files_that_fit(&wanted);
        if fitting.is_empty() {
            return Err(LineNotFound::NoSuchFile { file: wanted });
        }
        // A file in scope, or exactly as it is shown, is meant before others of that name.
        fitting.sort_by_key(|(_, file)| {
            (
                self.files.display(*file) != wanted,
                !self.files.in_scope(*file),
                *file,
            )
        });
        let lines: Vec<(usize, FileId, Vec<u32>)> = fitting
            .into_iter()
            .map(|(binary, file)| (binary, file, self.lines_of(binary, file)))
            .collect();
        let with_line: Vec<_> = lines
            .iter()
            .filter(|(_, _, lines)| lines.contains(&line))
            .collect();
        let Some(&&(binary, file, _)) = with_line.first() else {
            return Err(self.no_code(&lines, line));
        };
        let rank = |file: FileId| {
            (
                self.files.display(file) != wanted,
                !self.files.in_scope(file),
            )
        };
        let mut equals: Vec<FileId> = with_line
            .iter()
            .map(|(_, other, _)| *other)
            .filter(|other| rank(*other) == rank(file))
            .collect();
        equals.dedup();
        if equals.len() > 1 {
            let files = equals
                .iter()
                .map(|file| self.files.display(*file).to_owned())
                .collect();
            return Err(LineNotFound::Ambiguous {
                spec: spec.to_owned(),
                files,
            });
        }
        Ok(self.number(Wanted::Line(file, line), |symbols| {
            symbols.function_of(binary, file, line)
        }))
    }

    /// The function of this name, among those that were met.
    fn find_function(&mut self, spec: &str) -> Result<LineId, LineNotFound> {
        let name = spec.trim();
        let missing = || LineNotFound::NoSuchFunction {
            function: name.to_owned(),
        };
        let caller = Caller::new(name);
        let mut fitting = self.files.functions.fitting(|name| caller.names(name));
        fitting.sort_by_key(|id| {
            let exact = self.files.functions.name(*id) == name;
            (
                !exact,
                !self.files.in_scope(self.files.functions.file(*id)),
                *id,
            )
        });
        let id = *fitting.first().ok_or_else(missing)?;
        Ok(self.number(Wanted::Function(id), |symbols| {
            symbols.files.functions.name(id).to_owned()
        }))
    }

    fn files_that_fit(&mut self, wanted: &str) -> Vec<(usize, FileId)> {
        let name = wanted.rsplit('/').next().unwrap_or(wanted);
        let mut fitting = Vec::new();
        for number in self.binaries_in_scope() {
            let Symbols {
                modules,
                files,
                directories,
                ..
            } = self;
            let debug = modules
                .binaries
                .get_mut(number)
                .and_then(|b| b.debug(directories));
            let Some(debug) = debug else { continue };
            let named = debug.files_named(name, files);
            let fits = named.into_iter().filter(|file| {
                let path = files.path(*file);
                path == wanted
                    || path
                        .strip_suffix(wanted)
                        .is_some_and(|rest| rest.ends_with('/'))
            });
            fitting.extend(fits.map(|file| (number, file)));
        }
        fitting
    }

    fn lines_of(&mut self, binary: usize, file: FileId) -> Vec<u32> {
        let Symbols {
            modules,
            files,
            directories,
            ..
        } = self;
        let debug = modules
            .binaries
            .get_mut(binary)
            .and_then(|b| b.debug(directories));
        debug.map_or_else(Vec::new, |debug| debug.lines_of(file, files))
    }

    fn no_code(&self, lines: &[(usize, FileId, Vec<u32>)], line: u32) -> LineNotFound {
        let best = lines
            .iter()
            .find(|(_, _, lines)| !lines.is_empty())
            .or(lines.first());
        let Some((_, file, lines)) = best else {
            return LineNotFound::NoSuchFile {
                file: String::new(),
            };
        };
        if lines.is_empty() {
            return LineNotFound::NoSuchFile {
                file: self.files.display(*file).to_owned(),
            };
        }
        let mut nearest = lines.clone();
        nearest.sort_by_key(|other| other.abs_diff(line));
        nearest.truncate(SUGGESTIONS);
        nearest.sort_unstable();
        LineNotFound::NoCode {
            file: self.files.display(*file).to_owned(),
            line,
            nearest,
        }
    }

    fn function_of(&mut self, binary: usize, file: FileId, line: u32) -> String {
        let Symbols {
            modules,
            files,
            directories,
            ..
        } = self;
        let debug = modules
            .binaries
            .get_mut(binary)
            .and_then(|b| b.debug(directories));
        let first = debug.and_then(|debug| {
            debug
                .ranges(Wanted::Line(file, line), files)
                .into_iter()
                .min()
        });
        let Some((distance, _)) = first else {
            return String::new();
        };
        let places = self.places(binary, distance);
        let on_line = |place: &&Place| (place.file, place.line) == (file, line);
        let Some(place) = places.iter().find(on_line) else {
            return String::new();
        };
        self.function(binary, place)
    }
}
