//! A crate of generic functions, for a program that is built in several ways.

/// Sums what is left of the items after two adaptors.
pub fn fold<I: Iterator<Item = u64>>(items: I, keep: impl Fn(&u64) -> bool) -> u64 {
    items
        .filter(|item| keep(item))
        .map(|item| item.rotate_left(7) ^ (item >> 3)) // LINE: map
        .fold(0, |sum, item| sum.wrapping_mul(31).wrapping_add(item)) // LINE: fold
}

/// Sorts by a key.
pub fn sort<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    items.sort_unstable_by_key(|item| key(item)); // LINE: sort
}

/// Joins the items as text.
pub fn join<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(",") // LINE: join
}
