//! The source files that debug information names: one number a path, whether it is in scope, how
//! it is shown and where it lies on this machine.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::foreign_place::is_users;
use super::functions::Functions;
use super::left_out::Rule;
use super::scope::Scope;

/// Number of a source file in [`SourceFiles`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FileId(pub(super) u32);

/// Stands for "no file known".
pub(super) const NO_FILE: FileId = FileId(u32::MAX);

/// All source files met so far, and the functions in them.
#[derive(Debug)]
pub(super) struct SourceFiles {
    pub(super) functions: Functions,
    scope: Scope,
    directory: PathBuf,
    numbers: HashMap<Arc<str>, FileId>,
    files: Vec<SourceFile>,
}

#[derive(Debug)]
struct SourceFile {
    path: Arc<str>,
    display: String,
    /// Why experiments may not select its lines.
    rule: Option<Rule>,
    is_users: bool,
}

impl SourceFiles {
    /// No files yet. `directory` is what shown paths are relative to.
    pub(super) fn new(scope: Scope, directory: PathBuf) -> SourceFiles {
        SourceFiles {
            functions: Functions::default(),
            scope,
            directory,
            numbers: HashMap::new(),
            files: Vec::new(),
        }
    }

    /// The scope by which files are judged.
    pub(super) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The number of the file with this path, as debug information spells it; from here on it is
    /// the path that `--source-map` makes of it.
    pub(super) fn number(&mut self, path: &str) -> FileId {
        let path = normal(path);
        let path = self.scope.mapped(&path).unwrap_or(path);
        if let Some(&known) = self.numbers.get(path.as_str()) {
            return known;
        }
        let Ok(next) = u32::try_from(self.files.len()) else {
            return NO_FILE;
        };
        let display = match Path::new(&path).strip_prefix(&self.directory) {
            Ok(inner) if inner.as_os_str().is_empty() => path.clone(),
            Ok(inner) => inner.to_string_lossy().into_owned(),
            Err(_) => path.clone(),
        };
        let rule = self.scope.source_rule(&path, &display);
        let is_users = is_users(&path);
        let path: Arc<str> = path.into();
        self.numbers.insert(Arc::clone(&path), FileId(next));
        self.files.push(SourceFile {
            path,
            display,
            rule,
            is_users,
        });
        FileId(next)
    }

    /// The path as debug information and `--source-map` give it, without `.` and `..`.
    pub(super) fn path(&self, file: FileId) -> &str {
        self.files.get(file.0 as usize).map_or("", |f| &f.path)
    }

    /// The path as people see it.
    pub(super) fn display(&self, file: FileId) -> &str {
        self.files.get(file.0 as usize).map_or("", |f| &f.display)
    }

    /// May experiments select lines of this file?
    pub(super) fn in_scope(&self, file: FileId) -> bool {
        self.files
            .get(file.0 as usize)
            .is_some_and(|f| f.rule.is_none())
    }

    /// Why experiments may not select lines of this file, if they may not.
    pub(super) fn rule(&self, file: FileId) -> Option<&Rule> {
        self.files
            .get(file.0 as usize)
            .map_or(Some(&Rule::NoLine), |f| f.rule.as_ref())
    }

    /// Is the file the user's own by its place, whatever the scope is?
    pub(super) fn is_users(&self, file: FileId) -> bool {
        self.files.get(file.0 as usize).is_some_and(|f| f.is_users)
    }

    /// Where the file lies here, if it can be found: at its own path, or, for programs built
    /// elsewhere or with remapped paths, where its last directories lie under the working
    /// directory.
    pub(super) fn on_disk(&self, file: FileId) -> Option<PathBuf> {
        let path = Path::new(self.path(file));
        if path.is_absolute() && path.is_file() {
            return Some(path.to_owned());
        }
        let parts: Vec<_> = path
            .components()
            .filter(|c| matches!(c, Component::Normal(_)))
            .collect();
        (0..parts.len())
            .map(|skip| {
                self.directory
                    .join(parts[skip..].iter().collect::<PathBuf>())
            })
            .find(|candidate| candidate.is_file())
    }
}

/// `path` without `.`, `..` and doubled slashes. Only text: links are not followed, and a `..`
/// that would leave the path stays.
pub(super) fn normal(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => drop(parts.pop()),
                _ if rooted => {}
                _ => parts.push(".."),
            },
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if rooted { format!("/{joined}") } else { joined }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_dots() {
        for (from, to) in [
            ("/a/b/../c/./d.c", "/a/c/d.c"),
            ("./x.c", "x.c"),
            ("/../x.c", "/x.c"),
            ("../x.c", "../x.c"),
            ("../../x.c", "../../x.c"),
            ("a//b.c", "a/b.c"),
        ] {
            assert_eq!(normal(from), to);
        }
    }

    #[test]
    fn files_are_shown_relative_and_found_by_their_last_directories() {
        let here = std::env::temp_dir().join(format!("coz-rs-source-files-{}", std::process::id()));
        std::fs::create_dir_all(here.join("src")).unwrap();
        std::fs::write(here.join("src/a.c"), "").unwrap();
        let mut files = SourceFiles::new(Scope::default(), here.clone());
        let own = files.number(&format!("{}/lib/../src/a.c", here.display()));
        let moved = files.number("/build/package-1.0/src/a.c");
        let lost = files.number("/build/package-1.0/src/b.c");
        assert_eq!(files.display(own), "src/a.c");
        assert_eq!(files.on_disk(own), Some(here.join("src/a.c")));
        assert_eq!(files.on_disk(moved), Some(here.join("src/a.c")));
        assert_eq!(files.on_disk(lost), None);
        assert_eq!(files.number("/build/package-1.0/./src/b.c"), lost);
        assert!(!files.in_scope(NO_FILE));
        std::fs::remove_dir_all(here).unwrap();
    }
}
