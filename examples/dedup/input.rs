//! The files to compress, and the pieces that threads work on.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Bytes of a file that one thread takes at a time. Chunks end at its end.
const PIECE: u64 = 512 * 1024;

/// The files of a tree.
pub struct Tree {
    /// Paths and lengths.
    pub files: Vec<(PathBuf, u64)>,
}

/// A stretch of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// Index in [`Tree::files`].
    pub file: usize,
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub length: u64,
}

impl Tree {
    /// Lists a file or a folder, at most `limit` MB of it. Links are left out.
    pub fn read(root: &Path, limit: u64) -> Result<Self> {
        let mut files = Vec::new();
        let metadata = fs::metadata(root).with_context(|| format!("reading {}", root.display()))?;
        if metadata.is_dir() {
            list(root, &mut files)?;
        } else {
            files.push((root.to_path_buf(), metadata.len()));
        }
        files.sort();
        let mut left = limit * 1_000_000;
        files.retain(|(_, length)| {
            let fits = *length <= left;
            left -= if fits { *length } else { 0 };
            fits && *length > 0
        });
        ensure!(
            !files.is_empty(),
            "no file within {limit} MB in {}",
            root.display()
        );
        Ok(Self { files })
    }

    /// All pieces, mixed in an order that is the same each time, so that no part of a run meets
    /// only one kind of file.
    pub fn pieces(&self) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for (file, (_, length)) in self.files.iter().enumerate() {
            let starts = (0..*length).step_by(PIECE as usize);
            pieces.extend(starts.map(|start| Piece {
                file,
                start,
                length: PIECE.min(length - start),
            }));
        }
        // Fisher–Yates, with the generator of Knuth's MMIX.
        let mut state = 1_u64;
        for at in (1..pieces.len()).rev() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            pieces.swap(at, (state >> 33) as usize % (at + 1));
        }
        pieces
    }

    /// The bytes of a piece.
    pub fn load(&self, piece: &Piece, bytes: &mut Vec<u8>) -> Result<()> {
        let path = &self.files[piece.file].0;
        read_piece(path, piece, bytes).with_context(|| format!("reading {}", path.display()))
    }
}

fn read_piece(path: &Path, piece: &Piece, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(piece.start))?;
    bytes.resize(piece.length as usize, 0);
    file.read_exact(bytes)
}

fn list(folder: &Path, files: &mut Vec<(PathBuf, u64)>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push((entry.path(), entry.metadata()?.len()));
        }
    }
    Ok(())
}
