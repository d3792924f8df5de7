//! The preloaded library defines the listed hooks and nothing else: any other symbol would
//! override one of the program's.

use std::collections::BTreeSet;

use coz_rs::launch::preload_library;
use object::{Object as _, ObjectSymbol as _};

#[test]
fn only_the_listed_symbols_are_exported() -> anyhow::Result<()> {
    let private = coz_rs_tests::build::output().join("preload");
    std::fs::create_dir_all(&private)?;
    let bytes = std::fs::read(preload_library::install(&private)?)?;
    let library = object::File::parse(&*bytes)?;
    let defined: BTreeSet<&str> = library
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global())
        .filter_map(|symbol| symbol.name().ok())
        .collect();
    let listed =
        std::fs::read_to_string(coz_rs_tests::build::root().join("runtime-preload/exports.txt"))?;
    let listed: BTreeSet<&str> = listed
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .collect();
    assert_eq!(defined, listed);
    Ok(())
}
