//! The DWARF sections of a file, unpacked where they are compressed, mapped where they are not.

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
            let Ok(sections) = DwarfSections::load(|id| {
                // What attribution never reads is not unpacked either.
                if is_unused(id) {
                    return Ok(FileBytes::empty());
                }
                Ok::<_, Infallible>(section(elf, id.name(), faults))
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
