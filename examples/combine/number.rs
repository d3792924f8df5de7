//! The numbers and the operations that the kernels are generic over.

use crate::held::Held;

/// A number that the kernels reduce.
pub trait Number: Held + PartialEq + std::fmt::Debug + 'static {
    const ZERO: Self;
    const ONE: Self;
    /// As its table is headed.
    const NAME: &str;
    /// Accumulators that fit the registers beside pointer and counter: with more of them the
    /// throughput bound would measure spills. Of the sixteen integer registers one is the stack's.
    const CHAINS: usize;

    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// An element for a place: close enough to one that no product overflows or loses its digits.
    fn sample(at: usize) -> Self;
    /// Zero, but the processor must have this number to know it.
    fn zero_after(self) -> usize;
}

/// Zero that depends on these bits: the difference of two registers that hold the same.
#[inline(always)]
fn zero_after(bits: i64) -> usize {
    bits.wrapping_sub(bits.held()) as usize
}

impl Number for i64 {
    const ZERO: Self = 0;
    const ONE: Self = 1;
    const NAME: &str = "i64";
    const CHAINS: usize = 8;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }

    fn sample(at: usize) -> Self {
        // Odd, so that a product never becomes zero.
        (at as i64).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) | 1
    }

    #[inline(always)]
    fn zero_after(self) -> usize {
        zero_after(self.held())
    }
}

impl Number for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const NAME: &str = "f64";
    const CHAINS: usize = 16;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self * other
    }

    fn sample(at: usize) -> Self {
        1.0 + ((at * 37 % 101) as f64 - 50.0) * 1e-5
    }

    #[inline(always)]
    fn zero_after(self) -> usize {
        zero_after((self.to_bits() as i64).held())
    }
}

/// What the elements are reduced with.
pub trait Operation<T>: 'static {
    const NAME: &str;
    const IDENTITY: T;
    const IS_SUM: bool;

    fn apply(left: T, right: T) -> T;
}

pub struct Add;
pub struct Multiply;

impl<T: Number> Operation<T> for Add {
    const NAME: &str = "add";
    const IDENTITY: T = T::ZERO;
    const IS_SUM: bool = true;

    #[inline(always)]
    fn apply(left: T, right: T) -> T {
        left.plus(right)
    }
}

impl<T: Number> Operation<T> for Multiply {
    const NAME: &str = "mul";
    const IDENTITY: T = T::ONE;
    const IS_SUM: bool = false;

    #[inline(always)]
    fn apply(left: T, right: T) -> T {
        left.times(right)
    }
}
