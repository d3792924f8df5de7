//! Where statements of a source line begin in the code of one binary, for placing progress points.
//!
//! Attribution asks what line an instruction is from; here the question is where to stand to see
//! a line being executed. Compilers answer it with the line table's `is_stmt` flag.

use super::debug_info::DebugInfo;
use super::source_files::{FileId, SourceFiles};
use super::spans::NOTHING;
use super::unit_files::UnitFiles;

/// One row of the line table that may begin an execution of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) address: u32,
    /// Where the code of this line and column ends that begins here.
    pub(super) end: u32,
    pub(super) column: u64,
    /// The compiler recommends to stop here.
    pub(super) statement: bool,
    /// The instruction at the address is of the line; else only the mark stands here.
    pub(super) own: bool,
    /// The function or inlined copy that it is in; [`NOTHING`] if unknown.
    pub(super) copy: u32,
}

/// The starts of a line in one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FunctionStarts {
    /// The function's stretches of code, ascending.
    pub(super) code: Vec<(u32, u32)>,
    pub(super) starts: Vec<Start>,
}

impl DebugInfo {
    /// Where the line begins, function by function.
    pub(super) fn statement_starts(
        &mut self,
        file: FileId,
        line: u32,
        files: &mut SourceFiles,
    ) -> Vec<FunctionStarts> {
        let mut functions: Vec<(u32, u32, FunctionStarts)> = Vec::new();
        for unit in self.units_with(file, files) {
            self.read_unit(unit, files);
            let Some(tables) = self.units.get(&unit) else {
                continue;
            };
            let tree = &tables.functions;
            let mut starts = self.rows(unit, file, line, files);
            let own = |address: u32| tree.number_at(address).map(|number| tree.outermost(number));
            // A call that was inlined whole may have left no row of its own.
            for (address, parent) in tree.inlined_from(file, line) {
                let function = own(address);
                if !starts.iter().any(|start| own(start.address) == function) {
                    starts.push(Start {
                        address,
                        end: address + 1,
                        column: 0,
                        statement: true,
                        own: true,
                        copy: parent,
                    });
                }
            }
            for mut start in starts {
                if self.index.unit_at(start.address) != Some(unit) {
                    continue;
                }
                let function = own(start.address).unwrap_or(NOTHING);
                if start.copy == NOTHING {
                    start.copy = self.copy_at(unit, start, (file, line));
                }
                let known = functions
                    .iter_mut()
                    .find(|known| (known.0, known.1) == (unit, function) && function != NOTHING);
                match known {
                    Some(known) => known.2.starts.push(start),
                    None => {
                        let code = tree.code_within(function);
                        let starts = vec![start];
                        functions.push((unit, function, FunctionStarts { code, starts }));
                    }
                }
            }
        }
        for (_, _, function) in &mut functions {
            settle_marks(&mut function.starts);
        }
        functions.into_iter().map(|function| function.2).collect()
    }

    /// The rows of the line, one an address.
    fn rows(&self, number: u32, file: FileId, line: u32, files: &mut SourceFiles) -> Vec<Start> {
        let dwarf = self.sections.dwarf();
        let Ok(unit) = self.index.unit(&dwarf, number) else {
            return Vec::new();
        };
        let mut files = UnitFiles::new(&dwarf, &unit, files);
        let Some(program) = unit.line_program.clone() else {
            return Vec::new();
        };
        let mut starts: Vec<Start> = Vec::new();
        let mut rows = program.rows();
        // Whether the code that is being read is of the last start.
        let mut open = false;
        // Damage ends the reading; the line's other reader has named it.
        while let Ok(Some((_, row))) = rows.next_row() {
            let column = match row.column() {
                gimli::ColumnType::LeftEdge => 0,
                gimli::ColumnType::Column(column) => column.get(),
            };
            let here = !row.end_sequence()
                && row.line().map_or(0, |line| line.get()) == u64::from(line)
                && files.number(row.file_index()) == file;
            let place = self
                .addresses
                .clip(row.address(), row.address().saturating_add(1));
            let last = starts.last_mut().filter(|_| open);
            let Some((address, _)) = place else {
                open = false;
                continue;
            };
            match last {
                // Several rows at one address: the last one says where the instruction is from.
                Some(last) if last.address == address => {
                    last.own = here;
                    open = here || !row.end_sequence();
                    if here && row.is_stmt() && !last.statement {
                        last.statement = true;
                        last.column = column;
                    }
                    continue;
                }
                Some(last) => {
                    last.end = address;
                    // A row that only repeats where we are begins nothing.
                    if here && last.own && last.column == column && !row.is_stmt() {
                        last.end = u32::MAX;
                        continue;
                    }
                    open = false;
                }
                None => {}
            }
            if here {
                open = true;
                starts.push(Start {
                    address,
                    end: u32::MAX,
                    column,
                    statement: row.is_stmt(),
                    own: true,
                    copy: NOTHING,
                });
            }
        }
        starts
    }

    /// The function or inlined copy that a start belongs to: of the frames there the one that is
    /// on the line.
    fn copy_at(&self, unit: u32, start: Start, line: (FileId, u32)) -> u32 {
        let Some(tables) = self.units.get(&unit) else {
            return NOTHING;
        };
        let Some(innermost) = tables.functions.number_at(start.address) else {
            return NOTHING;
        };
        if start.own {
            return innermost;
        }
        // Only a mark: the instruction may already be that of a function inlined after it.
        let mut number = innermost;
        while let Some(node) = tables.functions.node(number)
            && let Some(call) = node.call
        {
            number = node.parent;
            if (call.file, call.line) == line {
                return number;
            }
        }
        innermost
    }
}

/// A mark may stand on an instruction of the caller of the inlined copy that it belongs to: it is of
/// the copy that has the next instruction of the line.
fn settle_marks(starts: &mut [Start]) {
    let owned: Vec<(u32, u32)> = (starts.iter())
        .filter(|start| start.own)
        .map(|start| (start.address, start.copy))
        .collect();
    for start in starts.iter_mut().filter(|start| !start.own) {
        if owned.iter().any(|(_, copy)| *copy == start.copy) {
            continue;
        }
        let after = owned
            .iter()
            .filter(|(address, _)| *address >= start.address);
        if let Some((_, copy)) = after.min() {
            start.copy = *copy;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_belong_to_the_copy_that_follows() {
        let start = |address, own, copy| Start {
            address,
            end: u32::MAX,
            column: 0,
            statement: true,
            own,
            copy,
        };
        let mut starts = vec![
            start(5, false, 9),
            start(10, true, 1),
            start(20, false, 9),
            start(21, true, 2),
            start(22, false, 1),
            start(30, false, 9),
        ];
        settle_marks(&mut starts);
        let copies: Vec<u32> = starts.iter().map(|start| start.copy).collect();
        assert_eq!(copies, [1, 1, 2, 2, 1, 9]);
    }
}
