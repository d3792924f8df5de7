//! Where debug information lies that is not in the binary itself: separate files found by build
//! id or `.gnu_debuglink`, and the alternate files of dwz.
//!
//! Nothing is fetched from a server here (see `debug_fetch`); what `debuginfod` clients have already
//! fetched is used.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::elf_file::ElfFile;
use super::file_bytes::FileBytes;

/// Where to search.
#[derive(Debug, Clone)]
pub(super) struct DebugDirectories {
    /// Global directories, `/usr/lib/debug` by default.
    pub(super) global: Vec<PathBuf>,
    /// The cache of `debuginfod` clients.
    pub(super) cache: Option<PathBuf>,
    /// What fetches them from servers, if the user wants that.
    pub(super) fetcher: Option<PathBuf>,
}

impl Default for DebugDirectories {
    fn default() -> DebugDirectories {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let cache = variable("DEBUGINFOD_CACHE_PATH")
            .map(PathBuf::from)
            .or_else(|| {
                let base = variable("XDG_CACHE_HOME")
                    .map(PathBuf::from)
                    .or_else(|| Some(Path::new(&variable("HOME")?).join(".cache")))?;
                Some(base.join("debuginfod_client"))
            });
        DebugDirectories {
            global: vec![PathBuf::from("/usr/lib/debug")],
            cache,
            fetcher: variable("DEBUGINFOD_URLS").map(|_| PathBuf::from("debuginfod-find")),
        }
    }
}

/// What a search found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The file with the debug information.
    pub(super) file: Option<(PathBuf, ElfFile)>,
    /// Why files that looked right were not used, one clause each.
    pub(super) refused: Vec<String>,
}

/// Opens an ELF file for reading.
pub(super) fn open(path: &Path) -> Option<ElfFile> {
    let bytes = FileBytes::map(&File::open(path).ok()?).ok()?;
    ElfFile::new(bytes).ok()
}

impl DebugDirectories {
    /// The separate debug file of `elf`, which lies at `path`.
    pub(super) fn separate(&self, elf: &ElfFile, path: &Path) -> Found {
        self.separate_or(elf, path, None)
    }

    /// As [`separate`](DebugDirectories::separate); `fetched` is looked at first.
    pub(super) fn separate_or(&self, elf: &ElfFile, path: &Path, fetched: Option<&Path>) -> Found {
        let mut found = Found::default();
        let build_id = elf.build_id().filter(|id| id.len() > 1);
        let by_id = build_id
            .into_iter()
            .flat_map(|id| self.by_build_id(id, "debuginfo"));
        let fetched = fetched.map(Path::to_owned).filter(|_| build_id.is_some());
        for candidate in fetched.into_iter().chain(by_id) {
            if let Some(file) = open(&candidate).filter(has_debug_info) {
                if file.build_id() == build_id {
                    found.file = Some((candidate, file));
                    return found;
                }
                found
                    .refused
                    .push(format!("{} has another build id", candidate.display()));
            }
        }
        let Some((name, checksum)) = elf.debug_link() else {
            return found;
        };
        for candidate in self.by_link(path, OsStr::from_bytes(&name)) {
            let Some(file) = open(&candidate).filter(has_debug_info) else {
                continue;
            };
            let same_id = build_id.is_some() && file.build_id() == build_id;
            if same_id || crc32fast::hash(file.bytes()) == checksum {
                found.file = Some((candidate, file));
                return found;
            }
            found.refused.push(format!(
                "{} does not belong to it (checksum and build id differ)",
                candidate.display()
            ));
        }
        found
    }

    /// The file that dwz moved shared parts of `elf`, which lies at `path`, to.
    pub(super) fn alternate(&self, elf: &ElfFile, path: &Path) -> Found {
        let mut found = Found::default();
        let Some((name, build_id)) = elf.alternate_link() else {
            return found;
        };
        let directory = path.parent().unwrap_or(Path::new("/"));
        let named = directory.join(OsStr::from_bytes(&name));
        let candidates = std::iter::once(named).chain(self.by_build_id(&build_id, "debuginfo"));
        for candidate in candidates {
            let Some(file) = open(&candidate) else {
                continue;
            };
            if file.build_id() == Some(&build_id) {
                found.file = Some((candidate, file));
                return found;
            }
            found
                .refused
                .push(format!("{} has another build id", candidate.display()));
        }
        if found.refused.is_empty() {
            let name = String::from_utf8_lossy(&name).into_owned();
            found
                .refused
                .push(format!("its alternate file {name} is missing"));
        }
        found
    }

    fn by_build_id(&self, id: &[u8], kind: &str) -> Vec<PathBuf> {
        let hex = hexadecimal(id);
        let Some((first, rest)) = hex.split_at_checked(2) else {
            return Vec::new();
        };
        let file = format!(".build-id/{first}/{rest}.debug");
        let global = self.global.iter().map(|root| root.join(&file));
        global
            .chain(self.cache.iter().map(|cache| cache.join(&hex).join(kind)))
            .collect()
    }

    fn by_link(&self, path: &Path, name: &OsStr) -> Vec<PathBuf> {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let directory = real.parent().unwrap_or(Path::new("/"));
        let inner = directory.strip_prefix("/").unwrap_or(directory);
        let mut candidates = vec![directory.join(name), directory.join(".debug").join(name)];
        candidates.extend(self.global.iter().map(|root| root.join(inner).join(name)));
        candidates.retain(|candidate| *candidate != real);
        candidates
    }
}

fn has_debug_info(file: &ElfFile) -> bool {
    file.has_section(".debug_info")
}

/// Bytes as lower-case hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
