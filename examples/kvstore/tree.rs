//! The B-tree, and the two ways to its pages.

use std::ops::Range;

/// Cells of a page.
const CELLS: usize = 64;
/// Bytes of a record: what stands in a leaf for a key.
const RECORD: usize = 56;
/// Bytes of the longest record that there might be.
pub const ROOM: usize = 4096;

/// A page: its cells' keys ascend. A cell of an inner page names the page of keys from its key on; a
/// cell of a leaf has a record.
pub struct Page {
    keys: Vec<u64>,
    below: Vec<usize>,
    records: Vec<u8>,
}

/// All pages; the last is the root, the first are the leaves.
pub struct Tree {
    pages: Vec<Page>,
    keys: u64,
}

/// How the tree gets at its pages.
pub trait Access {
    /// The page of that number, held until `leave`.
    fn fetch<'tree>(&self, tree: &'tree Tree, number: usize) -> &'tree Page;
    /// Gives a page back.
    fn leave(&self, page: &Page);
    /// Bytes of this page's records.
    fn size(&self, page: &Page) -> usize;
}

/// The table of function pointers.
pub struct Methods {
    fetch: fn(&Tree, usize) -> &Page,
    leave: fn(&Page),
    size: fn(&Page) -> usize,
}

impl Methods {
    /// The only functions that anybody ever puts there.
    pub const STANDARD: Self = Self { fetch, leave, size };
}

fn fetch(tree: &Tree, number: usize) -> &Page {
    &tree.pages[number]
}

/// The store's lock is held: a page needs no latch of its own.
fn leave(_: &Page) {}

/// All pages are of one format.
fn size(_: &Page) -> usize {
    RECORD
}

impl Access for Methods {
    #[inline]
    fn fetch<'tree>(&self, tree: &'tree Tree, number: usize) -> &'tree Page {
        (self.fetch)(tree, number)
    }

    #[inline]
    fn leave(&self, page: &Page) {
        (self.leave)(page);
    }

    #[inline]
    fn size(&self, page: &Page) -> usize {
        (self.size)(page)
    }
}

/// The same functions by their names.
pub struct Direct;

impl Access for Direct {
    #[inline]
    fn fetch<'tree>(&self, tree: &'tree Tree, number: usize) -> &'tree Page {
        fetch(tree, number)
    }

    #[inline]
    fn leave(&self, page: &Page) {
        leave(page);
    }

    #[inline]
    fn size(&self, page: &Page) -> usize {
        size(page)
    }
}

impl Page {
    fn leaf(keys: Range<u64>) -> Self {
        Self {
            keys: keys.clone().collect(),
            below: Vec::new(),
            records: keys.flat_map(record).collect(),
        }
    }

    /// The last cell whose key is not above.
    fn cell(&self, key: u64) -> Option<usize> {
        self.keys
            .partition_point(|&other| other <= key)
            .checked_sub(1)
    }
}

impl Tree {
    /// A tree of the keys below `keys`, each with a record made of it.
    pub fn of(keys: u64) -> Self {
        let mut pages: Vec<Page> = (0..keys)
            .step_by(CELLS)
            .map(|first| Page::leaf(first..keys.min(first + CELLS as u64)))
            .collect();
        let mut row = 0..pages.len();
        while row.len() > 1 {
            let above = pages.len();
            for first in row.clone().step_by(CELLS) {
                let below: Vec<usize> = (first..row.end.min(first + CELLS)).collect();
                let keys = below.iter().map(|&page| pages[page].keys[0]).collect();
                pages.push(Page {
                    keys,
                    below,
                    records: Vec::new(),
                });
            }
            row = above..pages.len();
        }
        Self { pages, keys }
    }

    /// How many keys there are.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Reads the records from a key on, at most so many and of one leaf, and adds them up. The page
    /// may be gone once it is given back: each record is copied to `room` first.
    pub fn scan<A: Access>(
        &self,
        access: &A,
        key: u64,
        most: usize,
        room: &mut [u8; ROOM],
    ) -> Option<u64> {
        let mut number = self.pages.len() - 1;
        loop {
            let page = access.fetch(self, number);
            let cell = page.cell(key)?;
            let Some(&below) = page.below.get(cell) else {
                let end = page.keys.len().min(cell + most);
                let mut total = 0_u64;
                for cell in cell..end {
                    let mut records = page.records.chunks_exact(access.size(page));
                    let record = records.nth(cell)?;
                    let copy = room.get_mut(..record.len())?;
                    copy.copy_from_slice(record);
                    total = total.wrapping_add(sum(copy));
                }
                let found = page.keys[cell] == key;
                access.leave(page);
                return found.then_some(total);
            };
            access.leave(page);
            number = below;
        }
    }
}

/// The sum of a record's whole words.
#[inline]
fn sum(record: &[u8]) -> u64 {
    let words = record.as_chunks().0.iter().copied();
    words.map(u64::from_le_bytes).fold(0, u64::wrapping_add)
}

fn record(key: u64) -> [u8; RECORD] {
    let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1;
    std::array::from_fn(|at| (mixed.rotate_left(at as u32) >> 7) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_find_every_key_and_no_other() {
        let room = &mut [0; ROOM];
        for keys in [1, CELLS as u64, 10_000] {
            let tree = Tree::of(keys);
            for key in 0..keys {
                let leaf_ends = (key / CELLS as u64 + 1) * CELLS as u64;
                let told = key..keys.min(leaf_ends).min(key + 5);
                let told = Some(told.map(|key| sum(&record(key))).fold(0, u64::wrapping_add));
                assert_eq!(tree.scan(&Direct, key, 5, room), told);
                assert_eq!(tree.scan(&Methods::STANDARD, key, 5, room), told);
            }
            assert_eq!(tree.scan(&Direct, keys, 1, room), None);
            assert_eq!(tree.scan(&Methods::STANDARD, u64::MAX, 1, room), None);
        }
    }
}
