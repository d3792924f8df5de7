//! Values that the compiler must have in a register at a certain place.
//!
//! The lesson takes steps one by one that an optimiser takes at once: it would turn the plain loop
//! into vector instructions, and `(x + a) + b` into `x + (a + b)`. A value that passes through
//! [`Held::held`] is opaque from there on and costs no instruction, so each kernel stays what it
//! says.

/// A number that can be held.
pub trait Held: Copy {
    /// The same value, of which the compiler knows nothing.
    fn held(self) -> Self;
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[allow(unsafe_code)]
mod registers {
    use super::Held;
    use std::arch::asm;

    impl Held for i64 {
        #[inline(always)]
        fn held(mut self) -> Self {
            // SAFETY: no instruction at all: the register is read and written by nobody.
            unsafe {
                asm!("/* {0} */", inout(reg) self, options(pure, nomem, nostack, preserves_flags))
            };
            self
        }
    }

    impl Held for f64 {
        #[cfg(target_arch = "x86_64")]
        #[inline(always)]
        fn held(mut self) -> Self {
            // SAFETY: no instruction at all: the register is read and written by nobody.
            unsafe {
                asm!("/* {0} */", inout(xmm_reg) self, options(pure, nomem, nostack, preserves_flags))
            };
            self
        }

        #[cfg(target_arch = "aarch64")]
        #[inline(always)]
        fn held(mut self) -> Self {
            // SAFETY: no instruction at all: the register is read and written by nobody.
            unsafe {
                asm!("/* {0:d} */", inout(vreg) self, options(pure, nomem, nostack, preserves_flags))
            };
            self
        }
    }
}

/// Elsewhere through memory, which costs a store and a load.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod memory {
    use super::Held;

    impl Held for i64 {
        fn held(self) -> Self {
            std::hint::black_box(self)
        }
    }

    impl Held for f64 {
        fn held(self) -> Self {
            std::hint::black_box(self)
        }
    }
}
