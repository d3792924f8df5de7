//! Names of functions, as people write them.

use std::borrow::Cow;

use gimli::{AttributeValue, UnitOffset};

use super::debug_sections::{Dwarf, Reader};
use super::unit_files;
use super::unit_index::UnitIndex;

/// Damaged references may lead in circles.
const LONGEST_CHAIN: u32 = 16;

/// What debug information says of a function, gathered along the chain of entries that it is
/// spread over; the first entry that says something counts.
#[derive(Debug, Default)]
pub(super) struct Declared<'a> {
    linkage: Option<Cow<'a, str>>,
    plain: Option<Cow<'a, str>>,
    file: Option<DeclaredIn>,
}

/// The source file of a declaration.
#[derive(Debug)]
pub(super) enum DeclaredIn {
    /// A file of the table of the unit that was asked.
    Index(u64),
    /// A file of another unit, by its path.
    Path(String),
}

impl<'a> Declared<'a> {
    /// Reads what is said of the function at `offset` of `unit`.
    pub(super) fn read(
        dwarf: &Dwarf<'a>,
        index: Option<&UnitIndex>,
        unit: &gimli::Unit<Reader<'a>>,
        offset: usize,
    ) -> Declared<'a> {
        let mut declared = Declared::default();
        // What was read before the damage counts.
        let _ = declared.add(dwarf, index, unit, UnitOffset(offset), false, LONGEST_CHAIN);
        declared
    }

    /// The name that the linker sees, or else the plain name.
    pub(super) fn raw_name(&self) -> Option<&str> {
        self.linkage.as_deref().or(self.plain.as_deref())
    }

    /// The file that declares it.
    pub(super) fn file(&self) -> Option<&DeclaredIn> {
        self.file.as_ref()
    }

    fn add(
        &mut self,
        dwarf: &Dwarf<'a>,
        index: Option<&UnitIndex>,
        unit: &gimli::Unit<Reader<'a>>,
        offset: UnitOffset,
        elsewhere: bool,
        chain: u32,
    ) -> gimli::Result<()> {
        let Some(chain) = chain.checked_sub(1) else {
            return Ok(());
        };
        let mut entries = unit.entries_raw(Some(offset))?;
        let Some(abbreviation) = entries.read_abbreviation()? else {
            return Ok(());
        };
        let mut origin = None;
        for specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(*specification)?;
            let text = || dwarf.attr_string(unit, attribute.value()).ok();
            match attribute.name() {
                gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                    self.linkage = self
                        .linkage
                        .take()
                        .or_else(|| text().map(|name| name.to_string_lossy()));
                }
                gimli::DW_AT_name => {
                    self.plain = self
                        .plain
                        .take()
                        .or_else(|| text().map(|name| name.to_string_lossy()));
                }
                gimli::DW_AT_decl_file if self.file.is_none() => {
                    self.file = declared_in(dwarf, unit, &attribute, elsewhere);
                }
                gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                    origin = Some(attribute.value());
                }
                _ => {}
            }
        }
        if self.linkage.is_some() && self.file.is_some() {
            return Ok(());
        }
        match origin {
            Some(AttributeValue::UnitRef(offset)) => {
                self.add(dwarf, index, unit, offset, elsewhere, chain)
            }
            Some(AttributeValue::DebugInfoRef(offset)) => {
                let Some(index) = index else { return Ok(()) };
                let other = index.unit_of_entry(dwarf, offset.0, false)?;
                match offset.to_unit_offset(&other.header) {
                    Some(offset) => self.add(dwarf, Some(index), &other, offset, true, chain),
                    None => Ok(()),
                }
            }
            Some(AttributeValue::DebugInfoRefSup(offset)) => {
                let (Some(index), Some(alternate)) = (index, dwarf.sup()) else {
                    return Ok(());
                };
                let other = index.unit_of_entry(alternate, offset.0, true)?;
                match offset.to_unit_offset(&other.header) {
                    Some(offset) => self.add(alternate, Some(index), &other, offset, true, chain),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

fn declared_in(
    dwarf: &Dwarf<'_>,
    unit: &gimli::Unit<Reader<'_>>,
    attribute: &gimli::Attribute<Reader<'_>>,
    elsewhere: bool,
) -> Option<DeclaredIn> {
    let AttributeValue::FileIndex(number) = attribute.value() else {
        return None;
    };
    // File 0 is a file from DWARF 5 on, and "no file" before.
    if number == 0 && unit.header.version() < 5 {
        return None;
    }
    if !elsewhere {
        return Some(DeclaredIn::Index(number));
    }
    let header = unit.line_program.as_ref()?.header();
    unit_files::path(dwarf, unit, header, number).map(DeclaredIn::Path)
}

/// What compilers append to the names of parts and copies of a function.
const COPIES: [&str; 8] = [
    ".cold",
    ".part.",
    ".constprop.",
    ".isra.",
    ".lto_priv.",
    ".localalias",
    ".llvm.",
    ".clone.",
];

/// The name without what tells a copy of a function from the function itself.
fn of_original(name: &str) -> &str {
    let ends = COPIES.iter().filter_map(|copy| name.find(copy));
    match ends.min() {
        Some(end) if end > 0 => &name[..end],
        _ => name,
    }
}

/// A linker's name made readable, without what tells copies apart; anything else as it is.
pub(super) fn demangled(name: &str) -> String {
    let name = of_original(name);
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        // The alternate form leaves out the hash.
        return format!("{rust:#}");
    }
    if name.starts_with("_Z") {
        // Deeply nested damaged names must not exhaust the stack.
        let options = cpp_demangle::ParseOptions::default().recursion_limit(96);
        let symbol = cpp_demangle::Symbol::new_with_options(name, &options);
        if let Some(readable) = symbol.ok().and_then(|symbol| symbol.demangle().ok()) {
            return readable;
        }
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_readable() {
        assert_eq!(
            demangled("_ZN4core3ptr4read17h0123456789abcdefE"),
            "core::ptr::read"
        );
        assert_eq!(demangled("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(demangled("_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(demangled("main"), "main");
        assert_eq!(demangled("walk.constprop.0.isra.1"), "walk");
        assert_eq!(demangled("_ZN3foo3barEi.part.0.cold"), "foo::bar(int)");
        assert_eq!(demangled(".cold"), ".cold");
        assert_eq!(demangled("_Zwrong"), "_Zwrong");
    }
}
