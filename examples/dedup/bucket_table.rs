//! The table of chunks already seen: buckets with a lock each, each a linked list.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::options::BucketHash;

/// SHA-1 of a chunk.
pub type Digest = [u8; 20];

/// Buckets in the table.
pub const BUCKETS: usize = 1 << 16;

/// The number of every chunk of the earlier archive: no chunk of this run is one of them.
const EARLIER: u32 = u32::MAX;

/// A chunk that was seen.
struct Entry {
    digest: Digest,
    id: u32,
    next: List,
}

type List = Option<Box<Entry>>;

/// All chunks of one run.
pub struct BucketTable {
    buckets: Vec<Mutex<List>>,
    hash: BucketHash,
    earlier: u32,
    next_id: AtomicU32,
}

/// What a look-up found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The chunk was there, under this number.
    Known(u32),
    /// It is there now, under this number.
    New(u32),
}

/// How full the buckets are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// Share of the buckets that hold a chunk.
    pub share: f64,
    /// Chunks in a bucket that holds any.
    pub mean: f64,
}

impl BucketTable {
    /// A table that holds the chunks of an earlier archive, as that of an incremental backup does.
    pub fn new(hash: BucketHash, earlier: &[Digest]) -> Self {
        let mut buckets: Vec<Mutex<List>> = (0..BUCKETS).map(|_| Mutex::new(None)).collect();
        for digest in earlier {
            let list = buckets[bucket_of(hash, digest)]
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner);
            let next = list.take();
            *list = Some(Box::new(Entry {
                digest: *digest,
                id: EARLIER,
                next,
            }));
        }
        Self {
            buckets,
            hash,
            earlier: earlier.len() as u32,
            next_id: AtomicU32::new(0),
        }
    }

    /// Looks a digest up, and adds it if it is not there.
    pub fn find_or_add(&self, digest: &Digest) -> Found {
        let bucket = &self.buckets[bucket_of(self.hash, digest)];
        let mut list = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = list.as_deref();
        // The walk: each step waits for the memory of the one before it.
        while at.is_some_and(|entry| entry.digest != *digest) {
            at = at.and_then(|entry| entry.next.as_deref());
        }
        if let Some(entry) = at {
            return Found::Known(entry.id);
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let next = list.take();
        *list = Some(Box::new(Entry {
            digest: *digest,
            id,
            next,
        }));
        Found::New(id)
    }

    /// Different chunks seen in this run.
    pub fn chunks(&self) -> u32 {
        self.next_id.load(Ordering::Relaxed)
    }

    pub fn bucket_use(&self) -> Use {
        let used = self
            .buckets
            .iter()
            .filter(|bucket| {
                bucket
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .is_some()
            })
            .count();
        Use {
            share: used as f64 / BUCKETS as f64,
            mean: f64::from(self.earlier + self.chunks()) / (used as f64).max(1.0),
        }
    }
}

impl Drop for BucketTable {
    /// One entry after the other: a long list that drops itself would recurse.
    fn drop(&mut self) {
        for bucket in &mut self.buckets {
            let mut list = bucket
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            while let Some(mut entry) = list {
                list = entry.next.take();
            }
        }
    }
}

fn bucket_of(hash: BucketHash, digest: &Digest) -> usize {
    let (words, _) = digest.as_chunks::<4>();
    let number = match hash {
        BucketHash::Add => digest.iter().map(|&byte| u32::from(byte)).sum(),
        BucketHash::Xor => words
            .iter()
            .fold(0, |all, &word| all ^ u32::from_le_bytes(word)),
    };
    number as usize % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::{BucketTable, Found};
    use crate::options::BucketHash;
    use sha1::{Digest as _, Sha1};

    fn filled(hash: BucketHash) -> BucketTable {
        let table = BucketTable::new(hash, &[]);
        for number in 0..100_000_u32 {
            let digest = Sha1::digest(number.to_le_bytes()).into();
            assert_eq!(table.find_or_add(&digest), Found::New(number));
        }
        table
    }

    #[test]
    fn adding_uses_few_buckets() {
        let found = filled(BucketHash::Add).bucket_use();
        assert!(found.share < 0.05, "{found:?}");
        assert!(found.mean > 30.0, "{found:?}");
    }

    #[test]
    fn folding_uses_most_buckets() {
        let found = filled(BucketHash::Xor).bucket_use();
        assert!(found.share > 0.75, "{found:?}");
        assert!(found.mean < 2.5, "{found:?}");
    }

    #[test]
    fn an_earlier_archive_lengthens_the_lists_only() {
        let earlier: Vec<_> = (0..50_000_u32)
            .map(|number| Sha1::digest(number.to_be_bytes()).into())
            .collect();
        let table = BucketTable::new(BucketHash::Add, &earlier);
        let found = table.bucket_use();
        assert!(found.mean > 15.0, "{found:?}");
        let digest = Sha1::digest(b"of this run").into();
        assert_eq!(table.find_or_add(&digest), Found::New(0));
        assert_eq!(table.chunks(), 1);
    }

    #[test]
    fn a_chunk_keeps_its_number() {
        let table = filled(BucketHash::Add);
        for number in [0_u32, 1, 50_000, 99_999] {
            let digest = Sha1::digest(number.to_le_bytes()).into();
            assert_eq!(table.find_or_add(&digest), Found::Known(number));
        }
        assert_eq!(table.chunks(), 100_000);
    }
}
