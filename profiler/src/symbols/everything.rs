//! Reads all that can be read of one file: what fuzzing and the property tests of damaged files
//! call. Nothing else does.

use std::collections::HashMap;

use super::binary::Binary;
use super::debug_file::DebugDirectories;
use super::debug_info::Wanted;
use super::elf_file::ElfFile;
use super::file_bytes::FileBytes;
use super::functions::FunctionId;
use super::scope::Scope;
use super::source_files::{NO_FILE, SourceFiles};
use super::unwind_table::unwind_rows;

/// At most this many addresses are looked up.
const ADDRESSES: u64 = 2000;

/// Reads unwind rows, and up and down the debug information of an ELF file in memory; returns how
/// many frames were found. Whatever is damaged must end here as an absence.
#[doc(hidden)]
#[must_use]
pub fn read_everything(elf: &[u8]) -> usize {
    let mut found = unwind_rows(elf).map_or(0, |(_, rows)| rows.len());
    let Ok(file) = ElfFile::new(FileBytes::from(elf.to_vec())) else {
        return found;
    };
    let code = file.code();
    // No path: nothing beside the file is read.
    let Ok(mut binary) = Binary::new("".as_ref(), file, None) else {
        return found;
    };
    let directories = DebugDirectories {
        global: Vec::new(),
        cache: None,
        fetcher: None,
    };
    let mut files = SourceFiles::new(Scope::default(), "/".into());
    let mut ranges_of: HashMap<FunctionId, Vec<(u32, u32)>> = HashMap::new();
    let (base, end) = binary.span;
    found += binary.rows().len();
    let step = (code.iter().map(|(start, end)| end - start).sum::<u64>() / ADDRESSES).max(1);
    let inside = code.iter().flat_map(|&(start, end)| {
        (0..ADDRESSES)
            .map(move |n| start.saturating_add(n.saturating_mul(step)))
            .take_while(move |a| *a < end)
    });
    for address in inside.chain([base, end]).take(2 * ADDRESSES as usize) {
        let Some(distance) = address
            .checked_sub(base)
            .and_then(|d| u32::try_from(d).ok())
        else {
            continue;
        };
        found += binary.symbol(distance).map_or(0, str::len);
        let Some(debug) = binary.debug(&directories) else {
            continue;
        };
        for place in debug.places(distance, &mut files) {
            found += 1;
            if let Some(function) = place.function {
                let function = debug.function(function, &mut files);
                found += files.functions.name(function).len();
                // Grows with the units seen; asked anew where it seems to lack something.
                let wanted = Wanted::Function(function);
                let known = ranges_of.entry(function).or_default();
                if !contain(known, distance) {
                    *known = debug.ranges(wanted, &mut files);
                    assert!(
                        contain(known, distance),
                        "the ranges of a function lack an address that its chain names"
                    );
                }
            }
            if place.file != NO_FILE && place.line != 0 {
                let ranges = debug.ranges(Wanted::Line(place.file, place.line), &mut files);
                assert!(
                    contain(&ranges, distance),
                    "the ranges of a line lack an address that its chain names"
                );
                found += debug.lines_of(place.file, &mut files).len();
            }
        }
    }
    found + binary.problems().count()
}

fn contain(ranges: &[(u32, u32)], distance: u32) -> bool {
    let mut ranges = ranges.iter();
    ranges.any(|&(start, end)| start <= distance && distance < end)
}
