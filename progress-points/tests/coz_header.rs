//! The header for C and C++: silent in every dialect, linked without a flag, right in its counts.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{fake_runtime, fake_runtime_with, run_under, scratch, succeed};

const C: [&str; 5] = ["c99", "c11", "c17", "c2x", "gnu89"];
const CPP: [&str; 6] = ["c++98", "c++11", "c++14", "c++17", "c++20", "c++2b"];
/// Ways of compiling that the header must not notice.
const WAYS: [&[&str]; 7] = [
    &["-O0"],
    &["-O2"],
    &["-O2", "-fPIE", "-pie"],
    &["-O2", "-static"],
    &["-O1", "-fsanitize=thread"],
    &["-O2", "-DWITH_DLFCN"],
    &["-O2", "-DWITH_DLFCN_AFTER"],
];

/// The compilers of this machine, of the kind asked for; C must have one.
fn compilers(names: [&'static str; 2]) -> Vec<&'static str> {
    let present = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let (found, missing): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| present(name));
    for name in missing {
        println!("skipped: no {name} on this machine");
    }
    assert!(!found.is_empty(), "none of {names:?} is installed");
    found
}

fn build(compiler: &str, words: &[&str], folder: &Path) -> PathBuf {
    let tests = support::package().join("tests/header");
    let program = folder.join("program");
    let mut command = Command::new(compiler);
    command.args([
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wshadow",
        "-Wundef",
        "-Werror",
        "-pthread",
    ]);
    command
        .args(words)
        .arg("-I")
        .arg(support::package().join("include"));
    command
        .args(["main.c", "other_unit.c", "unused.c", "-o"])
        .arg(&program)
        .current_dir(tests);
    succeed(&mut command);
    program
}

fn expected(cpp: bool) -> BTreeMap<String, u64> {
    let line = include_str!("header/main.c")
        .lines()
        .position(|line| line.trim() == "COZ_PROGRESS;")
        .expect("it has an unnamed point")
        + 1;
    let mut expected = BTreeMap::from([
        (format!("1 main.c:{line}"), 3),
        ("2 job".into(), 4000),
        ("3 job".into(), 4000),
        ("1 odd".into(), 2000),
        ("1 even".into(), 2005),
        ("0 pre_block".into(), 1),
        ("0 post_block".into(), 2),
        ("0 skipped".into(), 1),
        ("0 catch_up".into(), 1),
    ]);
    if cpp {
        expected.insert("1 template".into(), 5);
    }
    expected
}

fn all_dialects(compiler: &str, dialects: &[&str], language: &str) {
    let runtime = fake_runtime();
    let folder = scratch("header");
    for dialect in dialects {
        let standard = format!("-std={dialect}");
        for way in WAYS {
            let words = [&[&standard[..], "-x", language], way].concat();
            let program = build(compiler, &words, &folder);
            if way.contains(&"-fsanitize=thread") {
                // It compiles silently; whether the sanitizer starts depends on the kernel.
                continue;
            }
            assert_eq!(
                succeed(&mut Command::new(&program)),
                "done\n",
                "{compiler} {words:?}"
            );
            if way.contains(&"-static") {
                continue;
            }
            let (_, mut counts) = run_under(&runtime, &mut Command::new(&program));
            counts.remove("0 asked");
            assert_eq!(counts, expected(language == "c++"), "{compiler} {words:?}");
        }
    }
}

#[test]
fn c_dialects() {
    for compiler in compilers(["gcc", "clang"]) {
        all_dialects(compiler, &C, "c");
    }
}

#[test]
fn cpp_dialects() {
    for compiler in compilers(["g++", "clang++"]) {
        all_dialects(compiler, &CPP, "c++");
    }
}

#[test]
fn a_runtime_that_times_begins_and_ends_is_called_for_each() {
    let program = build("cc", &["-std=gnu89", "-O2"], &scratch("timed"));
    let runtime = fake_runtime_with(&["-DVISITS"]);
    let (_, mut counts) = run_under(&runtime, &mut Command::new(&program));
    assert_eq!(counts.remove("0 called"), Some(8000));
    counts.remove("0 asked");
    assert_eq!(counts, expected(false));
}

/// Before glibc 2.34 dlsym is in libdl, which nobody asked for: the reference must be weak.
#[test]
fn no_strong_reference_to_dlsym() {
    let object = scratch("weak").join("main.o");
    let tests = support::package().join("tests/header");
    let mut command = Command::new("cc");
    command
        .arg("-O2")
        .arg("-I")
        .arg(support::package().join("include"))
        .arg("-c");
    succeed(command.arg(tests.join("main.c")).arg("-o").arg(&object));
    let symbols = succeed(Command::new("nm").arg("-u").arg(&object));
    let dlsym = symbols
        .lines()
        .find(|line| line.ends_with(" dlsym"))
        .expect("it is referred to");
    assert_eq!(dlsym.trim(), "w dlsym");

    // The program's own use of dlsym stays strong, so that a missing library is noticed.
    let mut command = Command::new("cc");
    command.args(["-O2", "-DWITH_DLFCN", "-DCALL_DLSYM", "-I"]);
    command
        .arg(support::package().join("include"))
        .arg("-c")
        .arg(tests.join("main.c"));
    succeed(command.arg("-o").arg(&object));
    let symbols = succeed(Command::new("nm").arg("-u").arg(&object));
    let dlsym = symbols
        .lines()
        .find(|line| line.ends_with(" dlsym"))
        .expect("it is referred to");
    assert_eq!(dlsym.trim(), "U dlsym");
}
