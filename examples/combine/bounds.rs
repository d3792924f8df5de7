//! The bounds that the processor sets: how long one operation takes before the next can use its
//! result, and how many can be under way at once.

use std::cell::Cell;

use crate::number::{Number, Operation};
use crate::vector::Vector;

/// Elements a turn of the loop, for both bounds.
const TURN: usize = 16;

/// One chain: each operation waits for the one before it.
#[inline(never)]
pub fn latency<T: Number, O: Operation<T>>(vector: &Vector<T>, result: &Cell<T>) {
    let mut all = O::IDENTITY;
    let (turns, _) = vector.direct().as_chunks::<TURN>();
    for turn in turns {
        for element in turn {
            all = O::apply(all, element.get()).held();
        }
    }
    result.set(all);
}

/// [`Number::CHAINS`] chains that do not wait for each other.
pub fn throughput<T: Number, O: Operation<T>>(vector: &Vector<T>, result: &Cell<T>) {
    if T::CHAINS == 16 {
        chains::<T, O, 16>(vector, result);
    } else {
        chains::<T, O, 8>(vector, result);
    }
}

#[inline(never)]
fn chains<T: Number, O: Operation<T>, const CHAINS: usize>(vector: &Vector<T>, result: &Cell<T>) {
    let mut all = [O::IDENTITY; CHAINS];
    let (turns, _) = vector.direct().as_chunks::<TURN>();
    for turn in turns {
        for (at, element) in turn.iter().enumerate() {
            all[at % CHAINS] = O::apply(all[at % CHAINS], element.get()).held();
        }
    }
    result.set(all.into_iter().fold(O::IDENTITY, O::apply));
}
