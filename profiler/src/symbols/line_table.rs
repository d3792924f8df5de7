//! Which source line each address of one unit belongs to.

use gimli::LineRow as GimliRow;

use super::debug_sections::Reader;
use super::file_addresses::FileAddresses;
use super::source_files::{FileId, NO_FILE};
use super::spans::{Flat, Span};
use super::unit_files::UnitFiles;

/// A stretch of code of one line; it ends where the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    start: u32,
    file: FileId,
    line: u32,
}

/// Rows by address, gaps included as rows without a file.
#[derive(Debug, Default)]
pub(super) struct LineTable(Box<[Row]>);

/// A run of rows with ascending addresses.
struct Sequence {
    start: u32,
    end: u32,
    rows: Vec<Row>,
}

impl LineTable {
    /// Runs the unit's line program. An error leaves what was read before it.
    pub(super) fn read(
        unit: &gimli::Unit<Reader<'_>>,
        files: &mut UnitFiles<'_, '_>,
        addresses: &FileAddresses,
    ) -> (LineTable, gimli::Result<()>) {
        let mut sequences = Vec::new();
        let result = read_sequences(unit, files, addresses, &mut sequences);
        (LineTable::new(sequences), result)
    }

    fn new(sequences: Vec<Sequence>) -> LineTable {
        // Folded functions leave several sequences at one place: the first one read counts.
        let spans = (0u32..).zip(sequences.iter().rev());
        let spans = spans.map(|(rank, s)| Span {
            start: s.start,
            end: s.end,
            rank,
        });
        let flat = Flat::new(spans.collect());
        let mut rows: Vec<Row> = Vec::new();
        let mut push = |row: Row| match rows.last() {
            Some(last) if (last.file, last.line) == (row.file, row.line) => {}
            _ => rows.push(row),
        };
        let mut covered = 0;
        for (start, end, rank) in flat.stretches() {
            let Some(sequence) = sequences.iter().rev().nth(rank as usize) else {
                continue;
            };
            if covered < start {
                push(Row {
                    start: covered,
                    file: NO_FILE,
                    line: 0,
                });
            }
            let first = sequence
                .rows
                .partition_point(|row| row.start <= start)
                .saturating_sub(1);
            for row in sequence.rows[first..]
                .iter()
                .take_while(|row| row.start < end)
            {
                push(Row {
                    start: row.start.max(start),
                    ..*row
                });
            }
            covered = end;
        }
        push(Row {
            start: covered,
            file: NO_FILE,
            line: 0,
        });
        LineTable(rows.into_boxed_slice())
    }

    /// File and line at `address`; line 0 is code of no line.
    pub(super) fn at(&self, address: u32) -> Option<(FileId, u32)> {
        let after = self.0.partition_point(|row| row.start <= address);
        let row = self.0.get(after.checked_sub(1)?)?;
        (row.file != NO_FILE).then_some((row.file, row.line))
    }

    /// All stretches of lines: start, end, file, line.
    pub(super) fn stretches(&self) -> impl Iterator<Item = (u32, u32, FileId, u32)> + '_ {
        let ends = self.0.iter().skip(1).map(|row| row.start);
        let pairs = self
            .0
            .iter()
            .zip(ends)
            .filter(|(row, _)| row.file != NO_FILE);
        pairs.map(|(row, end)| (row.start, end, row.file, row.line))
    }
}

fn read_sequences(
    unit: &gimli::Unit<Reader<'_>>,
    files: &mut UnitFiles<'_, '_>,
    addresses: &FileAddresses,
    sequences: &mut Vec<Sequence>,
) -> gimli::Result<()> {
    let Some(program) = unit.line_program.clone() else {
        return Ok(());
    };
    let mut rows = program.rows();
    let mut pending: Vec<(u64, FileId, u32)> = Vec::new();
    while let Some((_, row)) = rows.next_row()? {
        if row.end_sequence() {
            sequences.extend(sequence(&pending, row.address(), addresses));
            pending.clear();
            continue;
        }
        let here = (row.address(), files.number(row.file_index()), line(row));
        match pending.last_mut() {
            // Several rows at one address: the last one says where the instruction is from.
            Some(last) if last.0 == here.0 => *last = here,
            Some(last) if last.0 > here.0 => {}
            _ => pending.push(here),
        }
    }
    Ok(())
}

fn line(row: &GimliRow) -> u32 {
    row.line()
        .and_then(|line| u32::try_from(line.get()).ok())
        .unwrap_or(0)
}

fn sequence(rows: &[(u64, FileId, u32)], end: u64, addresses: &FileAddresses) -> Option<Sequence> {
    let first = rows.first()?.0;
    let (start, end) = addresses.clip(first, end)?;
    let rows = rows.iter().filter_map(|&(address, file, line)| {
        let at = start.checked_add(u32::try_from(address - first).ok()?)?;
        (at < end).then_some(Row {
            start: at,
            file,
            line,
        })
    });
    Some(Sequence {
        start,
        end,
        rows: rows.collect(),
    })
}
