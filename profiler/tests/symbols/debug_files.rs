//! Debug information that is compressed, split, separate, missing, of another build, or shared.

use std::path::{Path, PathBuf};
use std::process::Command;

use coz_rs::symbols::{Owner, Scope, Symbols};

use super::programs::{Directory, Waiting, build, line, run, source, symbol};

fn tool(directory: &Directory, words: &[&str]) {
    run(Command::new(words[0])
        .args(&words[1..])
        .current_dir(&directory.0));
}

/// The marked line owns its address, with its callers and their names.
fn assert_attributed(program: &Path) {
    let (symbols, owner) = attribute(program);
    let source = source("chain.c");
    let Owner::Line(owner) = owner else {
        panic!("{owner:?} {:?}", symbols.problems())
    };
    let info = symbols.line(owner);
    assert_eq!(
        (info.line, info.function.as_str()),
        (line(&source, "inner"), "inner")
    );
    assert_eq!(info.source.as_ref(), Some(&source));
    assert!(symbols.has_debug_info());
    assert_eq!(symbols.problems(), Vec::<String>::new());
}

fn attribute(program: &Path) -> (Symbols, Owner) {
    let running = Waiting::start(program, &[]);
    let mut symbols = Symbols::new(Scope::default(), program);
    symbols.update_modules(running.pid()).unwrap();
    let owner = symbols.owner(&[running.address("mark_inner")]);
    let mark = running.address("mark_inner");
    if let Owner::Line(line) = owner {
        assert!(
            symbols
                .ranges(line)
                .iter()
                .any(|&(start, end)| (start..end).contains(&mark))
        );
        for caller in ["middle", "outer"] {
            let spec = format!("chain.c:{}", self::line(&source("chain.c"), caller));
            let line = symbols.find_line(&spec).unwrap();
            assert!(
                symbols
                    .ranges(line)
                    .iter()
                    .any(|&(start, end)| (start..end).contains(&mark))
            );
        }
    }
    (symbols, owner)
}

#[test]
fn compressed_sections() {
    for how in ["zlib", "zlib-gnu", "zstd"] {
        for version in ["-gdwarf-4", "-gdwarf-5"] {
            let directory = Directory::new();
            let program = build(&directory, &format!("gcc -O2 -g {version}"), "chain.c");
            tool(
                &directory,
                &[
                    "objcopy",
                    &format!("--compress-debug-sections={how}"),
                    "program",
                ],
            );
            assert_attributed(&program);
        }
    }
}

const SPLIT: &[&str] = &[
    "gcc -O2 -g -gsplit-dwarf -gdwarf-5",
    "gcc -O2 -g -gsplit-dwarf -gdwarf-4",
    "clang -O2 -g -gsplit-dwarf -gdwarf-5 -fuse-ld=lld",
    "clang -O2 -g -gsplit-dwarf -gdwarf-4",
];

fn dwo_files(directory: &Directory) -> Vec<PathBuf> {
    let files = std::fs::read_dir(&directory.0)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|ext| ext == "dwo"))
        .collect()
}

/// Split parts lie beside the object file; a one-step build names that after the program.
fn build_split(directory: &Directory, compiler: &str) -> PathBuf {
    let (compile, link) = compiler
        .split_once(" -fuse-ld")
        .map_or((compiler, String::new()), |(c, l)| {
            (c, format!("-fuse-ld{l}"))
        });
    let words: Vec<&str> = compile.split_whitespace().collect();
    let file = source("chain.c");
    let mut arguments = words.clone();
    arguments.extend(["-c", file.to_str().unwrap(), "-o", "chain.o"]);
    tool(directory, &arguments);
    let mut arguments = vec![words[0], "chain.o", "-o", "program"];
    arguments.extend(Some(link.as_str()).filter(|link| !link.is_empty()));
    tool(directory, &arguments);
    assert_eq!(dwo_files(directory).len(), 1, "{compiler}");
    directory.join("program")
}

