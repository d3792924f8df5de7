//! Unwind rows of one module, built from its call frame information.
//!
//! Every address that no frame description covers gets an [`Cfa::Unknown`] row, so that no address
//! is left by its neighbour's rule. What a [`Row`] cannot express is `Unknown` too, and counted.

use anyhow::Context as _;
use coz_rs_runtime_preload::unwind_row::{Cfa, Rbp, Row};
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, CommonInformationEntry, DebugFrame, EhFrame, EndianSlice,
    LittleEndian, Operation, Register, RegisterRule, UnwindContext, UnwindExpression,
    UnwindSection, UnwindTableRow,
};
use object::{Object as _, ObjectSection as _};
use std::collections::HashMap;

use super::elf_file;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

const RBP: Register = Register(6);
const RSP: Register = Register(7);
const RETURN_ADDRESS: Register = Register(16);
/// x86-64 code is in 64-bit DWARF expressions of any version.
const ENCODING: gimli::Encoding = gimli::Encoding {
    address_size: 8,
    format: gimli::Format::Dwarf32,
    version: 5,
};
/// Bytes of a PLT stub.
const STUB: u64 = 16;
/// The place in a stub from which [`Cfa::Plt`] sees the pushed word.
const STUB_PUSHED: u64 = 11;

/// The table and what is wrong with it.
#[derive(Debug, Default)]
pub(super) struct UnwindTable {
    /// Address that rows count from, in the file's own addresses.
    pub(super) base: u64,
    /// Ascending, without equal neighbours.
    pub(super) rows: Vec<Row>,
    /// Rules that a [`Row`] cannot express.
    pub(super) inexpressible: usize,
    /// Frame descriptions that could not be read.
    pub(super) damaged: usize,
}

/// The unwind rows of an ELF file, and the address in the file that they count from.
///
/// # Errors
/// Not an x86-64 ELF file, or one whose headers are damaged.
pub fn unwind_rows(elf: &[u8]) -> anyhow::Result<(u64, Vec<Row>)> {
    let table = unwind_table(elf)?;
    Ok((table.base, table.rows))
}

/// As [`unwind_rows`], with counts of what could not be expressed or read.
pub(super) fn unwind_table(elf: &[u8]) -> anyhow::Result<UnwindTable> {
    let segments = elf_file::segments(elf)?;
    let (base, end) = elf_file::span(&segments)?;
    let file = object::read::elf::ElfFile64::<LittleEndian2>::parse(elf)
        .context("cannot read the section headers")?;
    let mut builder = Builder {
        table: UnwindTable {
            base,
            ..UnwindTable::default()
        },
        code: elf_file::code(&segments),
        end,
    };
    let mut bases = BaseAddresses::default();
    for section in file.sections() {
        match section.name_bytes() {
            Ok(b".text") => bases = bases.set_text(section.address()),
            Ok(b".got") => bases = bases.set_got(section.address()),
            Ok(b".eh_frame") => bases = bases.set_eh_frame(section.address()),
            _ => {}
        }
    }
    let section = |name| {
        let data = file.section_by_name(name)?.uncompressed_data().ok()?;
        (!data.is_empty()).then_some(data)
    };
    if let Some(data) = section(".eh_frame") {
        builder.add_section(&EhFrame::new(&data, LittleEndian), &bases);
    } else if let Some(data) = section(".debug_frame") {
        let mut frames = DebugFrame::new(&data, LittleEndian);
        frames.set_address_size(8);
        builder.add_section(&frames, &bases);
    } else if let Some((data, address)) = eh_frame_by_segment(&file, elf) {
        let bases = bases.set_eh_frame(address);
        builder.add_section(&EhFrame::new(data, LittleEndian), &bases);
    }
    Ok(builder.table)
}

use object::LittleEndian as LittleEndian2;

/// The frame descriptions of a file without section headers: `PT_GNU_EH_FRAME` leads to them.
fn eh_frame_by_segment<'a>(
    file: &object::read::elf::ElfFile64<'_, LittleEndian2>,
    elf: &'a [u8],
) -> Option<(&'a [u8], u64)> {
    use object::read::elf::ProgramHeader as _;
    let endian = LittleEndian2;
    let headers = file.elf_program_headers();
    let find = headers
        .iter()
        .find(|h| h.p_type(endian) == object::elf::PT_GNU_EH_FRAME)?;
    let data = find.data(endian, elf).ok()?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(find.p_vaddr(endian));
    let header = gimli::EhFrameHdr::new(data, LittleEndian)
        .parse(&bases, 8)
        .ok()?;
    let gimli::Pointer::Direct(address) = header.eh_frame_ptr() else {
        return None;
    };
    let load = headers.iter().find(|h| {
        let start = h.p_vaddr(endian);
        h.p_type(endian) == object::elf::PT_LOAD
            && start <= address
            && address - start < h.p_filesz(endian)
    })?;
    let data = load.data(endian, elf).ok()?;
    let skip = usize::try_from(address - load.p_vaddr(endian)).ok()?;
    Some((data.get(skip..)?, address))
}

