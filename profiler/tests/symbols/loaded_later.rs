//! Libraries that come, go and come back at another address.

use coz_rs::symbols::{Owner, Scope, Symbols};

use super::programs::{Directory, Waiting, line, run, source};

#[test]
fn a_library_is_followed_to_where_it_is_loaded() {
    for linker in ["-fuse-ld=bfd", "-fuse-ld=lld"] {
        let directory = Directory::new();
        let library = directory.join("libplugin.so");
        let program = directory.join("host");
        let mut gcc = std::process::Command::new("clang");
        run(gcc
            .args(["-O2", "-g", "-shared", "-fPIC", linker, "-o"])
            .arg(&library)
            .arg(source("plugin.c")));
        let mut gcc = std::process::Command::new("gcc");
        run(gcc
            .args(["-O2", "-g", "-o"])
            .arg(&program)
            .arg(source("host.c"))
            .arg("-ldl"));

        let mut running = Waiting::start(&program, &[library.to_str().unwrap()]);
        let scope = Scope::new(&[], &[], &["MAIN".to_owned(), "libplugin*".to_owned()]).unwrap();
        let mut symbols = Symbols::new(scope, &program);
        assert!(symbols.update_modules(running.pid()).unwrap());
        let before = symbols.ranges_generation();
        let tables = symbols.unwind_modules().len();

        running.go_on();
        let first = running.address("mark_plugin");
        assert_eq!(symbols.owner(&[first]), Owner::Unknown);
        assert!(symbols.update_modules(running.pid()).unwrap());
        assert!(symbols.ranges_generation() > before);
        assert_eq!(symbols.unwind_modules().len(), tables + 1);
        let wanted = format!("plugin.c:{}", line(&source("plugin.c"), "plugin"));
        let marked = symbols.find_line(&wanted).unwrap();
        assert_eq!(symbols.owner(&[first]), Owner::Line(marked), "{linker}");
        assert!(contains(&symbols.ranges(marked), first));

        running.go_on();
        assert!(symbols.update_modules(running.pid()).unwrap());
        assert_eq!(symbols.ranges(marked), []);
        assert_eq!(symbols.owner(&[first]), Owner::Unknown);

        running.go_on();
        let second = running.address("mark_plugin");
        assert_ne!(first, second);
        assert!(symbols.update_modules(running.pid()).unwrap());
        assert_eq!(symbols.owner(&[second]), Owner::Line(marked), "{linker}");
        assert!(contains(&symbols.ranges(marked), second));
        assert!(!contains(&symbols.ranges(marked), first));
        assert_eq!(symbols.problems(), Vec::<String>::new());
    }
}

fn contains(ranges: &[(u64, u64)], address: u64) -> bool {
    ranges
        .iter()
        .any(|range| range.0 <= address && address < range.1)
}

#[test]
fn libraries_are_out_of_scope_unless_named() {
    let directory = Directory::new();
    let library = directory.join("libplugin.so");
    let program = directory.join("host");
    let mut gcc = std::process::Command::new("gcc");
    run(gcc
        .args(["-O2", "-g", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source("plugin.c")));
    let mut gcc = std::process::Command::new("gcc");
    run(gcc
        .args(["-O2", "-g", "-o"])
        .arg(&program)
        .arg(source("host.c"))
        .arg("-ldl"));
    let mut running = Waiting::start(&program, &[library.to_str().unwrap()]);
    running.go_on();
    let mut symbols = Symbols::new(Scope::default(), &program);
    symbols.update_modules(running.pid()).unwrap();
    let mark = running.address("mark_plugin");
    assert_eq!(symbols.owner(&[mark]), Owner::OutOfScope);
    let chain = symbols.chain(mark);
    assert_eq!(chain.len(), 1);
    assert!(!chain[0].in_scope && !chain[0].function.is_empty());
}
