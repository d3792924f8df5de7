//! Compilers, versions of DWARF, linkers, kinds of executables, and what is done to debug information
//! afterwards: one source, and the marked line owns its address in all of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use coz_rs::symbols::{Owner, Scope, Symbols};

use super::programs::{Directory, Waiting, line, run, source};

const COMPILERS: [&str; 2] = ["gcc", "clang"];
const VERSIONS: [u32; 4] = [2, 3, 4, 5];
const LINKERS: [&str; 3] = ["bfd", "gold", "lld"];
const KINDS: [&[&str]; 2] = [&["-pie"], &["-no-pie"]];

/// What is done to a program's debug information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Treatment {
    Zlib,
    Zstd,
    /// Moved to a file that is linked by its name and checksum.
    Linked,
    /// Moved to a file that is found by the build id.
    ById,
    /// Made smaller by dwz, and compressed.
    Dwz,
    /// Moved to a file and compressed there.
    LinkedZlib,
}

const TREATMENTS: [Treatment; 6] = [
    Treatment::Zlib,
    Treatment::Zstd,
    Treatment::Linked,
    Treatment::ById,
    Treatment::Dwz,
    Treatment::LinkedZlib,
];

fn tool(directory: &Directory, words: &[&str]) -> String {
    run(Command::new(words[0])
        .args(&words[1..])
        .current_dir(&directory.0))
}

/// Treats the program; where its debug information then has to be looked for, or nothing if the
/// tool does not do that.
fn treat(directory: &Directory, treatment: Treatment) -> Option<Vec<PathBuf>> {
    let compress = |how: &str, file: &str| {
        let option = format!("--compress-debug-sections={how}");
        tool(directory, &["objcopy", &option, file]);
    };
    let separate = || {
        let keep = ["objcopy", "--only-keep-debug", "program", "program.debug"];
        tool(directory, &keep);
        tool(directory, &["strip", "--strip-debug", "program"]);
    };
    let link = || {
        let add = ["objcopy", "--add-gnu-debuglink=program.debug", "program"];
        tool(directory, &add);
    };
    match treatment {
        Treatment::Zlib => compress("zlib", "program"),
        Treatment::Zstd => compress("zstd", "program"),
        Treatment::Linked => {
            separate();
            link();
        }
        Treatment::LinkedZlib => {
            separate();
            compress("zlib", "program.debug");
            link();
        }
        Treatment::ById => {
            let program = directory.join("program");
            let id = Symbols::new(Scope::default(), &program).build_id()?;
            separate();
            let (first, rest) = id.split_at(2);
            let folder = directory.join(".build-id").join(first);
            std::fs::create_dir_all(&folder).unwrap();
            let debug = directory.join("program.debug");
            std::fs::rename(debug, folder.join(format!("{rest}.debug"))).unwrap();
            return Some(vec![directory.0.clone()]);
        }
        Treatment::Dwz => {
            let mut dwz = Command::new("dwz");
            let made = dwz.arg("program").current_dir(&directory.0).output();
            // It is not installed, or leaves alone what gets no smaller.
            if !made.is_ok_and(|made| made.status.success()) {
                return None;
            }
            compress("zlib", "program");
        }
    }
    Some(Vec::new())
}

/// The marked line owns its address, with its name and its callers, and nothing is complained of.
fn check(program: &Path, roots: Vec<PathBuf>, build: &str) {
    let running = Waiting::start(program, &[]);
    let mut symbols = Symbols::new(Scope::default(), program);
    if !roots.is_empty() {
        symbols = Symbols::new(Scope::default(), program);
        symbols.search_debug_files_in(roots, None);
    }
    symbols.update_modules(running.pid()).unwrap();
    let mark = running.address("mark_inner");
    let source = source("chain.c");
    let Owner::Line(owner) = symbols.owner(&[mark]) else {
        panic!("{build}: nobody's: {:?}", symbols.problems());
    };
    let info = symbols.line(owner);
    assert_eq!(
        (info.line, info.function.as_str(), info.source.as_deref()),
        (line(&source, "inner"), "inner", Some(source.as_path())),
        "{build}"
    );
    let own = symbols.chain(mark).into_iter();
    let names: Vec<String> = own.map(|frame| frame.function).collect();
    assert_eq!(names, ["inner", "middle", "outer"], "{build}");
    for caller in ["middle", "outer"] {
        let spec = format!("chain.c:{}", line(&source, caller));
        let line = symbols.find_line(&spec).unwrap();
        let ranges = symbols.ranges(line);
        let inside = ranges.iter().any(|range| range.0 <= mark && mark < range.1);
        assert!(inside, "{build}: {caller}");
    }
    assert_eq!(symbols.problems(), Vec::<String>::new(), "{build}");
}

fn builds(compiler: &str, tried: &mut BTreeMap<Treatment, u32>) {
    for (number, version) in VERSIONS.iter().enumerate() {
        let directory = Directory::new();
        let version_flag = format!("-gdwarf-{version}");
        let file = source("chain.c");
        let compile = ["-O2", "-g", &version_flag, "-fpie", "-c", "-o", "chain.o"];
        let mut object = Command::new(compiler);
        run(object.current_dir(&directory.0).args(compile).arg(file));
        for (at, linker) in LINKERS.iter().enumerate() {
            for (kind, flags) in KINDS.iter().enumerate() {
                let linker_flag = format!("-fuse-ld={linker}");
                let mut words = vec![compiler, "chain.o", "-o", "program", &linker_flag];
                words.extend(*flags);
                words.push("-Wl,--build-id");
                tool(&directory, &words);
                let build = words.join(" ") + &format!(" {version_flag}");
                let program = directory.join("program");
                check(&program, Vec::new(), &build);
                // Each compiler and version meets each treatment once.
                let treatment = TREATMENTS[(number + at * KINDS.len() + kind) % TREATMENTS.len()];
                if let Some(roots) = treat(&directory, treatment) {
                    check(&program, roots, &format!("{build} {treatment:?}"));
                    *tried.entry(treatment).or_default() += 1;
                }
                for left in ["program.debug", ".build-id"] {
                    let left = directory.join(left);
                    let _ = std::fs::remove_file(&left).or_else(|_| std::fs::remove_dir_all(&left));
                }
            }
        }
    }
}

#[test]
fn every_build_is_attributed() {
    let mut tried = BTreeMap::new();
    for compiler in COMPILERS {
        builds(compiler, &mut tried);
    }
    println!("{tried:?}");
    for treatment in TREATMENTS {
        let count = tried.get(&treatment).copied().unwrap_or(0);
        let expected = COMPILERS.len() * VERSIONS.len();
        let optional = treatment == Treatment::Dwz;
        assert!(
            count as usize == expected || optional,
            "{treatment:?}: {count}"
        );
    }
}
