//! Any writes of a target into the memory that it shares with the controller.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Without memory to share there is nothing to try.
    let _ = coz_rs_tests::hostile::shared_memory(bytes);
});