#[test]
fn split_debug_information() {
    for compiler in SPLIT {
        let directory = Directory::new();
        assert_attributed(&build_split(&directory, compiler));
    }
}

#[test]
fn split_debug_information_in_a_package() {
    for compiler in SPLIT {
        let directory = Directory::new();
        let program = build_split(&directory, compiler);
        let dwo = dwo_files(&directory).remove(0);
        let packer = if compiler.contains("dwarf-5") {
            "llvm-dwp"
        } else {
            "dwp"
        };
        if Command::new(packer).arg("--version").output().is_err() {
            eprintln!("skipped: {packer} is not installed");
            continue;
        }
        tool(
            &directory,
            &[packer, dwo.to_str().unwrap(), "-o", "program.dwp"],
        );
        std::fs::remove_file(dwo).unwrap();
        assert_attributed(&program);
    }
}

/// Without the split part the lines are still there; what is missing is named.
#[test]
fn missing_split_parts_are_named() {
    let directory = Directory::new();
    let program = build_split(&directory, SPLIT[0]);
    std::fs::remove_file(dwo_files(&directory).remove(0)).unwrap();
    let running = Waiting::start(&program, &[]);
    let mut symbols = Symbols::new(Scope::default(), &program);
    symbols.update_modules(running.pid()).unwrap();
    let mark = running.address("mark_inner");
    assert!(matches!(symbols.owner(&[mark]), Owner::Line(_)));
    assert_eq!(symbols.chain(mark).len(), 1);
    let problems = symbols.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].contains("program: split debug information chain.dwo is missing"),
        "{problems:?}"
    );
    assert!(
        symbols
            .find_line(&format!("chain.c:{}", line(&source("chain.c"), "inner")))
            .is_ok()
    );
}

/// Moves the debug information to `program.debug`, with a link to it.
fn separate(directory: &Directory, flags: &str) -> PathBuf {
    let program = build(directory, &format!("gcc -O2 -g {flags}"), "chain.c");
    tool(
        directory,
        &["objcopy", "--only-keep-debug", "program", "program.debug"],
    );
    tool(directory, &["strip", "--strip-debug", "program"]);
    tool(
        directory,
        &["objcopy", "--add-gnu-debuglink=program.debug", "program"],
    );
    program
}

#[test]
fn separate_files_beside_the_program() {
    for flags in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let directory = Directory::new();
        let program = separate(&directory, flags);
        assert_attributed(&program);
        std::fs::create_dir(directory.join(".debug")).unwrap();
        std::fs::rename(
            directory.join("program.debug"),
            directory.join(".debug/program.debug"),
        )
        .unwrap();
        assert_attributed(&program);
    }
}

#[test]
fn separate_files_of_another_build_are_refused_and_named() {
    for flags in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let directory = Directory::new();
        let program = separate(&directory, flags);
        let other = Directory::new();
        separate(&other, &format!("{flags} -O1"));
        std::fs::copy(other.join("program.debug"), directory.join("program.debug")).unwrap();
        let (symbols, owner) = attribute(&program);
        assert_eq!(owner, Owner::OutOfScope);
        assert!(!symbols.has_debug_info());
        let problems = symbols.problems().join("\n");
        assert!(
            problems.contains("program.debug does not belong to it"),
            "{problems}"
        );
        assert!(
            problems.contains("program has no debug information: build it with -g"),
            "{problems}"
        );
    }
}

/// What dwz moved to a file shared by several programs, function names among it, is read there.
#[test]
fn shared_alternate_files() {
    let directory = Directory::new();
    if Command::new("dwz").arg("--version").output().is_err() {
        eprintln!("skipped: dwz is not installed");
        return;
    }
    let program = build(&directory, "gcc -O2 -g -gdwarf-4", "chain.c");
    std::fs::copy(&program, directory.join("other")).unwrap();
    tool(
        &directory,
        &["dwz", "-m", "shared.debug", "program", "other"],
    );
    assert!(
        std::fs::metadata(directory.join("shared.debug"))
            .unwrap()
            .len()
            > 100
    );
    assert_attributed(&program);

    std::fs::remove_file(directory.join("shared.debug")).unwrap();
    let symbols = attribute(&program).0;
    let problems = symbols.problems().join("\n");
    assert!(
        problems.contains("its alternate file shared.debug is missing"),
        "{problems}"
    );
}

