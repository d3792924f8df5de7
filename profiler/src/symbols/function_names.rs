//! Names of functions, as people write them.

use std::borrow::Cow;

use gimli::{AttributeValue, UnitOffset};

use super::debug_sections::{Dwarf, Reader};
use super::unit_index::UnitIndex;

/// Damaged references may lead in circles.
const LONGEST_CHAIN: u32 = 16;

/// The name that the linker sees of the function at `offset` of `unit`, or else its plain name.
pub(super) fn raw_name<'a>(
    dwarf: &Dwarf<'a>,
    index: Option<&UnitIndex>,
    unit: &gimli::Unit<Reader<'a>>,
    offset: usize,
) -> Option<Cow<'a, str>> {
    entry_name(dwarf, index, unit, UnitOffset(offset), LONGEST_CHAIN)
        .ok()
        .flatten()
}

fn entry_name<'a>(
    dwarf: &Dwarf<'a>,
    index: Option<&UnitIndex>,
    unit: &gimli::Unit<Reader<'a>>,
    offset: UnitOffset,
    chain: u32,
) -> gimli::Result<Option<Cow<'a, str>>> {
    let Some(chain) = chain.checked_sub(1) else {
        return Ok(None);
    };
    let mut entries = unit.entries_raw(Some(offset))?;
    let Some(abbreviation) = entries.read_abbreviation()? else {
        return Ok(None);
    };
    let (mut plain, mut origin) = (None, None);
    for specification in abbreviation.attributes() {
        let attribute = entries.read_attribute(*specification)?;
        match attribute.name() {
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                if let Ok(name) = dwarf.attr_string(unit, attribute.value()) {
                    return Ok(Some(name.to_string_lossy()));
                }
            }
            gimli::DW_AT_name => plain = dwarf.attr_string(unit, attribute.value()).ok(),
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                origin = Some(attribute.value())
            }
            _ => {}
        }
    }
    let inherited = match origin {
        Some(AttributeValue::UnitRef(offset)) => entry_name(dwarf, index, unit, offset, chain)?,
        Some(AttributeValue::DebugInfoRef(offset)) => {
            let Some(index) = index else { return Ok(None) };
            let other = index.unit_of_entry(dwarf, offset.0, false)?;
            let Some(offset) = offset.to_unit_offset(&other.header) else {
                return Ok(None);
            };
            entry_name(dwarf, Some(index), &other, offset, chain)?
        }
        Some(AttributeValue::DebugInfoRefSup(offset)) => {
            let (Some(index), Some(alternate)) = (index, dwarf.sup()) else {
                return Ok(None);
            };
            let other = index.unit_of_entry(alternate, offset.0, true)?;
            let Some(offset) = offset.to_unit_offset(&other.header) else {
                return Ok(None);
            };
            entry_name(alternate, Some(index), &other, offset, chain)?
        }
        _ => None,
    };
    Ok(inherited.or_else(|| plain.map(|name| name.to_string_lossy())))
}

/// A linker's name made readable; anything else as it is.
pub(super) fn demangled(name: &str) -> String {
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
        assert_eq!(demangled("_Zwrong"), "_Zwrong");
    }
}
