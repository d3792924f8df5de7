//! One x86-64 ELF file: its segments, identity, sections and symbols. No DWARF.

use object::elf::{FileHeader64, PF_X, PT_LOAD};
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{CompressionFormat, LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _};

use super::file_bytes::FileBytes;

/// Size of a page: x86-64 has one that matters for mappings.
const PAGE: u64 = 4096;
/// An unpacked section may not be larger than this: a damaged header must not exhaust memory.
const UNPACKED_LIMIT: u64 = 8 << 30;
/// zlib cannot shrink further than 1032 to 1, zstd hardly; a header that says more is damaged.
const UNPACKED_RATIO: u64 = 20_000;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum ElfError {
    #[error("is not an ELF file")]
    NotElf,
    #[error("is not for x86-64")]
    OtherMachine,
    #[error("is damaged: {0}")]
    Damaged(object::Error),
    #[error("has no loadable segment")]
    NoSegments,
}

/// A loadable segment, in the file's own addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) address: u64,
    pub(super) memory_end: u64,
    pub(super) offset: u64,
    pub(super) file_end: u64,
    pub(super) executable: bool,
}

/// An ELF file's bytes and what its headers say.
#[derive(Debug)]
pub(super) struct ElfFile {
    bytes: FileBytes,
    segments: Vec<Segment>,
    build_id: Option<Vec<u8>>,
}

type Parsed<'a> = ElfFile64<'a, LittleEndian>;

fn parse(bytes: &[u8]) -> Result<Parsed<'_>, ElfError> {
    Parsed::parse(bytes).map_err(ElfError::Damaged)
}

/// The loadable segments of an ELF file, by address.
pub(super) fn segments(bytes: &[u8]) -> Result<Vec<Segment>, ElfError> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(|_| ElfError::NotElf)?;
    if header.e_ident().magic != object::elf::ELFMAG {
        return Err(ElfError::NotElf);
    }
    if !header.is_supported() || header.e_machine.get(LittleEndian) != object::elf::EM_X86_64 {
        return Err(ElfError::OtherMachine);
    }
    let endian = LittleEndian;
    let headers = header
        .program_headers(endian, bytes)
        .map_err(ElfError::Damaged)?;
    let mut segments: Vec<Segment> = headers
        .iter()
        .filter(|header| header.p_type(endian) == PT_LOAD && header.p_memsz(endian) > 0)
        .filter_map(|header| {
            let (address, offset) = (header.p_vaddr(endian), header.p_offset(endian));
            Some(Segment {
                address,
                memory_end: address.checked_add(header.p_memsz(endian))?,
                offset,
                file_end: offset.checked_add(header.p_filesz(endian))?,
                executable: header.p_flags(endian).contains(PF_X),
            })
        })
        .collect();
    segments.sort_by_key(|segment| segment.address);
    Ok(segments)
}

impl ElfFile {
    /// Reads the headers.
    pub(super) fn new(bytes: FileBytes) -> Result<ElfFile, ElfError> {
        let segments = segments(&bytes)?;
        let build_id = parse(&bytes)?.build_id().ok().flatten().map(<[u8]>::to_vec);
        Ok(ElfFile {
            bytes,
            segments,
            build_id,
        })
    }

    /// The whole file.
    pub(super) fn bytes(&self) -> &FileBytes {
        &self.bytes
    }

    /// The build id, if the file has one.
    pub(super) fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// First address of the image, at a page's start, and the first after it.
    pub(super) fn span(&self) -> Result<(u64, u64), ElfError> {
        span(&self.segments)
    }

    /// Executable stretches, in the file's own addresses.
    pub(super) fn code(&self) -> Vec<(u64, u64)> {
        code(&self.segments)
    }

