//! Names as the profiler's interface wants them: ended by a NUL, made while compiling.

use core::ffi::CStr;

/// The bytes of `name` and a NUL. `LENGTH` is one more than the name's length.
///
/// For the macros, which call it while compiling.
///
/// # Panics
/// If the name is empty, holds a NUL or does not have the length. In a macro that is a compiler
/// error.
#[doc(hidden)]
#[must_use]
pub const fn terminated<const LENGTH: usize>(name: &str) -> [u8; LENGTH] {
    let bytes = name.as_bytes();
    assert!(
        !bytes.is_empty(),
        "the name of a progress point must not be empty"
    );
    assert!(
        bytes.len() + 1 == LENGTH,
        "the length is that of the name and a NUL"
    );
    let mut ended = [0; LENGTH];
    let mut at = 0;
    while at < bytes.len() {
        assert!(
            bytes[at] != 0,
            "the name of a progress point must not contain a NUL"
        );
        ended[at] = bytes[at];
        at += 1;
    }
    ended
}

/// What [`terminated`] made, as a C string.
pub(crate) const fn as_c_string(ended: &'static [u8]) -> &'static CStr {
    match CStr::from_bytes_with_nul(ended) {
        Ok(name) => name,
        Err(_) => panic!("the name of a progress point must end with its only NUL"),
    }
}

#[cfg(test)]
mod tests {
    use super::{as_c_string, terminated};

    #[test]
    fn a_name_gets_one_nul() {
        static ENDED: [u8; 5] = terminated("frei");
        assert_eq!(as_c_string(&ENDED), c"frei");
    }

    #[test]
    #[should_panic(expected = "must not contain a NUL")]
    fn a_nul_inside_is_refused() {
        let _: [u8; 4] = terminated("a\0b");
    }

    #[test]
    #[should_panic(expected = "must not be empty")]
    fn an_empty_name_is_refused() {
        let _: [u8; 1] = terminated("");
    }
}
