//! The source around a line, for pictures that show it.

use std::path::Path;
use std::time::UNIX_EPOCH;

/// Lines shown before and after the line.
const AROUND: u32 = 7;
/// Files larger than this are not source that a person wrote.
const LARGEST: u64 = 8 << 20;
/// Characters kept of one line.
const WIDEST: usize = 240;

/// Some lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// Number of the first of them, from 1.
    pub first: u32,
    /// Their text.
    pub lines: Vec<String>,
    /// When the file was last changed, ns since the epoch, if that is known.
    pub changed: Option<u64>,
}

/// Reads the source around a line of a file of this machine; nothing if it is not there.
///
/// A profile may name any file: only regular ones of sensible size are opened.
#[must_use]
pub fn from_disk(file: &str, line: u32) -> Option<Excerpt> {
    let path = Path::new(file);
    let metadata = path.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    let text = std::fs::read(path).ok()?;
    let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok();
    Some(Excerpt {
        changed: changed.and_then(|time| u64::try_from(time.as_nanos()).ok()),
        ..around(&String::from_utf8_lossy(&text), line)?
    })
}

/// The lines of a text around one of them; nothing if there is no such line.
#[must_use]
pub fn around(text: &str, line: u32) -> Option<Excerpt> {
    let first = line.saturating_sub(AROUND).max(1);
    let lines: Vec<String> = text
        .lines()
        .skip(first as usize - 1)
        .take((line.checked_sub(first)? + AROUND + 1) as usize)
        .map(|line| line.replace('\t', "    ").chars().take(WIDEST).collect())
        .collect();
    (lines.len() > (line - first) as usize).then_some(Excerpt {
        first,
        lines,
        changed: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around_are_those_that_exist() {
        let text: String = (1..=20).map(|line| format!("\tline {line}\n")).collect();
        let middle = around(&text, 10).unwrap();
        assert_eq!((middle.first, middle.lines.len()), (3, 15));
        assert_eq!(middle.lines[7], "    line 10");
        let begin = around(&text, 2).unwrap();
        assert_eq!((begin.first, begin.lines.len()), (1, 9));
        assert_eq!(around(&text, 20).unwrap().lines.len(), 8);
        assert_eq!(around(&text, 21), None);
        assert_eq!(around(&text, 0), None);
        assert_eq!(around("", 1), None);
        assert_eq!(from_disk("/dev/zero", 1), None);
        assert_eq!(from_disk("/", 1), None);
    }
}