    /// How far the file's addresses are moved in a process that mapped the file's `offset` at
    /// `start` for execution.
    ///
    /// From the program headers, as `dl_iterate_phdr` does: address and offset of a segment may
    /// differ by whole pages (lld), so `start - offset` would be wrong.
    pub(super) fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        let segment = self.segments.iter().find(|segment| {
            let first = segment.offset & !(PAGE - 1);
            segment.executable && first <= offset && offset < segment.file_end
        })?;
        let address = segment
            .address
            .wrapping_sub(segment.offset)
            .wrapping_add(offset);
        let bias = start.wrapping_sub(address);
        (bias & (PAGE - 1) == 0).then_some(bias)
    }

    /// The bytes of the file that lie at `address` when it is loaded.
    pub(super) fn loaded(&self, address: u64, size: usize) -> Option<&[u8]> {
        let offset = usize::try_from(self.offset(address)?).ok()?;
        self.bytes.get(offset..offset.checked_add(size)?)
    }

    /// Where in the file the byte lies that is loaded at `address`.
    pub(super) fn offset(&self, address: u64) -> Option<u64> {
        let holds = |segment: &&Segment| {
            let size = segment.file_end - segment.offset;
            address
                .checked_sub(segment.address)
                .is_some_and(|at| at < size)
        };
        let segment = self.segments.iter().find(holds)?;
        Some(address - segment.address + segment.offset)
    }

    /// Is there a section of this name with bytes in the file?
    pub(super) fn has_section(&self, name: &str) -> bool {
        parse(&self.bytes).is_ok_and(|elf| {
            elf.section_by_name(name)
                .is_some_and(|s| s.file_range().is_some_and(|(_, size)| size > 0))
        })
    }

    /// Is there a compressed section of this name?
    pub(super) fn is_packed(&self, name: &str) -> bool {
        let place = |elf: &Parsed<'_>| elf.section_by_name(name)?.compressed_file_range().ok();
        let place = parse(&self.bytes).ok().and_then(|elf| place(&elf));
        place.is_some_and(|place| place.format != CompressionFormat::None)
    }

    /// A section's bytes, unpacked; `None` if there is none, or an empty one.
    pub(super) fn section(&self, name: &str) -> Result<Option<FileBytes>, ElfError> {
        let elf = parse(&self.bytes)?;
        let Some(section) = elf.section_by_name(name) else {
            return Ok(None);
        };
        let place = section.compressed_file_range().map_err(ElfError::Damaged)?;
        if place.compressed_size == 0 {
            return Ok(None);
        }
        if place.format == CompressionFormat::None {
            let part = self.bytes.part(place.offset, place.compressed_size);
            return part.map(Some).ok_or(ElfError::NotElf);
        }
        let limit = place
            .compressed_size
            .saturating_mul(UNPACKED_RATIO)
            .min(UNPACKED_LIMIT);
        if place.uncompressed_size > limit {
            return Ok(None);
        }
        let packed = place.data(&*self.bytes).map_err(ElfError::Damaged)?;
        let bytes = packed.decompress().map_err(ElfError::Damaged)?;
        Ok(Some(FileBytes::from(bytes.into_owned())))
    }

    /// Name and checksum of the separate debug file, from `.gnu_debuglink`.
    pub(super) fn debug_link(&self) -> Option<(Vec<u8>, u32)> {
        let elf = parse(&self.bytes).ok()?;
        let (name, checksum) = elf.gnu_debuglink().ok()??;
        Some((name.to_vec(), checksum))
    }

    /// Name and build id of the file that holds what dwz moved out, from `.gnu_debugaltlink`.
    pub(super) fn alternate_link(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let elf = parse(&self.bytes).ok()?;
        let (name, build_id) = elf.gnu_debugaltlink().ok()??;
        Some((name.to_vec(), build_id.to_vec()))
    }

    /// All names of the function that begins at an address.
    pub(super) fn names_at(&self, address: u64) -> Vec<String> {
        let Ok(elf) = parse(&self.bytes) else {
            return Vec::new();
        };
        let symbols = elf.symbols().chain(elf.dynamic_symbols());
        let mut names: Vec<String> = symbols
            .filter(|symbol| {
                symbol.address() == address && symbol.kind() == object::SymbolKind::Text
            })
            .filter(|symbol| symbol.is_definition())
            .filter_map(|symbol| {
                Some(String::from_utf8_lossy(symbol.name_bytes().ok()?).into_owned())
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Address and name of each function of the symbol tables, all names of one place; none that
    /// are only chosen when the program is loaded.
    pub(super) fn function_entries(&self) -> Vec<(u64, String)> {
        let Ok(elf) = parse(&self.bytes) else {
            return Vec::new();
        };
        let code = self.code();
        elf.symbols()
            .chain(elf.dynamic_symbols())
            .filter(|symbol| symbol.is_definition() && symbol.kind() == object::SymbolKind::Text)
            .filter(|symbol| match symbol.flags() {
                object::SymbolFlags::Elf { st_info, .. } => {
                    st_info.st_type() != object::elf::STT_GNU_IFUNC
                }
                _ => true,
            })
            .filter(|symbol| {
                let mut code = code.iter();
                code.any(|(start, end)| (*start..*end).contains(&symbol.address()))
            })
            .filter_map(|symbol| {
                let name = String::from_utf8_lossy(symbol.name_bytes().ok()?).into_owned();
                Some((symbol.address(), name))
            })
            .collect()
    }

    /// Functions of the symbol tables: address, size, name; ascending, one a place.
    pub(super) fn functions(&self) -> Vec<(u64, u64, String)> {
        let Ok(elf) = parse(&self.bytes) else {
            return Vec::new();
        };
        let mut functions: Vec<(u64, u64, String)> = elf
            .symbols()
            .chain(elf.dynamic_symbols())
            .filter(|symbol| symbol.is_definition() && symbol.kind() == object::SymbolKind::Text)
            .filter_map(|symbol| {
                let name = String::from_utf8_lossy(symbol.name_bytes().ok()?).into_owned();
                Some((symbol.address(), symbol.size(), name))
            })
            .collect();
        // Of several names of one place the largest, then the first by name: always the same one.
        functions.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2)));
        functions.dedup_by_key(|function| function.0);
        functions
    }
}

