//! The binaries that a process has loaded, and where.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::binary::{Binary, FileIdentity};
use super::elf_file::{ElfError, ElfFile};
use super::file_bytes::FileBytes;
use super::process_maps::{Mapping, VDSO, parse};

/// A binary at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Module {
    /// First mapped address and first address after it.
    pub(super) start: u64,
    pub(super) end: u64,
    /// Number of the binary in [`Modules::binaries`].
    pub(super) binary: usize,
}

impl Module {
    /// The distance from the module's first page, if the address is inside.
    pub(super) fn distance(&self, address: u64) -> Option<u32> {
        if address >= self.end {
            return None;
        }
        u32::try_from(address.checked_sub(self.start)?).ok()
    }
}

/// All binaries known and the modules loaded now.
#[derive(Debug, Default)]
pub(super) struct Modules {
    pub(super) binaries: Vec<Binary>,
    /// Ascending, disjoint.
    pub(super) loaded: Vec<Module>,
    /// Number of the main executable.
    pub(super) main: Option<usize>,
    mappings: Vec<Mapping>,
    problems: Vec<String>,
}

impl Modules {
    /// Opens the main executable before any process runs it.
    pub(super) fn with_executable(path: &Path) -> Modules {
        let mut modules = Modules::default();
        match File::open(path) {
            Ok(file) => match modules.add(path, &file) {
                Ok(number) => modules.main = Some(number),
                Err(error) => modules
                    .problems
                    .push(format!("{}: it {error}.", path.display())),
            },
            Err(error) => modules
                .problems
                .push(format!("{}: {error}.", path.display())),
        }
        modules
    }

    /// Reads the process's mappings; true if the modules changed.
    pub(super) fn update(&mut self, pid: i32) -> anyhow::Result<bool> {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let maps = process.join("maps");
        let text =
            std::fs::read(&maps).with_context(|| format!("cannot read {}", maps.display()))?;
        let mappings = parse(&text);
        if mappings == self.mappings {
            return Ok(false);
        }
        let executable = std::fs::metadata(process.join("exe"))
            .ok()
            .map(|meta| meta.ino());
        let mut places: HashMap<(&str, u64, &Path), usize> = HashMap::new();
        let mut loaded = Vec::new();
        for mapping in mappings.iter().filter(|mapping| mapping.executable) {
            let key = (
                mapping.device.as_str(),
                mapping.inode,
                mapping.path.as_path(),
            );
            let binary = match places.get(&key) {
                Some(&binary) => binary,
                None => {
                    let Some(binary) = self.binary(&process, pid, mapping) else {
                        continue;
                    };
                    if executable == Some(mapping.inode) {
                        self.main = Some(binary);
                    }
                    places.insert(key, binary);
                    binary
                }
            };
            let Some(start) = self.first_page(binary, mapping) else {
                continue;
            };
            let (first, end) = self
                .binaries
                .get(binary)
                .map_or((0, 0), |binary| binary.span);
            let Some(end) = start.checked_add(end - first) else {
                continue;
            };
            loaded.push(Module { start, end, binary });
        }
        loaded.sort_by_key(|module| (module.start, module.end));
        loaded.dedup();
        // Where two claim one address, something is not what it seems; the first keeps it.
        loaded.dedup_by(|later, kept| later.start < kept.end);
        let changed = loaded != self.loaded;
        self.loaded = loaded;
        self.mappings = mappings;
        Ok(changed)
    }

    /// The module that holds the address, and the distance from its first page.
    pub(super) fn find(&self, address: u64) -> Option<(usize, u32)> {
        let after = self
            .loaded
            .partition_point(|module| module.start <= address);
        let module = self.loaded.get(after.checked_sub(1)?)?;
        Some((module.binary, module.distance(address)?))
    }

    /// Where a binary's stretch of addresses lies now, wherever it is loaded.
    pub(super) fn placed(
        &self,
        binary: usize,
        start: u32,
        end: u32,
    ) -> impl Iterator<Item = (u64, u64)> {
        let loaded = self.loaded.iter();
        let loaded = loaded.filter(move |module| module.binary == binary);
        loaded.filter_map(move |module| {
            let place = |distance| module.start.checked_add(u64::from(distance));
            Some((place(start)?, place(end)?.min(module.end)))
        })
    }

    /// The main executable.
    pub(super) fn main(&self) -> Option<&Binary> {
        self.binaries.get(self.main?)
    }

    /// What could not be opened, one sentence each.
    pub(super) fn problems(&self) -> impl Iterator<Item = &String> {
        self.problems
            .iter()
            .chain(self.binaries.iter().flat_map(Binary::problems))
    }

