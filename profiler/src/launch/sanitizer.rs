//! Whether a program was built with a sanitizer whose runtime must be the first library loaded.
//!
//! Address-, thread-, memory- and hardware-assisted address sanitizers take over the functions that
//! we stand before, keep their own view of memory and threads, and stop programs in which another
//! library comes first. What they would measure is not the program's speed either.

use object::{Object as _, ObjectSymbol as _, ReadRef};

/// The initialiser of each sanitizer's runtime, with the sanitizer's name.
const INITIALISERS: [(&str, &str); 4] = [
    ("__asan_init", "AddressSanitizer"),
    ("__tsan_init", "ThreadSanitizer"),
    ("__msan_init", "MemorySanitizer"),
    ("__hwasan_init", "HWAddressSanitizer"),
];

/// The sanitizer that an ELF file was built with.
pub(super) fn sanitizer<'data>(elf: impl ReadRef<'data>) -> Option<&'static str> {
    let file = object::File::parse(elf).ok()?;
    // The runtime is a library, or exports itself to libraries: either way a dynamic symbol.
    let named = |name: &str| {
        let known = INITIALISERS.iter().find(|(symbol, _)| *symbol == name)?;
        Some(known.1)
    };
    file.dynamic_symbols()
        .find_map(|symbol| named(symbol.name().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_program_has_none_and_damage_is_no_panic() {
        let mut bytes = std::fs::read("/bin/true").unwrap();
        assert_eq!(sanitizer(&*bytes), None);
        bytes.truncate(bytes.len() / 2);
        assert_eq!(sanitizer(&*bytes), None);
        assert_eq!(sanitizer(&b""[..]), None);
    }
}
