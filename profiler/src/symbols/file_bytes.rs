//! Bytes of ELF files: mapped, cut out of a mapping, or unpacked.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Bytes that stay where they are for as long as any owner lives.
#[derive(Debug, Clone)]
pub(super) enum FileBytes {
    /// A stretch of a mapped file.
    Mapped(Arc<memmap2::Mmap>, Range<usize>),
    /// Bytes of our own: unpacked sections, the vDSO.
    Owned(Arc<[u8]>),
}

impl FileBytes {
    /// Maps a whole file.
    pub(super) fn map(file: &File) -> io::Result<FileBytes> {
        // SAFETY: the mapping is private and read-only, and everything that reads it checks bounds
        // and takes any bit pattern. Compilers and package managers replace binaries by new files;
        // one that is rewritten in place while it runs (the kernel forbids it for executables) may
        // show mixed bytes, which reads as damaged debug information.
        let map = unsafe { memmap2::Mmap::map(file)? };
        let all = 0..map.len();
        Ok(FileBytes::Mapped(Arc::new(map), all))
    }

    /// No bytes.
    pub(super) fn empty() -> FileBytes {
        FileBytes::Owned(Arc::from([]))
    }

    /// The part at `offset`, sharing the mapping; `None` if it is not inside.
    pub(super) fn part(&self, offset: u64, size: u64) -> Option<FileBytes> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        if end > self.len() {
            return None;
        }
        Some(match self {
            FileBytes::Mapped(map, all) => {
                FileBytes::Mapped(Arc::clone(map), all.start + start..all.start + end)
            }
            FileBytes::Owned(bytes) => FileBytes::Owned(Arc::from(&bytes[start..end])),
        })
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            FileBytes::Mapped(map, part) => map.get(part.clone()).unwrap_or_default(),
            FileBytes::Owned(bytes) => bytes,
        }
    }
}