    /// Where the binary's first page is in the process.
    fn first_page(&self, binary: usize, mapping: &Mapping) -> Option<u64> {
        let binary = self.binaries.get(binary)?;
        if mapping.inode == 0 {
            return Some(mapping.start);
        }
        let bias = binary.elf.bias(mapping.start, mapping.offset)?;
        Some(binary.span.0.wrapping_add(bias))
    }

    fn binary(&mut self, process: &Path, pid: i32, mapping: &Mapping) -> Option<usize> {
        if mapping.inode == 0 {
            return self.vdso(process, mapping);
        }
        match open_mapped(process, mapping) {
            Some(file) => match self.add(&mapping.path, &file) {
                // Not every file with code is a binary: programs map what they generate.
                Err(ElfError::NotElf) => None,
                Err(error) => {
                    self.problem(format!("{}: it {error}.", mapping.path.display()));
                    None
                }
                Ok(number) => Some(number),
            },
            // Code that a program writes for itself (a JIT's) has a made-up name and no file.
            None if is_no_file(&mapping.path) => None,
            None => {
                self.problem(format!(
                    "{}: process {pid} runs a file that was removed or replaced since; its code is not attributed.",
                    mapping.path.display()
                ));
                None
            }
        }
    }

    /// The number of the binary in this file; files met before keep their number.
    fn add(&mut self, path: &Path, file: &File) -> Result<usize, ElfError> {
        let identity = file.metadata().ok().map(|meta| FileIdentity {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        });
        let known = self
            .binaries
            .iter()
            .position(|b| b.identity.is_some() && b.identity == identity);
        if let Some(known) = known {
            return Ok(known);
        }
        let bytes = FileBytes::map(file).map_err(|_| ElfError::NotElf)?;
        self.binaries
            .push(Binary::new(path, ElfFile::new(bytes)?, identity)?);
        Ok(self.binaries.len() - 1)
    }

    /// The vDSO: the same in every process, so ours will do where the target's cannot be read.
    fn vdso(&mut self, process: &Path, mapping: &Mapping) -> Option<usize> {
        let known = self
            .binaries
            .iter()
            .position(|binary| binary.path == Path::new(VDSO));
        if known.is_some() {
            return known;
        }
        let bytes = read_memory(process, mapping).or_else(|| {
            let own = std::fs::read("/proc/self/maps").ok()?;
            let own = parse(&own)
                .into_iter()
                .find(|mapping| mapping.path == Path::new(VDSO))?;
            read_memory(Path::new("/proc/self"), &own)
        })?;
        let elf = ElfFile::new(FileBytes::from(bytes)).ok()?;
        self.binaries
            .push(Binary::new(Path::new(VDSO), elf, None).ok()?);
        Some(self.binaries.len() - 1)
    }

    fn problem(&mut self, problem: String) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

/// Names that the kernel gives to memory without a file that could be opened.
fn is_no_file(path: &Path) -> bool {
    ["/memfd:", "/SYSV", "/dev/", "/anon_hugepage", "anon_inode:"]
        .iter()
        .any(|prefix| {
            path.as_os_str()
                .as_encoded_bytes()
                .starts_with(prefix.as_bytes())
        })
}

/// Opens the very file that is mapped: by the process's own view of its path (it may live in a
/// container), or by the kernel's links, which work for deleted files too.
fn open_mapped(process: &Path, mapping: &Mapping) -> Option<File> {
    let inner = mapping.path.strip_prefix("/").unwrap_or(&mapping.path);
    let link = format!("map_files/{:x}-{:x}", mapping.start, mapping.end);
    let candidates = [
        process.join("root").join(inner),
        mapping.path.clone(),
        process.join("exe"),
        process.join(link),
    ];
    candidates.iter().find_map(|path| {
        let file = File::open(path).ok()?;
        // Overlay and btrfs report another device in stat than in maps; the inode is the same.
        let meta = file.metadata().ok()?;
        (meta.is_file() && meta.ino() == mapping.inode).then_some(file)
    })
}

fn read_memory(process: &Path, mapping: &Mapping) -> Option<Vec<u8>> {
    /// The vDSO has two pages; anything far larger is not one.
    const MOST: u64 = 1 << 20;
    let size = mapping
        .end
        .checked_sub(mapping.start)
        .filter(|size| *size <= MOST)?;
    let mut memory = File::open(process.join("mem")).ok()?;
    memory.seek(SeekFrom::Start(mapping.start)).ok()?;
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    memory.read_exact(&mut bytes).ok()?;
    Some(bytes)
}
