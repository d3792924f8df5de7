//! The functions met so far: one number for all copies of a function, inlined or not, in whatever
//! unit or binary.
//!
//! A function is known by its readable name and the file that declares it: static functions of one
//! name in two files are two, the instances of a generic Rust function are one.

use std::collections::HashMap;

use super::source_files::{FileId, NO_FILE};

/// Number of a function in [`Functions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FunctionId(u32);

/// All functions met so far.
#[derive(Debug)]
pub(super) struct Functions {
    numbers: HashMap<(String, FileId), FunctionId>,
    functions: Vec<(String, FileId)>,
}

/// The function of which nothing is known.
pub(super) const NAMELESS: FunctionId = FunctionId(0);

impl Default for Functions {
    fn default() -> Functions {
        Functions {
            numbers: HashMap::from([((String::new(), NO_FILE), NAMELESS)]),
            functions: vec![(String::new(), NO_FILE)],
        }
    }
}

impl Functions {
    /// The number of the function of this readable name that `file` declares.
    pub(super) fn number(&mut self, name: String, file: FileId) -> FunctionId {
        let key = (name, file);
        if let Some(&known) = self.numbers.get(&key) {
            return known;
        }
        let Ok(next) = u32::try_from(self.functions.len()) else {
            return NAMELESS;
        };
        self.functions.push(key.clone());
        self.numbers.insert(key, FunctionId(next));
        FunctionId(next)
    }

    /// Its readable name; empty if it has none.
    pub(super) fn name(&self, function: FunctionId) -> &str {
        self.functions
            .get(function.0 as usize)
            .map_or("", |known| &known.0)
    }

    /// The file that declares it; [`NO_FILE`] if unknown.
    pub(super) fn file(&self, function: FunctionId) -> FileId {
        self.functions
            .get(function.0 as usize)
            .map_or(NO_FILE, |known| known.1)
    }

    /// The functions whose names fit.
    pub(super) fn fitting(&self, fits: impl Fn(&str) -> bool) -> Vec<FunctionId> {
        let numbers = (0u32..).zip(&self.functions);
        let fitting = numbers.filter(|(_, known)| fits(&known.0));
        fitting.map(|(number, _)| FunctionId(number)).collect()
    }

    /// Is there another function of the same name?
    pub(super) fn is_ambiguous(&self, function: FunctionId) -> bool {
        let name = self.name(function);
        let of_name = self.functions.iter().filter(|known| known.0 == name);
        of_name.count() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_its_name_and_its_file() {
        let mut functions = Functions::default();
        let a = functions.number("walk".to_owned(), FileId(1));
        assert!(!functions.is_ambiguous(a));
        let b = functions.number("walk".to_owned(), FileId(2));
        assert_ne!(a, b);
        assert_eq!(functions.number("walk".to_owned(), FileId(1)), a);
        assert!(functions.is_ambiguous(a) && functions.is_ambiguous(b));
        assert_eq!((functions.name(b), functions.file(b)), ("walk", FileId(2)));
        assert_eq!(functions.number(String::new(), NO_FILE), NAMELESS);
    }
}
