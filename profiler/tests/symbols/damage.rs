//! Damaged files are read without a panic, and what is left of them agrees with itself.

use std::sync::OnceLock;

use coz_rs::symbols::read_everything;
use object::{Object as _, ObjectSection as _};
use proptest::prelude::*;

use super::programs::{Directory, build};

struct Original {
    bytes: Vec<u8>,
    /// Where headers and the sections that are read lie in the file.
    read: Vec<(usize, usize)>,
}

fn originals() -> &'static [Original] {
    static ORIGINALS: OnceLock<Vec<Original>> = OnceLock::new();
    ORIGINALS.get_or_init(|| {
        let compilers = [
            "gcc -O2 -g",
            "gcc -O2 -g -gdwarf-4",
            "clang -O2 -g -fuse-ld=lld",
            "gcc -O1 -g -gz=zlib",
        ];
        compilers.map(original).into()
    })
}

fn original(compiler: &str) -> Original {
    let directory = Directory::new();
    let bytes = std::fs::read(build(&directory, compiler, "chain.c")).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let headers = (bytes.len() - 64 * file.sections().count(), bytes.len());
    let mut read = vec![(0, 64 * 14), headers];
    for section in file.sections() {
        let name = section.name().unwrap();
        if name.contains("debug") || name.starts_with(".eh_frame") || name.ends_with("symtab") {
            let (start, size) = section.file_range().unwrap();
            read.push((start as usize, (start + size) as usize));
        }
    }
    drop(file);
    Original { bytes, read }
}

#[test]
fn undamaged_files_are_read() {
    for original in originals() {
        assert!(read_everything(&original.bytes) > 5000);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let original = which.get(originals());
        let mut bytes = original.bytes.clone();
        for (section, place, value) in changes {
            let &(start, end) = section.get(&original.read);
            bytes[start + place.index(end - start)] = value;
        }
        let _ = read_everything(&bytes);
    }

    /// Lengths and offsets that reach far out.
    #[test]
    fn extreme_words(
        which in any::<prop::sample::Index>(),
        section in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        word in prop::sample::select(vec![0u64, 1, 0x7fff_ffff, 0xffff_ffff, 0xffff_fff0, u64::MAX, u64::MAX - 1, 1 << 63]),
    ) {
        let original = which.get(originals());
        let mut bytes = original.bytes.clone();
        let &(start, end) = section.get(&original.read);
        let at = (start + place.index(end - start)).min(bytes.len() - 8);
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        let _ = read_everything(&bytes);
    }

    #[test]
    fn cut_short(which in any::<prop::sample::Index>(), length in any::<prop::sample::Index>()) {
        let original = which.get(originals());
        let _ = read_everything(&original.bytes[..length.index(original.bytes.len())]);
    }

    #[test]
    fn anything(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = read_everything(&bytes);
    }
}
