//! Known lines own known addresses, in running programs of every compiler.

use std::path::Path;

use coz_rs::symbols::{Frame, Owner, Scope, Symbols};

use super::programs::{C, Directory, RUST, Waiting, build, code, line, source, symbol};

struct Case {
    symbols: Symbols,
    source: std::path::PathBuf,
    compiler: String,
    bias: u64,
    program: std::path::PathBuf,
    _directory: Directory,
    running: Waiting,
}

fn start(compiler: &str, name: &str, arguments: &[&str]) -> Case {
    let directory = Directory::new();
    let program = build(&directory, compiler, name);
    let running = Waiting::start(&program, arguments);
    let mut symbols = Symbols::new(Scope::default(), &program);
    assert!(symbols.update_modules(running.pid()).unwrap());
    assert!(!symbols.update_modules(running.pid()).unwrap());
    assert!(symbols.has_debug_info(), "{compiler}");
    let marked = symbol(&program, "mark_inner").unwrap();
    let bias = running.address("mark_inner").wrapping_sub(marked);
    Case {
        symbols,
        source: source(name),
        compiler: compiler.to_owned(),
        bias,
        program,
        _directory: directory,
        running,
    }
}

impl Case {
    fn line(&self, name: &str) -> u32 {
        line(&self.source, name)
    }

    /// The line numbers of the chain's frames in the program's own source.
    fn own_lines(&self, chain: &[Frame]) -> Vec<u32> {
        let name = self.source.file_name().unwrap().to_str().unwrap();
        let own = chain
            .iter()
            .filter(|frame| Path::new(&frame.file).ends_with(name));
        own.map(|frame| frame.line).collect()
    }

    /// The address belongs to the line called `name`, and the line's ranges contain it.
    fn assert_owned(&mut self, address: u64, name: &str) {
        let spec = format!("{}:{}", self.source.display(), self.line(name));
        let line = self
            .symbols
            .find_line(&spec)
            .unwrap_or_else(|e| panic!("{}: {e}", self.compiler));
        let owner = self.symbols.owner(&[address]);
        let chain = self.symbols.chain(address);
        assert_eq!(
            owner,
            Owner::Line(line),
            "{}: {address:#x} {name}: {chain:?}",
            self.compiler
        );
        self.assert_in_ranges(address, name);
    }

    fn assert_in_ranges(&mut self, address: u64, name: &str) {
        let spec = format!(
            "{}:{}",
            self.source.file_name().unwrap().to_string_lossy(),
            self.line(name)
        );
        let line = self.symbols.find_line(&spec).unwrap();
        let ranges = self.symbols.ranges(line);
        let inside = ranges
            .iter()
            .any(|&(start, end)| start <= address && address < end);
        assert!(inside, "{}: {address:#x} {name} {ranges:x?}", self.compiler);
    }
}

#[test]
fn marked_lines_of_c_programs() {
    for compiler in C {
        let mut case = start(compiler, "chain.c", &["sort"]);
        let inner = case.running.address("mark_inner");
        let chain = case.symbols.chain(inner);
        let wanted = ["inner", "middle", "outer"].map(|name| case.line(name));
        assert_eq!(case.own_lines(&chain), wanted, "{compiler}: {chain:?}");
        let names: Vec<&str> = chain.iter().map(|frame| frame.function.as_str()).collect();
        assert_eq!(names, ["inner", "middle", "outer"], "{compiler}");
        assert!(chain.iter().all(|frame| frame.in_scope), "{compiler}");
        case.assert_owned(inner, "inner");
        case.assert_in_ranges(inner, "middle");
        case.assert_in_ranges(inner, "outer");
        let leaf = case.running.address("mark_leaf");
        case.assert_owned(leaf, "leaf");

        // The printed run-time address and the file's symbol give the true bias.
        let outer = case.symbols.chain(case.running.address("outer"));
        assert_eq!(outer.last().unwrap().function, "outer", "{compiler}");
        if let Some(cold) = symbol(&case.program, "rarely.cold") {
            let spec = format!("chain.c:{}", case.line("cold"));
            let line = case.symbols.find_line(&spec).unwrap();
            let cold = cold.wrapping_add(case.bias);
            let ranges = case.symbols.ranges(line);
            let near = ranges
                .iter()
                .any(|range| (cold..cold + 32).contains(&range.0));
            assert!(
                near,
                "{compiler}: the cold part at {cold:#x} is of line {spec}"
            );
        }
    }
}

