//! The DWARF sections of a file, unpacked where they are compressed, mapped where they are not.

use std::collections::HashMap;
use std::convert::Infallible;

use gimli::{DwarfSections, EndianSlice, LittleEndian, SectionId};

use super::elf_file::ElfFile;
use super::file_bytes::FileBytes;

/// How DWARF is read.
pub(super) type Reader<'a> = EndianSlice<'a, LittleEndian>;
/// Sections being read.
pub(super) type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;

/// Sections of one file, and of the one that dwz moved shared parts to.
#[derive(Debug)]
pub(super) struct DebugSections {
    own: DwarfSections<FileBytes>,
    alternate: Option<DwarfSections<FileBytes>>,
}

/// Bytes as gimli reads them.
pub(super) fn reader(bytes: &FileBytes) -> Reader<'_> {
    EndianSlice::new(bytes, LittleEndian)
}

impl DebugSections {
    /// Takes the sections of `elf`. Sections that cannot be unpacked are empty, and named.
    pub(super) fn load(
        elf: &ElfFile,
        alternate: Option<&ElfFile>,
        faults: &mut Vec<String>,
    ) -> DebugSections {
        let mut load = |elf: &ElfFile| {
            let mut unpacked = unpack_at_once(elf, faults);
            let Ok(sections) = DwarfSections::load(|id| {
                // What attribution never reads is not unpacked either.
                if is_unused(id) {
                    return Ok(FileBytes::empty());
                }
                let early = unpacked.remove(id.name());
                Ok::<_, Infallible>(early.unwrap_or_else(|| section(elf, id.name(), faults)))
            });
            sections
        };
        DebugSections {
            own: load(elf),
            alternate: alternate.map(load),
        }
    }

    /// The sections, ready to be read. Cheap.
    pub(super) fn dwarf(&self) -> Dwarf<'_> {
        self.own.borrow_with_sup(self.alternate.as_ref(), reader)
    }
}

/// The sections that make up nearly all of debug information, unpacked side by side if they are
/// compressed: 100 MB take a second otherwise.
fn unpack_at_once(elf: &ElfFile, faults: &mut Vec<String>) -> HashMap<&'static str, FileBytes> {
    const LARGE: [&str; 6] = [
        ".debug_info",
        ".debug_str",
        ".debug_line",
        ".debug_ranges",
        ".debug_rnglists",
        ".debug_abbrev",
    ];
    if !elf.is_packed(".debug_info") {
        return HashMap::new();
    }
    std::thread::scope(|scope| {
        let threads = LARGE.map(|name| {
            let thread = scope.spawn(move || {
                let mut faults = Vec::new();
                (section(elf, name, &mut faults), faults)
            });
            (name, thread)
        });
        let finished = threads.into_iter().filter_map(|(name, thread)| {
            let (bytes, more) = thread.join().ok()?;
            faults.extend(more);
            Some((name, bytes))
        });
        finished.collect()
    })
}

fn is_unused(id: SectionId) -> bool {
    use SectionId::{
        DebugAranges, DebugLoc, DebugLocLists, DebugMacinfo, DebugMacro, DebugNames, DebugTypes,
    };
    matches!(
        id,
        DebugAranges
            | DebugLoc
            | DebugLocLists
            | DebugMacinfo
            | DebugMacro
            | DebugNames
            | DebugTypes
    )
}

/// A section that may be absent; if it is there but cannot be read, `faults` says so.
pub(super) fn section(elf: &ElfFile, name: &str, faults: &mut Vec<String>) -> FileBytes {
    match elf.section(name) {
        Ok(found) => found.unwrap_or_else(FileBytes::empty),
        Err(error) => {
            faults.push(format!("section {name} {error}"));
            FileBytes::empty()
        }
    }
}