/// A rule without its place.
type Rule = (Cfa, i32, Rbp);
const UNKNOWN: Rule = (Cfa::Unknown, 0, Rbp::Lost);

struct Builder {
    table: UnwindTable,
    code: Vec<(u64, u64)>,
    end: u64,
}

impl Builder {
    fn add_section<'a, S>(&mut self, section: &S, bases: &BaseAddresses)
    where
        S: UnwindSection<Bytes<'a>>,
        S::Offset: std::hash::Hash,
    {
        let mut cies: HashMap<S::Offset, CommonInformationEntry<Bytes<'a>>> = HashMap::new();
        let mut descriptions = Vec::new();
        let mut entries = section.entries(bases);
        loop {
            match entries.next() {
                Ok(None) => break,
                Ok(Some(CieOrFde::Cie(_))) => {}
                Ok(Some(CieOrFde::Fde(partial))) => {
                    let parsed = partial.parse(|section, bases, offset| {
                        if let Some(cie) = cies.get(&offset) {
                            return Ok(cie.clone());
                        }
                        let cie = section.cie_from_offset(bases, offset)?;
                        cies.insert(offset, cie.clone());
                        Ok(cie)
                    });
                    match parsed {
                        Ok(fde) => descriptions.push(fde),
                        Err(_) => self.table.damaged += 1,
                    }
                }
                Err(_) => {
                    self.table.damaged += 1;
                    break;
                }
            }
        }
        // Code that the linker dropped leaves descriptions of address 0, outside of all code.
        descriptions.retain(|fde| {
            let (start, end) = (fde.initial_address(), fde.end_address());
            start < end
                && self
                    .code
                    .iter()
                    .any(|&(from, to)| from <= start && end <= to)
        });
        descriptions.sort_by_key(|fde| (fde.initial_address(), fde.end_address()));

        let mut context = UnwindContext::new();
        let mut covered = self.table.base;
        for fde in &descriptions {
            let (start, end) = (fde.initial_address(), fde.end_address());
            if start > covered {
                self.push(covered, UNKNOWN);
            }
            if fde.is_signal_trampoline() {
                let rule = fde
                    .unwind_info_for_address(section, bases, &mut context, start)
                    .ok()
                    .and_then(|row| signal_rule(row, section));
                self.push_counted(start, rule);
            } else {
                self.add_rows(fde, section, bases, &mut context);
            }
            covered = end;
        }
        if covered < self.end && !self.table.rows.is_empty() {
            self.push(covered, UNKNOWN);
        }
    }

    fn add_rows<'a, S: UnwindSection<Bytes<'a>>>(
        &mut self,
        fde: &gimli::FrameDescriptionEntry<Bytes<'a>>,
        section: &S,
        bases: &BaseAddresses,
        context: &mut UnwindContext<usize>,
    ) {
        let Ok(mut rows) = fde.rows(section, bases, context) else {
            self.table.damaged += 1;
            self.push(fde.initial_address(), UNKNOWN);
            return;
        };
        let mut at = fde.initial_address();
        loop {
            match rows.next_row() {
                Ok(Some(row)) => {
                    let (start, end) = (
                        row.start_address(),
                        row.end_address().min(fde.end_address()),
                    );
                    if start < at || start >= end {
                        continue;
                    }
                    match cfa_rule(row, section) {
                        Some(Found::Rule(rule)) => self.push(start, rule),
                        Some(Found::Stubs(pushed)) => self.push_stubs(start, end, pushed),
                        None => self.push_counted(start, None),
                    }
                    at = end;
                }
                Ok(None) => break,
                Err(_) => {
                    self.table.damaged += 1;
                    break;
                }
            }
        }
        if at < fde.end_address() {
            self.push(at, UNKNOWN);
        }
    }

    fn push_counted(&mut self, address: u64, rule: Option<Rule>) {
        self.table.inexpressible += usize::from(rule.is_none());
        self.push(address, rule.unwrap_or(UNKNOWN));
    }

    /// Stubs that push at another place than [`Cfa::Plt`] knows (`-z ibtplt`), one by one.
    fn push_stubs(&mut self, start: u64, end: u64, pushed: u64) {
        let mut stub = start & !(STUB - 1);
        while stub < end {
            self.push(stub.max(start), (Cfa::Rsp, 8, Rbp::Same));
            self.push((stub + pushed).clamp(start, end), (Cfa::Rsp, 16, Rbp::Same));
            stub += STUB;
        }
    }