/// See [`ElfFile::span`].
pub(super) fn span(segments: &[Segment]) -> Result<(u64, u64), ElfError> {
    let first = segments.first().ok_or(ElfError::NoSegments)?.address & !(PAGE - 1);
    let end = segments
        .iter()
        .map(|s| s.memory_end)
        .max()
        .ok_or(ElfError::NoSegments)?;
    Ok((
        first,
        end.checked_next_multiple_of(PAGE)
            .ok_or(ElfError::NoSegments)?,
    ))
}

/// See [`ElfFile::code`].
pub(super) fn code(segments: &[Segment]) -> Vec<(u64, u64)> {
    let executable = segments.iter().filter(|segment| segment.executable);
    super::spans::join(executable.map(|s| (s.address, s.memory_end)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(segments: Vec<Segment>) -> ElfFile {
        ElfFile {
            bytes: FileBytes::empty(),
            segments,
            build_id: None,
        }
    }

    /// What lld makes: the same page of the file belongs to two segments at different addresses.
    #[test]
    fn the_bias_comes_from_the_program_headers() {
        let data = Segment {
            address: 0,
            memory_end: 0x5a20,
            offset: 0,
            file_end: 0x5a20,
            executable: false,
        };
        let text = Segment {
            address: 0x6a20,
            memory_end: 0x9000,
            offset: 0x5a20,
            file_end: 0x8000,
            executable: true,
        };
        let elf = file(vec![data, text]);
        assert_eq!(elf.bias(0x5555_5555_a000, 0x5000), Some(0x5555_5555_4000));
        // Half of it, after an mprotect.
        assert_eq!(elf.bias(0x5555_5555_b000, 0x6000), Some(0x5555_5555_4000));
        assert_eq!(elf.bias(0x5555_5555_b000, 0x9000), None);
        assert_eq!(elf.span().unwrap(), (0, 0x9000));
        assert_eq!(elf.code(), [(0x6a20, 0x9000)]);
    }

    #[test]
    fn what_is_no_elf_file_is_refused() {
        assert!(matches!(
            ElfFile::new(FileBytes::empty()),
            Err(ElfError::NotElf)
        ));
        let script = FileBytes::from(b"#!/bin/sh\nexec true\n".to_vec());
        assert!(matches!(ElfFile::new(script), Err(ElfError::NotElf)));
    }
}
