//! Bytes of ELF files: mapped, cut out of a mapping, or unpacked.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Bytes that stay where they are for as long as any owner lives. Cheap to clone and to cut.
#[derive(Debug, Clone)]
pub(super) struct FileBytes {
    source: Source,
    part: Range<usize>,
}

#[derive(Debug, Clone)]
enum Source {
    Mapped(Arc<memmap2::Mmap>),
    /// Bytes of our own: unpacked sections, the vDSO.
    Owned(Arc<Vec<u8>>),
}

impl FileBytes {
    /// Maps a whole file.
    pub(super) fn map(file: &File) -> io::Result<FileBytes> {
        // SAFETY: the mapping is private and read-only, and everything that reads it checks bounds
        // and takes any bit pattern. Compilers and package managers replace binaries by new files;
        // one that is rewritten in place while it runs (the kernel forbids it for executables) may
        // show mixed bytes, which reads as damaged debug information.
        let map = unsafe { memmap2::Mmap::map(file)? };
        let part = 0..map.len();
        Ok(FileBytes {
            source: Source::Mapped(Arc::new(map)),
            part,
        })
    }

    /// No bytes.
    pub(super) fn empty() -> FileBytes {
        FileBytes::from(Vec::new())
    }

    /// The part at `offset`, sharing the bytes; `None` if it is not inside.
    pub(super) fn part(&self, offset: u64, size: u64) -> Option<FileBytes> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        let part = self.part.start.checked_add(start)?..self.part.start.checked_add(end)?;
        (part.end <= self.part.end).then(|| FileBytes {
            source: self.source.clone(),
            part,
        })
    }
}

impl From<Vec<u8>> for FileBytes {
    fn from(bytes: Vec<u8>) -> FileBytes {
        let part = 0..bytes.len();
        FileBytes {
            source: Source::Owned(Arc::new(bytes)),
            part,
        }
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let whole: &[u8] = match &self.source {
            Source::Mapped(map) => map,
            Source::Owned(bytes) => bytes,
        };
        whole.get(self.part.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_parts_stay_inside() {
        let whole = FileBytes::from((0..20).collect::<Vec<u8>>());
        let part = whole.part(5, 10).unwrap();
        assert_eq!(&*part, &(5..15).collect::<Vec<u8>>());
        assert_eq!(&*part.part(2, 3).unwrap(), [7, 8, 9]);
        assert!(part.part(10, 0).unwrap().is_empty());
        assert!(part.part(8, 3).is_none());
        assert!(part.part(u64::MAX, 2).is_none());
        assert!(part.part(2, u64::MAX).is_none());
    }
}
