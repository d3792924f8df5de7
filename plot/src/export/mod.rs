//! The analysis for other programs: CSV, JSON, flame graphs, and a picture as SVG and PNG.

pub mod csv;
mod drawing;
pub mod editor;
pub mod firefox;
mod font;
mod picture;
pub mod png;
pub mod speedscope;
mod stacks;
pub mod svg;

use crate::estimates::Analysis;

/// The analysis as JSON, versioned by its `format_version`; unknown interval ends are null.
///
/// # Errors
/// Never for an analysis of [`crate::estimates::analyse`]; the type allows for it.
pub fn json(analysis: &Analysis) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(analysis)?;
    text.push('\n');
    Ok(text)
}
