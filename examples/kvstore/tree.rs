//! The B-tree, and the two ways to its pages.

/// Cells of a page.
const CELLS: usize = 64;

/// A page: cells by ascending key. A cell of an inner page names the page of keys from its key on.
pub struct Page {
    cells: Vec<(u64, u64)>,
    is_leaf: bool,
}

/// All pages; the last is the root.
pub struct Tree {
    pages: Vec<Page>,
    keys: u64,
}

/// How the tree gets at its pages.
pub trait Access {
    fn fetch<'tree>(&self, tree: &'tree Tree, number: usize) -> &'tree Page;
    fn enter(&self, page: &Page);
    fn leave(&self, page: &Page);
    fn count(&self, page: &Page) -> usize;
    fn key(&self, page: &Page, cell: usize) -> u64;
}

/// The table of function pointers.
pub struct Methods {
    fetch: fn(&Tree, usize) -> &Page,
    enter: fn(&Page),
    leave: fn(&Page),
    count: fn(&Page) -> usize,
    key: fn(&Page, usize) -> u64,
}

impl Methods {
    /// The only functions that anybody ever puts there.
    pub const STANDARD: Self = Self {
        fetch,
        enter,
        leave,
        count,
        key,
    };
}

fn fetch(tree: &Tree, number: usize) -> &Page {
    &tree.pages[number]
}

/// The store's lock is held: the page needs no latch of its own.
fn enter(_: &Page) {}

fn leave(_: &Page) {}

fn count(page: &Page) -> usize {
    page.cells.len()
}

fn key(page: &Page, cell: usize) -> u64 {
    page.cells[cell].0
}

impl Access for Methods {
    #[inline]
    fn fetch<'tree>(&self, tree: &'tree Tree, number: usize) -> &'tree Page {
        (self.fetch)(tree, number)
    }

    #[inline]
    fn enter(&self, page: &Page) {
        (self.enter)(page);
    }

    #[inline]
    fn leave(&self, page: &Page) {
        (self.leave)(page);
    }

    #[inline]
    fn count(&self, page: &Page) -> usize {
        (self.count)(page)
    }

    #[inline]
    fn key(&self, page: &Page, cell: usize) -> u64 {
        (self.key)(page, cell)
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
    fn enter(&self, page: &Page) {
        enter(page);
    }

    #[inline]
    fn leave(&self, page: &Page) {
        leave(page);
    }

    #[inline]
    fn count(&self, page: &Page) -> usize {
        count(page)
    }

    #[inline]
    fn key(&self, page: &Page, cell: usize) -> u64 {
        key(page, cell)
    }
}

impl Tree {
    /// A tree of the keys below `keys`, each with a value made of it.
    pub fn of(keys: u64) -> Self {
        let mut pages = Vec::new();
        let mut row: Vec<(u64, u64)> = (0..keys).map(|key| (key, value(key))).collect();
        let mut is_leaf = true;
        loop {
            let mut above = Vec::new();
            for cells in row.chunks(CELLS) {
                above.push((cells[0].0, pages.len() as u64));
                pages.push(Page {
                    cells: cells.to_vec(),
                    is_leaf,
                });
            }
            if above.len() == 1 {
                return Self { pages, keys };
            }
            (row, is_leaf) = (above, false);
        }
    }

    /// How many keys there are.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The value of a key.
    pub fn get<A: Access>(&self, access: &A, key: u64) -> Option<u64> {
        let mut number = self.pages.len() - 1;
        loop {
            let page = access.fetch(self, number);
            access.enter(page);
            // The last cell whose key is not above.
            let (mut low, mut high) = (0, access.count(page));
            while low < high {
                let middle = (low + high) / 2;
                if access.key(page, middle) <= key {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            let cell = low.checked_sub(1).and_then(|at| page.cells.get(at));
            access.leave(page);
            let &(found, content) = cell?;
            if page.is_leaf {
                return (found == key).then_some(content);
            }
            number = content as usize;
        }
    }
}

fn value(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_find_every_key_and_no_other() {
        for keys in [1, CELLS as u64, 10_000] {
            let tree = Tree::of(keys);
            for key in 0..keys {
                assert_eq!(tree.get(&Direct, key), Some(value(key)));
                assert_eq!(tree.get(&Methods::STANDARD, key), Some(value(key)));
            }
            assert_eq!(tree.get(&Direct, keys), None);
            assert_eq!(tree.get(&Methods::STANDARD, u64::MAX), None);
        }
    }
}
