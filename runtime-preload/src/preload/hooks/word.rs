//! What a hooked function was called for, as a word that tells its objects apart.

/// An argument as a word.
pub trait Word {
    /// The word.
    fn word(self) -> u64;
}

impl<T> Word for *mut T {
    fn word(self) -> u64 {
        self.addr() as u64
    }
}

impl<T> Word for *const T {
    fn word(self) -> u64 {
        self.addr() as u64
    }
}

impl Word for i32 {
    fn word(self) -> u64 {
        self.cast_unsigned().into()
    }
}

impl Word for u32 {
    fn word(self) -> u64 {
        self.into()
    }
}

impl Word for u64 {
    fn word(self) -> u64 {
        self
    }
}

impl Word for usize {
    fn word(self) -> u64 {
        self as u64
    }
}
