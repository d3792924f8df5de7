//! Which functions, inlined ones included, each address of one unit belongs to.

use gimli::{Attribute, AttributeValue, DebuggingInformationEntry};

use super::debug_sections::{Dwarf, Reader};
use super::file_addresses::FileAddresses;
use super::pc_ranges::entry_ranges;
use super::source_files::{FileId, NO_FILE};
use super::spans::{Flat, NOTHING, Span};
use super::unit_files::UnitFiles;

/// A function, or one place where a function was inlined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// Its entry, or that of the function it is a copy of, as an offset from the unit's header.
    pub(super) entry: u32,
    /// The node it was inlined into; [`NOTHING`] for a function of its own.
    pub(super) parent: u32,
    /// The line that calls it, if it was inlined.
    pub(super) call: Option<Call>,
}

/// The line of an inlined call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) file: FileId,
    pub(super) line: u32,
}

/// All functions of a unit that have code.
#[derive(Debug, Default)]
pub(super) struct InlineTree {
    /// Parents before their children.
    nodes: Box<[Node]>,
    /// The innermost node by address.
    innermost: Flat,
}

impl InlineTree {
    /// Reads all functions of `unit`. `files` numbers the files of its line table. An error leaves
    /// what was read before it.
    pub(super) fn read<'a>(
        dwarf: &Dwarf<'a>,
        unit: &gimli::Unit<Reader<'a>>,
        files: &mut UnitFiles<'_, '_>,
        addresses: &FileAddresses,
    ) -> (InlineTree, gimli::Result<()>) {
        let mut reading = Reading {
            nodes: Vec::new(),
            spans: Vec::new(),
            open: Vec::new(),
        };
        let result = reading.entries(dwarf, unit, files, addresses);
        // A node's number is its rank: deeper ones have higher numbers than what they lie in.
        let innermost = Flat::new(reading.spans);
        (
            InlineTree {
                nodes: reading.nodes.into_boxed_slice(),
                innermost,
            },
            result,
        )
    }

    /// The innermost function at `address`.
    pub(super) fn at(&self, address: u32) -> Option<Node> {
        self.node(self.innermost.at(address)?)
    }

    /// Number of the innermost function at `address`.
    pub(super) fn number_at(&self, address: u32) -> Option<u32> {
        self.innermost.at(address)
    }

    /// The function, not inlined itself, that the node lies in.
    pub(super) fn outermost(&self, mut number: u32) -> u32 {
        while let Some(node) = self.node(number)
            && node.parent != NOTHING
        {
            number = node.parent;
        }
        number
    }

    /// The stretches of code of a function and of all that was inlined into it, ascending.
    pub(super) fn code_within(&self, outermost: u32) -> Vec<(u32, u32)> {
        let stretches = self.innermost.stretches();
        let own = stretches.filter(|stretch| self.outermost(stretch.2) == outermost);
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (start, end, _) in own {
            match joined.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                _ => joined.push((start, end)),
            }
        }
        joined
    }

    /// The first address and the caller's node of each call on this line that was inlined.
    pub(super) fn inlined_from(&self, file: FileId, line: u32) -> Vec<(u32, u32)> {
        let wanted = Some(Call { file, line });
        let mut first = vec![NOTHING; self.nodes.len()];
        for (start, _, number) in self.innermost.stretches() {
            let mut number = number;
            while let Some(node) = self.node(number) {
                let earliest = &mut first[number as usize];
                *earliest = (*earliest).min(start);
                number = node.parent;
            }
        }
        let calls = self.nodes.iter().zip(first);
        let calls = calls.filter(|(node, first)| node.call == wanted && *first != NOTHING);
        calls.map(|(node, first)| (first, node.parent)).collect()
    }

    /// The node of this number.
    pub(super) fn node(&self, number: u32) -> Option<Node> {
        self.nodes.get(number as usize).copied()
    }

    /// The entries of all nodes, in their order.
    pub(super) fn entries(&self) -> impl Iterator<Item = u32> + '_ {
        self.nodes.iter().map(|node| node.entry)
    }

    /// All calls that were inlined.
    pub(super) fn calls(&self) -> impl Iterator<Item = Call> + '_ {
        self.nodes.iter().filter_map(|node| node.call)
    }

    /// Marks the nodes that fit by number and node, and all that was inlined into them.
    pub(super) fn nodes_beneath(&self, mut fits: impl FnMut(usize, &Node) -> bool) -> Vec<bool> {
        let mut marked: Vec<bool> = Vec::with_capacity(self.nodes.len());
        for (number, node) in self.nodes.iter().enumerate() {
            let inherited = marked.get(node.parent as usize).copied().unwrap_or(false);
            marked.push(inherited || fits(number, node));
        }
        marked
    }

    /// The stretches of code whose innermost function is marked.
    pub(super) fn code_of(&self, marked: &[bool]) -> Vec<(u32, u32)> {
        if !marked.contains(&true) {
            return Vec::new();
        }
        let stretches = self.innermost.stretches();
        let hits = stretches.filter(|s| marked.get(s.2 as usize).copied().unwrap_or(false));
        hits.map(|(start, end, _)| (start, end)).collect()
    }
}

