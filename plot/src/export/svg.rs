//! The picture as SVG.

use super::picture;
use crate::estimates::Analysis;

/// The picture of so many lines of the progress point with this number; nothing if there is no
/// such point.
#[must_use]
pub fn svg(analysis: &Analysis, point: usize, lines: usize) -> Option<String> {
    Some(picture::draw(analysis, point, lines)?.svg())
}