#[test]
fn global_and_fetched_files_are_found_by_build_id() {
    let directory = Directory::new();
    let program = separate(&directory, "-Wl,--build-id");
    let id = Symbols::new(Scope::default(), &program).build_id().unwrap();
    assert_eq!(id.len(), 40);
    let debug = directory.join("program.debug");

    let (first, rest) = id.split_at(2);
    let global = directory.join("global");
    std::fs::create_dir_all(global.join(".build-id").join(first)).unwrap();
    std::fs::copy(
        &debug,
        global
            .join(".build-id")
            .join(first)
            .join(format!("{rest}.debug")),
    )
    .unwrap();
    let cache = directory.join("cache");
    std::fs::create_dir_all(cache.join(&id)).unwrap();
    std::fs::rename(&debug, cache.join(&id).join("debuginfo")).unwrap();

    for (roots, cache) in [(vec![global], None), (vec![], Some(cache))] {
        let mut symbols = Symbols::new(Scope::default(), &program);
        assert!(!symbols.has_debug_info());
        symbols = Symbols::new(Scope::default(), &program);
        symbols.search_debug_files_in(roots, cache);
        assert!(symbols.has_debug_info());
        let inner = line(&source("chain.c"), "inner");
        let line = symbols.find_line(&format!("chain.c:{inner}")).unwrap();
        assert_eq!(symbols.line(line).function, "inner");
    }
}

#[test]
fn stripped_programs_are_named_with_the_remedy() {
    let directory = Directory::new();
    let program = build(&directory, "gcc -O2", "chain.c");
    let (mut symbols, owner) = attribute(&program);
    assert_eq!(owner, Owner::OutOfScope);
    assert!(!symbols.has_debug_info());
    let problems = symbols.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].contains("program has no debug information"),
        "{problems:?}"
    );
    assert!(symbols.find_line("chain.c:10").is_err());

    // The symbol table still names functions.
    let running = Waiting::start(&program, &[]);
    symbols.update_modules(running.pid()).unwrap();
    let chain = symbols.chain(running.address("outer") + 1);
    assert_eq!(chain.len(), 1);
    assert_eq!(
        (chain[0].function.as_str(), chain[0].in_scope),
        ("outer", false)
    );
    assert!(symbol(&program, "outer").is_some());
}

#[test]
fn what_is_no_program_is_named() {
    let directory = Directory::new();
    let script = directory.join("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    for (path, wanted) in [
        (script, "script: it is not an ELF file."),
        (directory.join("nothing"), "No such file"),
    ] {
        let symbols = Symbols::new(Scope::default(), &path);
        assert!(!symbols.has_debug_info());
        assert_eq!(symbols.build_id(), None);
        let problems = symbols.problems();
        assert!(
            problems.len() == 1 && problems[0].contains(wanted),
            "{problems:?}"
        );
    }
    assert!(
        Symbols::new(Scope::default(), Path::new("/bin/sh"))
            .update_modules(-1)
            .is_err()
    );
}

/// A program that is replaced while it runs: the running file is still read, by the kernel's links.
#[test]
fn a_program_replaced_while_it_runs_is_attributed() {
    let directory = Directory::new();
    let program = build(&directory, "gcc -O2 -g", "chain.c");
    let running = Waiting::start(&program, &[]);
    std::fs::remove_file(&program).unwrap();
    std::fs::copy("/bin/true", &program).unwrap();
    let mut symbols = Symbols::new(Scope::default(), &program);
    symbols.update_modules(running.pid()).unwrap();
    let owner = symbols.owner(&[running.address("mark_inner")]);
    assert!(
        matches!(owner, Owner::Line(_)),
        "{owner:?} {:?}",
        symbols.problems()
    );
}

