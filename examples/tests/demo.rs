//! The demo: its cures change no byte, and the C twin is the same program.

use std::path::{Path, PathBuf};
use std::process::Command;

const FIXES: [&[&str]; 5] = [
    &[],
    &["--fix", "generate"],
    &["--fix", "scramble"],
    &["--fix", "checksum"],
    &[
        "--fix", "checksum", "--fix", "scramble", "--fix", "generate",
    ],
];

/// The checksum of the first block, and how many blocks were done.
fn run(program: &Path, fixes: &[&str]) -> (String, u64) {
    let mut command = Command::new(program);
    let output = command
        .args(["--seconds", "0.2"])
        .args(fixes)
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("text");
    let word = |name: &str| {
        let mut words = text.split_whitespace().skip_while(|word| *word != name);
        words
            .nth(1)
            .unwrap_or_else(|| panic!("no {name} in {text:?}"))
            .to_owned()
    };
    (word("check"), word("blocks").parse().expect("a number"))
}

fn in_c() -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo-in-c");
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("cc");
    command.args([
        "-std=c11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-pthread",
    ]);
    command
        .arg("-I")
        .arg(package.join("../progress-points/include"));
    command
        .arg("-o")
        .arg(&program)
        .arg(package.join("demo/demo.c"));
    let output = command.output().expect("a C compiler");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

#[test]
fn the_cures_and_the_twin_make_the_same_blocks() {
    let rust = PathBuf::from(env!("CARGO_BIN_EXE_demo"));
    let (expected, _) = run(&rust, &[]);
    for program in [rust, in_c()] {
        for fixes in FIXES {
            let (check, blocks) = run(&program, fixes);
            assert_eq!(check, expected, "{} {fixes:?}", program.display());
            assert!(
                blocks > 10,
                "{} {fixes:?}: {blocks} blocks",
                program.display()
            );
        }
    }
}

#[test]
fn an_unknown_option_is_refused() {
    for program in [PathBuf::from(env!("CARGO_BIN_EXE_demo")), in_c()] {
        let output = Command::new(program)
            .args(["--fix", "all"])
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: demo"));
    }
}
