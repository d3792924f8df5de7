//! What a program's debug information covers, for `coz-rs doctor`. Reads file tables, no lines.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::attribution::Symbols;

/// What the debug information of the binaries in scope covers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// The separate file that it lies in, if it is not in the executable.
    pub debug_file: Option<PathBuf>,
    /// Source files that it names.
    pub files: usize,
    /// Of these, in scope.
    pub in_scope: usize,
    /// One in scope, as shown; one that lies on this machine if there is any.
    pub example: Option<String>,
}

impl Symbols {
    /// Surveys the binaries in scope. Before a process is known that is the executable.
    pub fn survey(&mut self) -> Survey {
        let mut survey = Survey::default();
        let mut seen = BTreeSet::new();
        for number in self.binaries_in_scope() {
            let Symbols {
                modules,
                files,
                directories,
                ..
            } = self;
            let Some(debug) = modules
                .binaries
                .get_mut(number)
                .and_then(|binary| binary.debug(directories))
            else {
                continue;
            };
            survey.debug_file = survey
                .debug_file
                .or_else(|| debug.separate_file().map(PathBuf::from));
            seen.extend(debug.files(files));
        }
        let in_scope: Vec<_> = seen
            .iter()
            .filter(|file| self.files.in_scope(**file))
            .collect();
        survey.files = seen.len();
        survey.in_scope = in_scope.len();
        let example = in_scope
            .iter()
            .find(|file| self.files.on_disk(***file).is_some())
            .or(in_scope.first());
        survey.example = example.map(|file| self.files.display(**file).to_owned());
        survey
    }
}