/// A tool in the place of `debuginfod-find`: it prints the path of a file, some time later.
fn fetcher(directory: &Directory, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let tool = directory.join("debuginfod-find");
    std::fs::write(&tool, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    tool
}

#[test]
fn fetched_debug_information_is_taken_in_when_it_comes() {
    let directory = Directory::new();
    let program = separate(&directory, "-Wl,--build-id");
    let fetched = directory.join("fetched");
    std::fs::rename(directory.join("program.debug"), &fetched).unwrap();
    let running = Waiting::start(&program, &[]);
    let id = Symbols::new(Scope::default(), &program).build_id().unwrap();
    let gate = directory.join("gate");
    let text = format!(
        "test \"$1 $2\" = 'debuginfo {id}' || exit 1\nwhile ! test -e {}; do sleep 0.02; done\necho {}",
        gate.display(),
        fetched.display()
    );
    let mut symbols = Symbols::new(Scope::default(), &program);
    symbols.search_debug_files_in(Vec::new(), None);
    symbols.fetch_debug_files_by(fetcher(&directory, &text));
    symbols.update_modules(running.pid()).unwrap();
    let marked = running.address("mark_inner");
    // Nobody waits for it.
    assert_eq!(symbols.owner(&[marked]), Owner::OutOfScope);
    assert!(!symbols.take_fetched());
    let generation = symbols.ranges_generation();
    std::fs::write(&gate, "").unwrap();
    let begin = std::time::Instant::now();
    while !symbols.take_fetched() {
        assert!(begin.elapsed().as_secs() < 60, "it never comes");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(symbols.ranges_generation() > generation);
    assert!(matches!(symbols.owner(&[marked]), Owner::Line(_)));
    assert!(symbols.has_debug_info());
    assert!(!symbols.take_fetched());
}

#[test]
fn a_fetch_that_fails_changes_nothing() {
    for text in [
        "exit 1",
        "echo",
        "echo /nowhere/at/all",
        "echo /bin/true",
        "kill $$",
    ] {
        let directory = Directory::new();
        let program = separate(&directory, "-Wl,--build-id");
        std::fs::remove_file(directory.join("program.debug")).unwrap();
        let running = Waiting::start(&program, &[]);
        let mut symbols = Symbols::new(Scope::default(), &program);
        symbols.search_debug_files_in(Vec::new(), None);
        symbols.fetch_debug_files_by(fetcher(&directory, text));
        symbols.update_modules(running.pid()).unwrap();
        let marked = running.address("mark_inner");
        for _ in 0..30 {
            assert_eq!(symbols.owner(&[marked]), Owner::OutOfScope, "{text}");
            assert!(!symbols.take_fetched(), "{text}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(!symbols.has_debug_info());
    }
}

/// The directory of debug files for the whole system mirrors the paths of the programs.
#[test]
fn separate_files_in_the_global_directory() {
    for flags in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let directory = Directory::new();
        let program = separate(&directory, flags);
        let global = directory.join("global");
        let real = directory.0.canonicalize().unwrap();
        let mirror = global.join(real.strip_prefix("/").unwrap());
        std::fs::create_dir_all(&mirror).unwrap();
        std::fs::rename(
            directory.join("program.debug"),
            mirror.join("program.debug"),
        )
        .unwrap();
        let mut symbols = Symbols::new(Scope::default(), &program);
        symbols.search_debug_files_in(vec![global], None);
        assert!(symbols.has_debug_info(), "{flags}");
        let inner = line(&source("chain.c"), "inner");
        assert!(
            symbols.find_line(&format!("chain.c:{inner}")).is_ok(),
            "{flags}"
        );
    }
}
