//! A line is in the chain of an address if and only if the address is in the line's ranges.

use std::collections::{BTreeMap, BTreeSet};

use coz_rs::symbols::{Scope, Symbols, Unit};

use super::programs::{C, Directory, RUST, Waiting, build, code, symbol};

/// Every address of the program's code is asked, in both directions.
fn agree(compiler: &str, source: &str) {
    let directory = Directory::new();
    let program = build(&directory, compiler, source);
    let running = Waiting::start(&program, &[]);
    // All sources: many units, much inlining.
    let scope = Scope::new(&["%".to_owned()], &[], &[]).unwrap();
    let mut symbols = Symbols::new(scope, &program);
    symbols.update_modules(running.pid()).unwrap();
    let bias = running
        .address("mark_inner")
        .wrapping_sub(symbol(&program, "mark_inner").unwrap());

    let mut by_chain: BTreeMap<(String, u32), BTreeSet<u64>> = BTreeMap::new();
    let mut addresses = Vec::new();
    for (start, end) in code(&program) {
        addresses.extend((start..end).map(|address| address.wrapping_add(bias)));
    }
    for &address in &addresses {
        assert!(symbols.knows(address));
        for frame in symbols
            .chain(address)
            .into_iter()
            .filter(|frame| frame.line != 0)
        {
            by_chain
                .entry((frame.file, frame.line))
                .or_default()
                .insert(address);
        }
    }
    assert!(
        by_chain.len() > 20,
        "{compiler}: only {} lines",
        by_chain.len()
    );
    // A sample of the lines, or all where there are few.
    let step = by_chain.len() / 400 + 1;
    for ((file, line), wanted) in by_chain.iter().step_by(step) {
        let id = symbols
            .find_line(&format!("{file}:{line}"))
            .unwrap_or_else(|e| panic!("{compiler}: {e}"));
        let ranges = symbols.ranges(id);
        assert!(ranges.iter().all(|range| range.0 < range.1));
        assert!(
            ranges.windows(2).all(|pair| pair[0].1 < pair[1].0),
            "ascending and disjoint"
        );
        let listed: BTreeSet<u64> = ranges.iter().flat_map(|&(start, end)| start..end).collect();
        assert_eq!(&listed, wanted, "{compiler}: {file}:{line}");
    }
}

/// As [`agree`], for functions: an address is in the ranges of a function if and only if the function
/// is in its chain.
fn functions_agree(compiler: &str, source: &str) {
    let directory = Directory::new();
    let program = build(&directory, compiler, source);
    let running = Waiting::start(&program, &[]);
    let scope = Scope::new(&["%".to_owned()], &[], &[]).unwrap();
    let mut symbols = Symbols::new(scope.with_unit(Unit::Function), &program);
    symbols.update_modules(running.pid()).unwrap();
    let bias = running
        .address("mark_inner")
        .wrapping_sub(symbol(&program, "mark_inner").unwrap());
    let mut by_chain: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for (start, end) in code(&program) {
        for address in (start..end).map(|address| address.wrapping_add(bias)) {
            // Functions of the symbol table alone are no findings.
            let chain = symbols.chain(address);
            for frame in chain.into_iter().filter(|frame| frame.in_scope) {
                by_chain.entry(frame.function).or_default().insert(address);
            }
        }
    }
    assert!(by_chain.len() > 5, "{compiler}: {by_chain:?}");
    let (step, mut compared) = (by_chain.len() / 300 + 1, 0);
    for (name, wanted) in by_chain.iter().step_by(step) {
        let id = symbols.find_line(name).unwrap();
        // Several functions of one name are told apart by their files.
        if symbols.line(id).location != *name {
            continue;
        }
        let ranges = symbols.ranges(id);
        let listed: BTreeSet<u64> = ranges.iter().flat_map(|&(start, end)| start..end).collect();
        assert_eq!(&listed, wanted, "{compiler}: {name}");
        compared += 1;
    }
    assert!(compared > 5, "{compiler}: {compared} functions");
}

#[test]
fn functions() {
    for compiler in C {
        functions_agree(compiler, "chain.c");
    }
    functions_agree(RUST[0], "chain.rs");
    functions_agree(RUST[2], "chain.rs");
}

#[test]
fn in_c() {
    for compiler in C {
        agree(compiler, "chain.c");
    }
}

#[test]
fn in_rust() {
    for compiler in RUST {
        agree(compiler, "chain.rs");
    }
}
