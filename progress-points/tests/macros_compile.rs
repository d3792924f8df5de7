//! Wrong uses of the macros are compiler errors that say what is wrong.
//!
//! The expected messages are those of the compiler that the repository is tested with; after an
//! update of it, `TRYBUILD=overwrite cargo test -p progress-points` writes them anew.

#[test]
fn wrong_uses_are_refused() {
    trybuild::TestCases::new().compile_fail("tests/wrong_use/*.rs");
}
