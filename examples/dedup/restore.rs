//! Reads an archive back and compares what it restores with the tree.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::archive::MAGIC;
use crate::input::Tree;

/// Restores every file and compares it; the number of bytes that agree.
pub fn verify(path: &Path, tree: &Tree) -> Result<u64> {
    let archive = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    ensure!(
        archive.starts_with(MAGIC),
        "{} is not an archive of dedup",
        path.display()
    );
    let (body, index) = archive
        .split_last_chunk::<8>()
        .context("the archive is cut off")?;
    let mut words = Words(
        body.get(u64::from_le_bytes(*index) as usize..)
            .context("no index")?,
    );
    let places = (0..words.u32()?)
        .map(|_| Ok((words.u64()? as usize, words.u32()? as usize)))
        .collect::<Result<Vec<_>>>()?;
    let mut restored: Vec<Vec<u8>> = Vec::new();
    for _ in 0..words.u32()? {
        let (file, start, chunks) = (words.u32()? as usize, words.u64()?, words.u32()?);
        restored.resize_with(restored.len().max(file + 1), Vec::new);
        let bytes = &mut restored[file];
        ensure!(
            bytes.len() as u64 == start,
            "file {file} has a gap before byte {start}"
        );
        for _ in 0..chunks {
            let &(at, length) = places.get(words.u32()? as usize).context("no such chunk")?;
            let packed = body
                .get(at..at + length)
                .context("a chunk beyond the archive")?;
            bytes.extend(lz4_flex::block::decompress_size_prepended(packed)?);
        }
    }
    ensure!(
        words.u32()? as usize == tree.files.len(),
        "the archive has other files"
    );
    ensure!(
        restored.len() == tree.files.len(),
        "files are missing at the end"
    );
    let mut agreed = 0;
    for ((path, _), bytes) in tree.files.iter().zip(&restored) {
        let original = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        ensure!(original == *bytes, "{} is restored wrong", path.display());
        agreed += bytes.len() as u64;
    }
    Ok(agreed)
}

/// Little-endian numbers, one after the other.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn u32(&mut self) -> Result<u32> {
        let (word, rest) = self.0.split_first_chunk().context("the index is cut off")?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*word))
    }

    fn u64(&mut self) -> Result<u64> {
        let (word, rest) = self.0.split_first_chunk().context("the index is cut off")?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*word))
    }
}

#[cfg(test)]
mod tests {
    use super::verify;
    use crate::archive::Archive;
    use crate::input::Tree;
    use crate::options::Options;
    use crate::pipeline;
    use clap::Parser as _;
    use std::fs;

    #[test]
    fn damage_is_noticed() {
        let folder = std::env::temp_dir().join(format!("dedup-restore-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder of our own");
        let (file, archive) = (folder.join("file"), folder.join("archive"));
        let text: Vec<u8> = (0..200_000_u64).map(|at| ((at * at) >> 7) as u8).collect();
        fs::write(&file, &text).expect("a file of our own");
        let words = ["dedup", "-o", "archive", "tree"];
        let mut options = Options::try_parse_from(words).expect("good options");
        options.output = Some(archive.clone());
        let tree = Tree::read(&file, 1).expect("a tree of one file");
        pipeline::run(&tree, &options).expect("it is written");
        assert_eq!(verify(&archive, &tree).expect("it is whole"), 200_000);

        let whole = fs::read(&archive).expect("the archive");
        for at in [0, 100, whole.len() / 2, whole.len() - 20, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            fs::write(&archive, &damaged).expect("the archive is ours");
            assert!(verify(&archive, &tree).is_err(), "byte {at}");
        }
        fs::write(&archive, &whole[..whole.len() - 9]).expect("the archive is ours");
        assert!(verify(&archive, &tree).is_err());
        Archive::create(&archive)
            .and_then(|empty| Ok(empty.finish(&tree)?))
            .expect("written");
        assert!(verify(&archive, &tree).is_err());
        fs::remove_dir_all(&folder).expect("the folder is ours");
    }
}
