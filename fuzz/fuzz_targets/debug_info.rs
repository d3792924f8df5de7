//! Damaged ELF files and DWARF: whatever is in them, reading ends without a panic, and what was
//! read agrees with itself. Begin with small programs as the corpus:
//! `cc -g -o fuzz/corpus/debug_info/a a.c`.
#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    let _ = coz_rs::symbols::read_everything(file);
});
