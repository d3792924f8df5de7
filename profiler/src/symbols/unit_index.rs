//! The units of a file's debug information, and which one an address belongs to.
//!
//! Reads only unit headers and root entries. Each address has at most one unit, so that looking
//! up an address and listing the addresses of a line can never disagree.

use gimli::{DebugInfoOffset, UnitType};

use super::debug_sections::{Dwarf, Reader};
use super::file_addresses::FileAddresses;
use super::pc_ranges::entry_ranges;
use super::spans::{Flat, Span};

/// Units and the addresses they own.
#[derive(Debug)]
pub(super) struct UnitIndex {
    /// Offsets of unit headers in `.debug_info`, ascending.
    offsets: Box<[usize]>,
    /// Same for the alternate file.
    alternate_offsets: Box<[usize]>,
    /// Unit numbers by address.
    owners: Flat,
    /// Units that could not be read.
    pub(super) damaged: usize,
}

impl UnitIndex {
    /// Reads all unit headers and root entries.
    pub(super) fn new(dwarf: &Dwarf<'_>, addresses: &FileAddresses) -> UnitIndex {
        let mut offsets = Vec::new();
        let mut spans: Vec<(u32, u32, u32)> = Vec::new();
        let mut damaged = 0;
        let mut headers = dwarf.units();
        loop {
            let header = match headers.next() {
                Ok(Some(header)) => header,
                Ok(None) => break,
                Err(_) => {
                    // Lengths chain the headers: nothing after a bad one can be found.
                    damaged += 1;
                    break;
                }
            };
            let Some(DebugInfoOffset(offset)) = header.debug_info_offset() else {
                continue;
            };
            let Ok(number) = u32::try_from(offsets.len()) else {
                break;
            };
            offsets.push(offset);
            if matches!(
                header.type_(),
                UnitType::Compilation | UnitType::Skeleton(_)
            ) {
                let before = spans.len();
                let read = dwarf.unit(header).and_then(|unit| {
                    unit_spans(dwarf, &unit, |start, end| {
                        spans.extend(addresses.clip(start, end).map(|(s, e)| (s, e, number)));
                    })
                });
                if read.is_err() {
                    spans.truncate(before);
                    damaged += 1;
                }
            }
        }
        // Where units overlap, the one that begins nearest before an address owns it.
        spans.sort_unstable_by_key(|&(start, end, unit)| (start, std::cmp::Reverse((end, unit))));
        let numbers: Vec<u32> = spans.iter().map(|span| span.2).collect();
        let spans = (0u32..)
            .zip(spans)
            .map(|(rank, (start, end, _))| Span { start, end, rank });
        UnitIndex {
            offsets: offsets.into_boxed_slice(),
            alternate_offsets: alternate_offsets(dwarf),
            owners: Flat::new(spans.collect()).relabelled(&numbers),
            damaged,
        }
    }

    /// How many units there are.
    pub(super) fn len(&self) -> u32 {
        // `new` numbers units in 32 bits.
        self.offsets.len() as u32
    }

    /// The unit that `address` belongs to.
    pub(super) fn unit_at(&self, address: u32) -> Option<u32> {
        self.owners.at(address)
    }

    /// The parts of an address range that belong to the unit.
    pub(super) fn owned(
        &self,
        start: u32,
        end: u32,
        unit: u32,
    ) -> impl Iterator<Item = (u32, u32)> {
        self.owners.parts(start, end, unit)
    }

    /// Reads a unit's header and root entry again.
    pub(super) fn unit<'a>(
        &self,
        dwarf: &Dwarf<'a>,
        unit: u32,
    ) -> gimli::Result<gimli::Unit<Reader<'a>>> {
        let offset = self
            .offsets
            .get(unit as usize)
            .ok_or(gimli::Error::MissingUnitDie)?;
        dwarf.unit(dwarf.unit_header(DebugInfoOffset(*offset))?)
    }

    /// The unit that holds the entry at `offset` of `.debug_info`.
    pub(super) fn unit_of_entry<'a>(
        &self,
        dwarf: &Dwarf<'a>,
        offset: usize,
        alternate: bool,
    ) -> gimli::Result<gimli::Unit<Reader<'a>>> {
        let offsets = if alternate {
            &self.alternate_offsets
        } else {
            &self.offsets
        };
        let before = offsets.partition_point(|&start| start <= offset);
        let header = before.checked_sub(1).and_then(|n| offsets.get(n));
        let header = header.ok_or(gimli::Error::NoEntryAtGivenOffset(offset as u64))?;
        dwarf.unit(dwarf.unit_header(DebugInfoOffset(*header))?)
    }
}

fn alternate_offsets(dwarf: &Dwarf<'_>) -> Box<[usize]> {
    let Some(alternate) = dwarf.sup() else {
        return Box::default();
    };
    let mut offsets = Vec::new();
    let mut headers = alternate.units();
    while let Ok(Some(header)) = headers.next() {
        offsets.extend(header.debug_info_offset().map(|offset| offset.0));
    }
    offsets.into_boxed_slice()
}

/// The address ranges of a unit: those of its root entry, or, if it gives none, those of its lines.
fn unit_spans(
    dwarf: &Dwarf<'_>,
    unit: &gimli::Unit<Reader<'_>>,
    mut found: impl FnMut(u64, u64),
) -> gimli::Result<()> {
    let mut any = false;
    let mut entries = unit.entries_raw(None)?;
    let mut root = gimli::DebuggingInformationEntry::null();
    entries.read_entry(&mut root)?;
    entry_ranges(dwarf, unit, root.attrs(), |start, end| {
        any = true;
        found(start, end);
    })?;
    if any {
        return Ok(());
    }
    let Some(program) = unit.line_program.clone() else {
        return Ok(());
    };
    let mut rows = program.rows();
    let mut first = None;
    while let Some((_, row)) = rows.next_row()? {
        if row.end_sequence() {
            if let Some(start) = first.take() {
                found(start, row.address());
            }
        } else if first.is_none() {
            first = Some(row.address());
        }
    }
    Ok(())
}
