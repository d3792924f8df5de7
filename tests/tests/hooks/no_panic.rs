//! No panic can be reached in the preloaded runtime: the linker left none of their code in it.

use coz_rs::launch::preload_library;
use object::{Object as _, ObjectSymbol as _};

#[test]
fn the_runtime_has_no_panic_in_it() -> anyhow::Result<()> {
    let private = coz_rs_tests::build::output().join("preload");
    std::fs::create_dir_all(&private)?;
    let bytes = std::fs::read(preload_library::install(&private)?)?;
    let library = object::File::parse(&*bytes)?;
    let names: Vec<&str> = library
        .symbols()
        .filter_map(|symbol| symbol.name().ok())
        .collect();
    // Local symbols are there, so that a panic's would be.
    assert!(names.iter().any(|name| name.contains("thread_ledger")));
    let panics: Vec<_> = names
        .iter()
        .filter(|name| {
            ["panicking", "panic_", "unwrap_failed", "begin_unwind"]
                .iter()
                .any(|part| name.contains(part))
        })
        .collect();
    assert!(panics.is_empty(), "{panics:?}");
    Ok(())
}
