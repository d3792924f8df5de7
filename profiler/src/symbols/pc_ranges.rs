//! The address ranges that an entry of debug information covers.
//!
//! `DW_AT_high_pc` is a length if its form is a constant and an address otherwise; wherever there
//! is a `DW_AT_ranges`, it is the whole truth (cold parts lie elsewhere).

use gimli::{Attribute, AttributeValue};

use super::debug_sections::{Dwarf, Reader};

/// Calls `found` with each range; sums that overflow are dropped.
pub(super) fn entry_ranges<'a>(
    dwarf: &Dwarf<'a>,
    unit: &gimli::Unit<Reader<'a>>,
    attributes: &[Attribute<Reader<'a>>],
    mut found: impl FnMut(u64, u64),
) -> gimli::Result<()> {
    let (mut low, mut high, mut size) = (None, None, None);
    for attribute in attributes {
        match attribute.name() {
            gimli::DW_AT_low_pc => low = dwarf.attr_address(unit, attribute.value())?,
            gimli::DW_AT_high_pc => match attribute.value() {
                AttributeValue::Udata(length) => size = Some(length),
                value => high = dwarf.attr_address(unit, value)?,
            },
            gimli::DW_AT_ranges => {
                if let Some(mut list) = dwarf.attr_ranges(unit, attribute.value())? {
                    while let Some(range) = list.next()? {
                        if range.begin < range.end {
                            found(range.begin, range.end);
                        }
                    }
                    return Ok(());
                }
            }
            _ => {}
        }
    }
    if let Some(start) = low {
        let end = high.or_else(|| start.checked_add(size?));
        if let Some(end) = end.filter(|end| start < *end) {
            found(start, end);
        }
    }
    Ok(())
}