struct Reading {
    nodes: Vec<Node>,
    spans: Vec<Span>,
    /// Functions around the current entry: depth of the entry, node number.
    open: Vec<(isize, u32)>,
}

impl Reading {
    fn entries<'a>(
        &mut self,
        dwarf: &Dwarf<'a>,
        unit: &gimli::Unit<Reader<'a>>,
        files: &mut UnitFiles<'_, '_>,
        addresses: &FileAddresses,
    ) -> gimli::Result<()> {
        let mut entries = unit.entries_raw(None)?;
        let mut entry = DebuggingInformationEntry::null();
        while !entries.is_empty() {
            let depth = entries.next_depth();
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            while self.open.last().is_some_and(|open| open.0 >= depth) {
                self.open.pop();
            }
            let tag = abbreviation.tag();
            if tag != gimli::DW_TAG_subprogram && tag != gimli::DW_TAG_inlined_subroutine {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            entries.read_attributes(abbreviation.attributes(), &mut entry.attrs)?;
            let attributes = entry.attrs();
            let (Ok(number), Ok(offset)) =
                (u32::try_from(self.nodes.len()), u32::try_from(offset.0))
            else {
                return Ok(());
            };
            let inlined = tag == gimli::DW_TAG_inlined_subroutine;
            // All copies of a function in a unit share one entry.
            let origin = attributes.iter().find_map(|attribute| {
                let is_origin = attribute.name() == gimli::DW_AT_abstract_origin;
                match attribute.value() {
                    AttributeValue::UnitRef(origin) if is_origin => u32::try_from(origin.0).ok(),
                    _ => None,
                }
            });
            let before = self.spans.len();
            entry_ranges(dwarf, unit, attributes, |start, end| {
                let clipped = addresses.clip(start, end);
                self.spans.extend(clipped.map(|(start, end)| Span {
                    start,
                    end,
                    rank: number,
                }));
            })?;
            // Declarations and abstract instances have no code: they are no nodes.
            if !inlined && self.spans.len() == before {
                self.open.push((depth, NOTHING));
                continue;
            }
            let parent = self.open.last().map_or(NOTHING, |open| open.1);
            let call = inlined.then(|| call(unit, attributes, files));
            let parent = if inlined { parent } else { NOTHING };
            self.nodes.push(Node {
                entry: origin.unwrap_or(offset),
                parent,
                call,
            });
            self.open.push((depth, number));
        }
        Ok(())
    }
}

fn call(
    unit: &gimli::Unit<Reader<'_>>,
    attributes: &[Attribute<Reader<'_>>],
    files: &mut UnitFiles<'_, '_>,
) -> Call {
    let mut call = Call {
        file: NO_FILE,
        line: 0,
    };
    for attribute in attributes {
        match attribute.name() {
            // File 0 is a file from DWARF 5 on, and "no file" before.
            gimli::DW_AT_call_file => match attribute.value() {
                AttributeValue::FileIndex(index) if index > 0 || unit.header.version() >= 5 => {
                    call.file = files.number(index);
                }
                _ => {}
            },
            gimli::DW_AT_call_line => {
                let line = attribute.udata_value();
                call.line = line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
            }
            _ => {}
        }
    }
    call
}
