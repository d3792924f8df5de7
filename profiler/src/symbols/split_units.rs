//! Split debug information: units whose functions lie in a `.dwo` file or a `.dwp` package.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gimli::{DwarfFileType, DwarfPackageSections, DwoId};

use super::debug_file::open;
use super::debug_sections::{Dwarf, Reader, reader, section};
use super::elf_file::ElfFile;
use super::file_bytes::FileBytes;

/// Finds the split parts of one binary's units.
#[derive(Debug)]
pub(super) struct SplitUnits {
    /// The binary, whose directory is searched too.
    binary: PathBuf,
    package: Option<DwarfPackageSections<FileBytes>>,
}

impl SplitUnits {
    /// Looks for a package beside the binary or its separate debug file.
    pub(super) fn new(
        binary: &Path,
        debug_file: Option<&Path>,
        faults: &mut Vec<String>,
    ) -> SplitUnits {
        let candidates = [Some(binary), debug_file]
            .into_iter()
            .flatten()
            .map(|path| {
                let mut name = path.as_os_str().to_owned();
                name.push(".dwp");
                PathBuf::from(name)
            });
        let package = candidates
            .into_iter()
            .find_map(|path| open(&path))
            .map(|elf| {
                DwarfPackageSections::load(|id| {
                    let name = id.dwo_name().unwrap_or_default();
                    Ok::<_, gimli::Error>(section(&elf, name, faults))
                })
            });
        SplitUnits {
            binary: binary.to_owned(),
            package: package.and_then(Result::ok),
        }
    }

    /// Calls `read` with the split part of `unit`; `Err` says what is missing.
    pub(super) fn with_split_part<T>(
        &self,
        dwarf: &Dwarf<'_>,
        unit: &gimli::Unit<Reader<'_>>,
        id: DwoId,
        faults: &mut Vec<String>,
        read: impl FnOnce(&Dwarf<'_>, &gimli::Unit<Reader<'_>>) -> T,
    ) -> Result<T, String> {
        let name = unit.dwo_name().ok().flatten();
        let name = name.and_then(|name| dwarf.attr_string(unit, name).ok());
        let name = name.map_or_else(Vec::new, |name| name.slice().to_vec());
        let shown = String::from_utf8_lossy(&name).into_owned();
        if let Some(package) = &self.package {
            let package = package.borrow(reader, Reader::default());
            if let Ok(Some(split)) = package.and_then(|package| package.find_cu(id, dwarf)) {
                return with_first_unit(&split, unit, id, read).map_err(|error| {
                    format!("the package's part for {shown} is damaged: {error}")
                });
            }
        }
        let candidates = self.candidates(unit, &name);
        let Some(elf) = candidates.iter().find_map(|path| open(path)) else {
            return Err(format!("split debug information {shown} is missing"));
        };
        let sections = load(&elf, faults);
        let mut split = sections.borrow(reader);
        split.make_dwo(dwarf);
        with_first_unit(&split, unit, id, read)
            .map_err(|error| format!("split debug information {shown} cannot be used: {error}"))
    }

    fn candidates(&self, unit: &gimli::Unit<Reader<'_>>, name: &[u8]) -> Vec<PathBuf> {
        let name = Path::new(OsStr::from_bytes(name));
        let built = unit
            .comp_dir
            .map(|dir| Path::new(OsStr::from_bytes(dir.slice())).join(name));
        let beside = self.binary.parent().map(|dir| dir.join(name));
        let moved = self
            .binary
            .parent()
            .zip(name.file_name())
            .map(|(dir, name)| dir.join(name));
        [built, beside, moved].into_iter().flatten().collect()
    }
}

fn load(elf: &ElfFile, faults: &mut Vec<String>) -> gimli::DwarfSections<FileBytes> {
    let Ok(sections) = gimli::DwarfSections::load(|id| {
        Ok::<_, Infallible>(
            id.dwo_name()
                .map_or_else(FileBytes::empty, |name| section(elf, name, faults)),
        )
    });
    sections
}

/// The one compilation unit of a split file, if it is the one that the skeleton means.
fn with_first_unit<'a, T>(
    split: &Dwarf<'a>,
    skeleton: &gimli::Unit<Reader<'_>>,
    id: DwoId,
    read: impl FnOnce(&Dwarf<'a>, &gimli::Unit<Reader<'a>>) -> T,
) -> Result<T, String> {
    debug_assert_eq!(split.file_type, DwarfFileType::Dwo);
    let mut headers = split.units();
    while let Some(header) = headers.next().map_err(|error| error.to_string())? {
        let Ok(mut unit) = split.unit(header) else {
            continue;
        };
        if unit.dwo_id == Some(id) {
            unit.low_pc = skeleton.low_pc;
            unit.addr_base = skeleton.addr_base;
            if unit.header.version() < 5 {
                unit.rnglists_base = skeleton.rnglists_base;
            }
            return Ok(read(split, &unit));
        }
    }
    Err("it is of another build".to_owned())
}
