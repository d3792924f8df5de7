//! The reduction with vector instructions written by hand: AVX2 where the processor has it, found
//! at run time, else SSE2, which every x86-64 has. Other processors take the compiler's lanes.
//!
//! Four accumulators each, so that four operations are under way. There is no instruction for the
//! product of 64-bit integers before AVX-512: it is put together from products of 32-bit halves.
#![allow(unsafe_code)]

use std::cell::Cell;

use crate::number::{Number, Operation};
use crate::vector::Vector;

/// A number for which there are vector instructions.
pub trait Instructions: Number {
    /// The sum or the product of elements.
    fn reduce(elements: &[Cell<Self>], is_sum: bool) -> Self;
}

/// The kernel `vector`.
#[inline(never)]
pub fn combine<T: Instructions, O: Operation<T>>(vector: &Vector<T>, result: &Cell<T>) {
    result.set(T::reduce(vector.direct(), O::IS_SUM));
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::Instructions;
    use crate::number::Number;
    use std::arch::x86_64::*;
    use std::cell::Cell;

    /// The reduction of one number type by one operation with one set of instructions.
    macro_rules! reduction {
        ($name:ident, $feature:literal, $number:ty, $vector:ty, $width:literal,
         $splat:ident, $load:ident, $combine:path, $one:expr, $identity:expr) => {
            #[target_feature(enable = $feature)]
            fn $name(elements: &[Cell<$number>]) -> $number {
                let mut all: [$vector; 4] = [$splat($identity); 4];
                let (turns, rest) = elements.as_chunks::<{ 4 * $width }>();
                for turn in turns {
                    let (quarters, _) = turn.as_chunks::<$width>();
                    for (all, quarter) in all.iter_mut().zip(quarters) {
                        // SAFETY: a quarter has as many elements as are loaded, and a cell has
                        // the layout of its content; the load needs no alignment.
                        let loaded = unsafe { $load(quarter.as_ptr().cast()) };
                        *all = $combine(*all, loaded);
                    }
                }
                let [first, second, third, fourth] = all;
                let all = $combine($combine(first, second), $combine(third, fourth));
                // SAFETY: both are plain numbers side by side, of the same size.
                let lanes: [$number; $width] = unsafe { std::mem::transmute(all) };
                let one: fn($number, $number) -> $number = $one;
                let rest = rest
                    .iter()
                    .fold($identity, |all, next| one(all, next.get()));
                lanes.into_iter().fold(rest, one)
            }
        };
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    fn multiply_2(left: __m128i, right: __m128i) -> __m128i {
        let low = _mm_mul_epu32(left, right);
        let crossed = _mm_add_epi64(
            _mm_mul_epu32(_mm_srli_epi64::<32>(left), right),
            _mm_mul_epu32(left, _mm_srli_epi64::<32>(right)),
        );
        _mm_add_epi64(low, _mm_slli_epi64::<32>(crossed))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn multiply_4(left: __m256i, right: __m256i) -> __m256i {
        let low = _mm256_mul_epu32(left, right);
        let crossed = _mm256_add_epi64(
            _mm256_mul_epu32(_mm256_srli_epi64::<32>(left), right),
            _mm256_mul_epu32(left, _mm256_srli_epi64::<32>(right)),
        );
        _mm256_add_epi64(low, _mm256_slli_epi64::<32>(crossed))
    }

    reduction!(
        sum_i64_sse2,
        "sse2",
        i64,
        __m128i,
        2,
        _mm_set1_epi64x,
        _mm_loadu_si128,
        _mm_add_epi64,
        i64::plus,
        0
    );
    reduction!(
        product_i64_sse2,
        "sse2",
        i64,
        __m128i,
        2,
        _mm_set1_epi64x,
        _mm_loadu_si128,
        multiply_2,
        i64::times,
        1
    );
    reduction!(
        sum_f64_sse2,
        "sse2",
        f64,
        __m128d,
        2,
        _mm_set1_pd,
        _mm_loadu_pd,
        _mm_add_pd,
        f64::plus,
        0.0
    );
    reduction!(
        product_f64_sse2,
        "sse2",
        f64,
        __m128d,
        2,
        _mm_set1_pd,
        _mm_loadu_pd,
        _mm_mul_pd,
        f64::times,
        1.0
    );
    reduction!(
        sum_i64_avx2,
        "avx2",
        i64,
        __m256i,
        4,
        _mm256_set1_epi64x,
        _mm256_loadu_si256,
        _mm256_add_epi64,
        i64::plus,
        0
    );
    reduction!(
        product_i64_avx2,
        "avx2",
        i64,
        __m256i,
        4,
        _mm256_set1_epi64x,
        _mm256_loadu_si256,
        multiply_4,
        i64::times,
        1
    );
    reduction!(
        sum_f64_avx2,
        "avx2",
        f64,
        __m256d,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_add_pd,
        f64::plus,
        0.0
    );
    reduction!(
        product_f64_avx2,
        "avx2",
        f64,
        __m256d,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_mul_pd,
        f64::times,
        1.0
    );

    macro_rules! dispatch {
        ($number:ty, $sum_sse2:ident, $product_sse2:ident, $sum_avx2:ident, $product_avx2:ident) => {
            impl Instructions for $number {
                fn reduce(elements: &[Cell<Self>], is_sum: bool) -> Self {
                    match (is_x86_feature_detected!("avx2"), is_sum) {
                        // SAFETY: the processor has AVX2.
                        (true, true) => unsafe { $sum_avx2(elements) },
                        // SAFETY: the processor has AVX2.
                        (true, false) => unsafe { $product_avx2(elements) },
                        // SAFETY: every x86-64 processor has SSE2.
                        (false, true) => unsafe { $sum_sse2(elements) },
                        // SAFETY: every x86-64 processor has SSE2.
                        (false, false) => unsafe { $product_sse2(elements) },
                    }
                }
            }
        };
    }

    dispatch!(
        i64,
        sum_i64_sse2,
        product_i64_sse2,
        sum_i64_avx2,
        product_i64_avx2
    );
    dispatch!(
        f64,
        sum_f64_sse2,
        product_f64_sse2,
        sum_f64_avx2,
        product_f64_avx2
    );

    #[cfg(test)]
    mod tests {
        use super::*;

        /// The detection takes one of the two ways on one machine; here both are taken.
        #[test]
        fn both_sets_of_instructions_agree() {
            let integers: Vec<_> = (0..1003).map(i64::sample).map(Cell::new).collect();
            let numbers: Vec<_> = (0..1003).map(f64::sample).map(Cell::new).collect();
            let sum = integers.iter().map(Cell::get).fold(0, i64::plus);
            let product = integers.iter().map(Cell::get).fold(1, i64::times);
            // SAFETY: every x86-64 processor has SSE2.
            assert_eq!(unsafe { sum_i64_sse2(&integers) }, sum);
            // SAFETY: every x86-64 processor has SSE2.
            assert_eq!(unsafe { product_i64_sse2(&integers) }, product);
            let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs();
            let total: f64 = numbers.iter().map(Cell::get).sum();
            let times: f64 = numbers.iter().map(Cell::get).product();
            // SAFETY: every x86-64 processor has SSE2.
            assert!(close(unsafe { sum_f64_sse2(&numbers) }, total));
            // SAFETY: every x86-64 processor has SSE2.
            assert!(close(unsafe { product_f64_sse2(&numbers) }, times));
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2.
                assert_eq!(unsafe { sum_i64_avx2(&integers) }, sum);
                // SAFETY: the processor has AVX2.
                assert_eq!(unsafe { product_i64_avx2(&integers) }, product);
                // SAFETY: the processor has AVX2.
                assert!(close(unsafe { sum_f64_avx2(&numbers) }, total));
                // SAFETY: the processor has AVX2.
                assert!(close(unsafe { product_f64_avx2(&numbers) }, times));
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod portable {
    use super::Instructions;
    use crate::number::Number;
    use std::cell::Cell;

    macro_rules! by_lanes {
        ($number:ty) => {
            impl Instructions for $number {
                fn reduce(elements: &[Cell<Self>], is_sum: bool) -> Self {
                    let (identity, one): (Self, fn(Self, Self) -> Self) = if is_sum {
                        (Self::ZERO, Self::plus)
                    } else {
                        (Self::ONE, Self::times)
                    };
                    let mut all = [identity; 16];
                    let (rows, rest) = elements.as_chunks::<16>();
                    for row in rows {
                        for (all, element) in all.iter_mut().zip(row) {
                            *all = one(*all, element.get());
                        }
                    }
                    let rest = rest.iter().fold(identity, |all, next| one(all, next.get()));
                    all.into_iter().fold(rest, one)
                }
            }
        };
    }

    by_lanes!(i64);
    by_lanes!(f64);
}
