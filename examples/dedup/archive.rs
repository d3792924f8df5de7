//! The archive: the compressed chunks as they come, then where each is, then what each piece is
//! made of.
//!
//! All numbers are little-endian. `MAGIC`, the chunks' bytes, an index (u32 count; u64 start and
//! u32 length of each), the pieces (u32 count; u32 file, u64 start, u32 chunk count and u32 chunk
//! numbers of each, ordered by file and start), the number of files (u32), and u64 start of the
//! index as the last word. Files are known by their place in the sorted tree.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

use crate::input::{Piece, Tree};
use crate::pipeline::Deduplicated;

/// First bytes of an archive.
pub const MAGIC: &[u8; 8] = b"dedup-1\n";

/// An archive that is being written.
pub struct Archive {
    out: BufWriter<File>,
    length: u64,
    /// Start and length of each chunk; chunks come in any order.
    places: Vec<(u64, u32)>,
    pieces: Vec<(Piece, Vec<u32>)>,
}

impl Archive {
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("creating {}", path.display()))?;
        let mut out = BufWriter::with_capacity(1 << 18, file);
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            length: MAGIC.len() as u64,
            places: Vec::new(),
            pieces: Vec::new(),
        })
    }

    /// Writes the new chunks of a piece and keeps its recipe.
    pub fn add(&mut self, done: Deduplicated) -> io::Result<()> {
        for (id, bytes) in done.new {
            let id = id as usize;
            if self.places.len() <= id {
                self.places.resize(id + 1, (0, 0));
            }
            self.places[id] = (self.length, bytes.len() as u32);
            self.out.write_all(&bytes)?;
            self.length += bytes.len() as u64;
        }
        self.pieces.push((done.piece, done.chunks));
        Ok(())
    }

    /// Writes the index.
    pub fn finish(mut self, tree: &Tree) -> io::Result<()> {
        self.pieces.sort();
        let out = &mut self.out;
        out.write_all(&(self.places.len() as u32).to_le_bytes())?;
        for (start, length) in &self.places {
            out.write_all(&start.to_le_bytes())?;
            out.write_all(&length.to_le_bytes())?;
        }
        out.write_all(&(self.pieces.len() as u32).to_le_bytes())?;
        for (piece, chunks) in &self.pieces {
            out.write_all(&(piece.file as u32).to_le_bytes())?;
            out.write_all(&piece.start.to_le_bytes())?;
            out.write_all(&(chunks.len() as u32).to_le_bytes())?;
            for chunk in chunks {
                out.write_all(&chunk.to_le_bytes())?;
            }
        }
        out.write_all(&(tree.files.len() as u32).to_le_bytes())?;
        out.write_all(&self.length.to_le_bytes())?;
        out.flush()
    }
}
