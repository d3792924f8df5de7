//! Addresses inside one binary, as 32-bit distances from its first page.
//!
//! Debug information names addresses of code that the linker dropped: they lie outside all code
//! (at 0 or at −1) and must not be taken for somebody else's. So only ranges inside executable
//! segments get through.

/// The binary's first page and its code.
#[derive(Debug, Clone)]
pub(super) struct FileAddresses {
    base: u64,
    code: Box<[(u64, u64)]>,
}

impl FileAddresses {
    /// `base` is the address of the first page, `code` the executable stretches, ascending.
    pub(super) fn new(base: u64, code: Vec<(u64, u64)>) -> FileAddresses {
        FileAddresses {
            base,
            code: code.into_boxed_slice(),
        }
    }

    /// The distance of a range that lies in code; cut to the code if only its end sticks out.
    pub(super) fn clip(&self, start: u64, end: u64) -> Option<(u32, u32)> {
        let &(_, code_end) = self
            .code
            .iter()
            .find(|&&(from, to)| from <= start && start < to)?;
        let end = end.min(code_end);
        let distance = |address: u64| u32::try_from(address.checked_sub(self.base)?).ok();
        (start < end).then_some(())?;
        Some((distance(start)?, distance(end)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_gets_through() {
        let addresses = FileAddresses::new(0x40_0000, vec![(0x40_1000, 0x40_2000)]);
        assert_eq!(addresses.clip(0x40_1800, 0x40_1900), Some((0x1800, 0x1900)));
        assert_eq!(addresses.clip(0x40_1800, u64::MAX), Some((0x1800, 0x2000)));
        for dropped in [
            (0, 0x10),
            (0, 0x40_1800),
            (u64::MAX - 1, u64::MAX),
            (0x40_1800, 0x40_1800),
        ] {
            assert_eq!(addresses.clip(dropped.0, dropped.1), None);
        }
    }
}
