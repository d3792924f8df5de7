//! The abstract vector: its length and its elements are behind calls.

use std::cell::Cell;
use std::hint::black_box;

/// A vector whose users ask for one element at a time.
///
/// Cells, because the lesson's third step needs them: a result in memory that may be an element of
/// the vector has to be written each time.
pub struct Vector<T> {
    elements: Vec<Cell<T>>,
}

impl<T: Copy> Vector<T> {
    pub fn new(elements: impl IntoIterator<Item = T>) -> Self {
        let elements = elements.into_iter().map(Cell::new).collect();
        Self { elements }
    }

    /// How many elements there are.
    ///
    /// The box keeps the compiler from finding out that nothing is changed here, or it would call
    /// this once where a loop calls it each time.
    #[inline(never)]
    pub fn len(&self) -> usize {
        black_box(());
        self.elements.len()
    }

    /// Copies an element; whether there is one.
    #[inline(never)]
    pub fn get(&self, at: usize, element: &mut T) -> bool {
        black_box(());
        match self.elements.get(at) {
            Some(found) => {
                *element = found.get();
                true
            }
            None => false,
        }
    }

    /// The elements themselves.
    pub fn direct(&self) -> &[Cell<T>] {
        &self.elements
    }
}
