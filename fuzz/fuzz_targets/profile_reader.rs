//! Any bytes as a profile, in every form in which it can be shown.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| coz_rs_tests::hostile::profile(bytes));
