//! Programs whose debug information names their sources by paths that are not here.

use coz_rs::symbols::{Owner, Scope, Symbols};

use super::programs::{Directory, Waiting, build, line, source};

/// Builds with the sources' folder under another name, and attributes with this map.
fn attribute(compiler: &str, option: &str, name: &str, map: &str) {
    let directory = Directory::new();
    let file = source("chain.c");
    let folder = file.parent().unwrap().display().to_string();
    let compiler = format!("{compiler} -O2 -g {option}={folder}={name}");
    let program = build(&directory, &compiler, "chain.c");
    let running = Waiting::start(&program, &[]);
    let mark = running.address("mark_inner");
    let look = |scope: Scope| {
        let mut symbols = Symbols::new(scope, &program);
        symbols.update_modules(running.pid()).unwrap();
        let Owner::Line(owner) = symbols.owner(&[mark]) else {
            return None;
        };
        let info = symbols.line(owner);
        assert_eq!(info.line, line(&file, "inner"), "{compiler}");
        Some((info.location.clone(), info.source.clone()))
    };
    let plain = look(Scope::default());
    assert_ne!(
        plain.and_then(|(_, source)| source),
        Some(file.clone()),
        "{compiler}: found without a map"
    );
    let map = [map.replace("HERE", &folder)];
    let mapped = Scope::default().with_source_map(&map).unwrap();
    let (location, found) = look(mapped).unwrap_or_else(|| panic!("{compiler}: out of scope"));
    assert_eq!(found, Some(file.clone()), "{compiler}: {location}");
    assert!(location.contains("chain.c:"), "{location}");
    assert!(!location.contains(name) || name == ".", "{location}");

    // Globs see the new path.
    let glob = format!("{folder}/*");
    let scope = Scope::new(&[glob], &[], &[]).unwrap();
    assert!(
        look(scope.clone().with_source_map(&map).unwrap()).is_some(),
        "{compiler}"
    );
    assert!(look(scope).is_none(), "{compiler}");
}

#[test]
fn remapped_sources_are_found_where_they_are() {
    for compiler in ["gcc", "clang"] {
        // A place of the system: without the map nothing there is the user's.
        let map = "/usr/src/elsewhere=HERE";
        attribute(compiler, "-ffile-prefix-map", "/usr/src/elsewhere", map);
        let map = "/nowhere/at/all=HERE";
        attribute(compiler, "-fdebug-prefix-map", "/nowhere/at/all", map);
    }
}