/// The return addresses that the program found itself: `qsort` in libc is charged to its caller.
#[test]
fn time_in_libc_belongs_to_the_calling_line() {
    for compiler in C {
        let mut case = start(compiler, "chain.c", &["sort"]);
        let frames: Vec<u64> = case
            .running
            .said
            .iter()
            .filter(|(w, _)| w == "frame")
            .map(|(_, a)| a - 1)
            .collect();
        let is_own = |case: &mut Case, address| {
            let chain = case.symbols.chain(address);
            chain.iter().any(|frame| frame.in_scope)
        };
        // From the innermost frame in libc outwards: qsort's own frames, then the line that sorts.
        let first = frames
            .iter()
            .position(|f| !is_own(&mut case, *f))
            .expect("a frame in libc");
        let owner = case.symbols.owner(&frames[first..]);
        let spec = format!("chain.c:{}", case.line("sorts"));
        let sorts = case.symbols.find_line(&spec).unwrap();
        assert_eq!(owner, Owner::Line(sorts), "{compiler}");
        assert_eq!(case.symbols.line(sorts).function, "sorts");
        assert_eq!(case.symbols.line(sorts).source.as_ref(), Some(&case.source));
        assert_eq!(
            case.symbols.owner(&frames[first..first + 1]),
            Owner::OutOfScope
        );
        assert_eq!(case.symbols.owner(&[16]), Owner::Unknown);
        assert!(
            case.symbols.problems().is_empty(),
            "{:?}",
            case.symbols.problems()
        );
    }
}

#[test]
fn marked_lines_of_rust_programs() {
    for compiler in RUST {
        let mut case = start(compiler, "chain.rs", &[]);
        let inner = case.running.address("mark_inner");
        let chain = case.symbols.chain(inner);
        let own = case.own_lines(&chain);
        let wanted = ["inner", "middle", "outer"].map(|name| case.line(name));
        assert!(own.starts_with(&wanted), "{compiler}: {chain:?}");
        assert!(chain[0].function.ends_with("::inner"), "{:?}", chain[0]);
        case.assert_owned(inner, "inner");
        case.assert_in_ranges(inner, "outer");
        let closure = case.running.address("mark_closure");
        case.assert_owned(closure, "closure");
        case.assert_in_ranges(closure, "applies");
    }
}

/// Of all the code in a Rust program, the standard library's included, only its own file counts.
#[test]
fn only_the_programs_own_source_is_in_scope() {
    for compiler in RUST {
        let mut case = start(compiler, "chain.rs", &[]);
        let mut files = std::collections::BTreeSet::new();
        for (from, to) in code(&case.program) {
            for address in (from..to).step_by(5) {
                let chain = case.symbols.chain(address.wrapping_add(case.bias));
                files.extend(
                    chain
                        .into_iter()
                        .filter(|f| f.in_scope)
                        .map(|frame| frame.file),
                );
            }
        }
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        assert_eq!(files, [case.source.to_str().unwrap()], "{compiler}");
    }
}

/// Code of iterator adaptors and sorting, inlined from the standard library, is the user's line's.
#[test]
fn code_inlined_from_the_standard_library_belongs_to_the_line_that_called_it() {
    for compiler in RUST {
        let mut case = start(compiler, "chain.rs", &[]);
        for name in ["sums", "sorts"] {
            let spec = format!("chain.rs:{}", case.line(name));
            let line = case
                .symbols
                .find_line(&spec)
                .unwrap_or_else(|e| panic!("{compiler}: {e}"));
            let mut foreign = 0;
            for (start, end) in case.symbols.ranges(line) {
                for address in start..end {
                    let chain = case.symbols.chain(address);
                    if !chain[0].in_scope {
                        foreign += 1;
                        assert_eq!(
                            case.symbols.owner(&[address]),
                            Owner::Line(line),
                            "{chain:?}"
                        );
                    }
                }
            }
            assert!(
                foreign > 16,
                "{compiler}: {name} has {foreign} bytes from the library"
            );
        }
    }
}

#[test]
fn lines_that_have_no_code_are_answered_with_their_neighbours() {
    let case = &mut start("gcc -O2 -g", "chain.c", &[]);
    let sorts = case.line("sorts");
    let error = case.symbols.find_line("chain.c:1").unwrap_err().to_string();
    assert!(
        error.contains("has no code on line 1; the nearest lines with code are "),
        "{error}"
    );
    let error = case
        .symbols
        .find_line(&format!("chain.c:{}", sorts + 3))
        .unwrap_err()
        .to_string();
    assert!(error.contains(&format!("{sorts}, ")), "{error}");
    assert!(
        case.symbols
            .find_line("nowhere.c:1")
            .unwrap_err()
            .to_string()
            .contains("nowhere.c")
    );
    assert!(
        case.symbols
            .find_line("chain.c")
            .unwrap_err()
            .to_string()
            .contains("FILE:LINE")
    );
    assert!(case.symbols.find_line("hain.c:10").is_err());
    assert!(
        case.symbols
            .find_line(&format!("symbols/chain.c:{sorts}"))
            .is_ok()
    );
}
