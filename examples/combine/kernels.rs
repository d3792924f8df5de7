//! The kernels: each takes one step beyond the one before it.
//!
//! | kernel | step |
//! |---|---|
//! | combine1 | get and length through calls, result in memory |
//! | combine2 | the length is asked for once |
//! | combine3 | elements are read directly |
//! | combine4 | the result is in a register |
//! | combine5 | the loop is unrolled twice |
//! | combine6 | two accumulators |
//! | combine7 | one accumulator, but pairs are combined first |
//! | lanes | eight accumulators in an array, for the compiler to make vectors of |
//! | vector | vector instructions by hand (`vector_instructions`) |

use std::cell::Cell;

use crate::number::{Number, Operation};
use crate::vector::Vector;
use crate::vector_instructions::{self, Instructions};

/// Reduces a vector into a place in memory.
pub type Kernel<T> = fn(&Vector<T>, &Cell<T>);

/// All kernels with their names, in the order of the lesson.
pub fn all<T: Instructions, O: Operation<T>>() -> [(&'static str, Kernel<T>); 9] {
    [
        ("combine1", combine1::<T, O>),
        ("combine2", combine2::<T, O>),
        ("combine3", combine3::<T, O>),
        ("combine4", combine4::<T, O>),
        ("combine5", combine5::<T, O>),
        ("combine6", combine6::<T, O>),
        ("combine7", combine7::<T, O>),
        ("lanes", lanes::<T, O>),
        ("vector", vector_instructions::combine::<T, O>),
    ]
}

/// The kernel of that name.
pub fn named<T: Instructions, O: Operation<T>>(name: &str) -> Option<Kernel<T>> {
    let mut kernels = all::<T, O>().into_iter();
    Some(kernels.find(|(other, _)| *other == name)?.1)
}

#[inline(never)]
fn combine1<T: Number, O: Operation<T>>(vector: &Vector<T>, result: &Cell<T>) {
    result.set(O::IDENTITY);
    let mut at = 0;
    while at < vector.len() {
        let mut element = T::ZERO;
        vector.get(at, &mut element);
        result.set(O::apply(result.get(), element).held());
        at += 1;
    }
}

#[inline(never)]
fn combine2<T: Number, O: Operation<T>>(vector: &Vector<T>, result: &Cell<T>) {
    result.set(O::IDENTITY);
    let length = vector.len();
    let mut at = 0;
    while at < length {
        let mut element = T::ZERO;
        vector.get(at, &mut element);
        result.set(O::apply(result.get(), element).held());
        at += 1;
    }
}

#[inline(never)]
fn combine3<T: Number, O: Operation<T>>(vector: &Vector<T>, result: &Cell<T>) {
    result.set(O::IDENTITY);
    for element in vector.direct() {
        result.set(O::apply(result.get(), element.get()).held());
    }
}

#[inline(never)]
fn combine4<T: Number, O: Operation<T>>(vector: &Vector<T>, result: &Cell<T>) {
    let mut all = O::IDENTITY;
    for element in vector.direct() {
        all = O::apply(all, element.get()).held();
    }
    result.set(all);
}

#[inline(never)]
fn combine5<T: Number, O: Operation<T>>(vector: &Vector<T>, result: &Cell<T>) {
    let mut all = O::IDENTITY;
    let (pairs, rest) = vector.direct().as_chunks::<2>();
    for [first, second] in pairs {
        all = O::apply(all, first.get()).held();
        all = O::apply(all, second.get()).held();
    }
    for element in rest {
        all = O::apply(all, element.get());
    }
    result.set(all);
}

#[inline(never)]
fn combine6<T: Number, O: Operation<T>>(vector: &Vector<T>, result: &Cell<T>) {
    let (mut even, mut odd) = (O::IDENTITY, O::IDENTITY);
    let (pairs, rest) = vector.direct().as_chunks::<2>();
    for [first, second] in pairs {
        even = O::apply(even, first.get()).held();
        odd = O::apply(odd, second.get()).held();
    }
    for element in rest {
        even = O::apply(even, element.get());
    }
    result.set(O::apply(even, odd));
}

#[inline(never)]
fn combine7<T: Number, O: Operation<T>>(vector: &Vector<T>, result: &Cell<T>) {
    let mut all = O::IDENTITY;
    let (pairs, rest) = vector.direct().as_chunks::<2>();
    for [first, second] in pairs {
        let pair = O::apply(first.get(), second.get()).held();
        all = O::apply(all, pair).held();
    }
    for element in rest {
        all = O::apply(all, element.get());
    }
    result.set(all);
}

/// Accumulators of `lanes`: two vectors of four, or four of two.
const LANES: usize = 8;

#[inline(never)]
fn lanes<T: Number, O: Operation<T>>(vector: &Vector<T>, result: &Cell<T>) {
    let mut all = [O::IDENTITY; LANES];
    let (rows, rest) = vector.direct().as_chunks::<LANES>();
    for row in rows {
        for (all, element) in all.iter_mut().zip(row) {
            *all = O::apply(*all, element.get());
        }
    }
    let rest = rest
        .iter()
        .fold(O::IDENTITY, |all, element| O::apply(all, element.get()));
    result.set(all.into_iter().fold(rest, O::apply));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::{Add, Multiply};

    const LENGTHS: [usize; 9] = [0, 1, 2, 3, 7, 8, 33, 100, 1001];

    /// Checks all kernels against the obvious reduction.
    fn check<T: Instructions, O: Operation<T>>(close: fn(T, T) -> bool) {
        for length in LENGTHS {
            let numbers: Vec<T> = (0..length).map(T::sample).collect();
            let expected = numbers.iter().copied().fold(O::IDENTITY, O::apply);
            let vector = Vector::new(numbers);
            for (name, kernel) in all::<T, O>() {
                let result = Cell::new(T::ZERO);
                kernel(&vector, &result);
                let found = result.get();
                assert!(
                    close(found, expected),
                    "{name} {} {} of {length}: {found:?}, not {expected:?}",
                    T::NAME,
                    O::NAME
                );
            }
        }
    }

    #[test]
    fn integers_are_reduced_exactly() {
        check::<i64, Add>(|a, b| a == b);
        check::<i64, Multiply>(|a, b| a == b);
    }

    #[test]
    fn floating_point_numbers_up_to_rounding() {
        check::<f64, Add>(|a, b| (a - b).abs() <= 1e-12 * b.abs());
        check::<f64, Multiply>(|a, b| (a - b).abs() <= 1e-12 * b.abs());
    }
}