    /// Appends a row; it replaces those that begin at or after its address (overlapping
    /// descriptions: the later one counts, as in a search of `.eh_frame_hdr`).
    fn push(&mut self, address: u64, (cfa, offset, rbp): Rule) {
        let Some(pc) = address
            .checked_sub(self.table.base)
            .and_then(|pc| u32::try_from(pc).ok())
        else {
            return;
        };
        let rows = &mut self.table.rows;
        while rows.last().is_some_and(|last| last.pc >= pc) {
            rows.pop();
        }
        let same = |last: &Row| (last.cfa, last.offset, last.rbp) == (cfa, offset, rbp);
        if !rows.last().is_some_and(same) {
            rows.push(Row {
                pc,
                cfa,
                offset,
                rbp,
            });
        }
    }
}

enum Found {
    Rule(Rule),
    /// PLT stubs whose push is seen from this place on.
    Stubs(u64),
}

/// What a [`Row`] says of this row of call frame information; `None` if it cannot say it.
fn cfa_rule<'a, S: UnwindSection<Bytes<'a>>>(
    row: &UnwindTableRow<usize>,
    section: &S,
) -> Option<Found> {
    match row.register(RETURN_ADDRESS) {
        Some(RegisterRule::Undefined) => return Some(Found::Rule((Cfa::End, 0, Rbp::Lost))),
        Some(RegisterRule::Offset(-8)) => {}
        _ => return None,
    }
    let (cfa, offset) = match row.cfa() {
        CfaRule::RegisterAndOffset {
            register: RSP,
            offset,
        } => (Cfa::Rsp, *offset),
        CfaRule::RegisterAndOffset {
            register: RBP,
            offset,
        } => (Cfa::Rbp, *offset),
        CfaRule::RegisterAndOffset { .. } => return None,
        CfaRule::Expression(expression) => match operations(*expression, section)?.as_slice() {
            &[
                Operation::RegisterOffset {
                    register: RBP,
                    offset,
                    ..
                },
                Operation::Deref { size: 8, .. },
            ] => (Cfa::RbpDeref, offset),
            stub => match stub_push(stub)? {
                STUB_PUSHED => (Cfa::Plt, 0),
                other => return Some(Found::Stubs(other)),
            },
        },
    };
    let rbp = match row.register(RBP) {
        None | Some(RegisterRule::SameValue) => Rbp::Same,
        Some(RegisterRule::Offset(at)) => i16::try_from(at).map_or(Rbp::Lost, Rbp::AtCfa),
        Some(RegisterRule::Expression(expression)) => {
            match operations(expression, section).as_deref() {
                Some(
                    &[
                        Operation::RegisterOffset {
                            register: RBP,
                            offset,
                            ..
                        },
                    ],
                ) => i16::try_from(offset).map_or(Rbp::Lost, Rbp::AtRbp),
                _ => Rbp::Lost,
            }
        }
        Some(_) => Rbp::Lost,
    };
    Some(Found::Rule((cfa, i32::try_from(offset).ok()?, rbp)))
}

/// The return from a signal handler: the interrupted rip is at rsp + 168 of Linux' ucontext.
fn signal_rule<'a, S: UnwindSection<Bytes<'a>>>(
    row: &UnwindTableRow<usize>,
    section: &S,
) -> Option<Rule> {
    /// From the start of `mcontext` to its saved rip.
    const RIP_IN_MCONTEXT: i64 = 128;
    let Some(RegisterRule::Expression(expression)) = row.register(RETURN_ADDRESS) else {
        return None;
    };
    match operations(expression, section)?.as_slice() {
        &[
            Operation::RegisterOffset {
                register: RSP,
                offset,
                ..
            },
        ] => {
            let mcontext = i32::try_from(offset.checked_sub(RIP_IN_MCONTEXT)?).ok()?;
            (mcontext == 40).then_some((Cfa::Signal, mcontext, Rbp::Same))
        }
        _ => None,
    }
}

/// If this is the linkers' CFA of PLT stubs, rsp + 8 + 8·((rip & 15) ≥ n): n.
fn stub_push(operations: &[Operation<Bytes<'_>>]) -> Option<u64> {
    use Operation::{And, Ge, Plus, RegisterOffset, Shl, UnsignedConstant};
    match operations {
        &[
            RegisterOffset {
                register: RSP,
                offset: 8,
                ..
            },
            RegisterOffset {
                register: RETURN_ADDRESS,
                offset: 0,
                ..
            },
            UnsignedConstant { value: 15 },
            And,
            UnsignedConstant { value: pushed },
            Ge,
            UnsignedConstant { value: 3 },
            Shl,
            Plus,
        ] => (pushed < STUB).then_some(pushed),
        _ => None,
    }
}

/// The operations of a short expression.
fn operations<'a, S: UnwindSection<Bytes<'a>>>(
    expression: UnwindExpression<usize>,
    section: &S,
) -> Option<Vec<Operation<Bytes<'a>>>> {
    const LONGEST: usize = 12;
    let mut iter = expression.get(section).ok()?.operations(ENCODING);
    let mut operations = Vec::new();
    while let Some(operation) = iter.next().ok()? {
        if operations.len() == LONGEST {
            return None;
        }
        operations.push(operation);
    }
    Some(operations)
}
