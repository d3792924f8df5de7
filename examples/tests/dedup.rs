//! dedup: what it writes can be restored, whatever the bucket hash and the number of threads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A tree with equal files, an edited copy, an empty file, nested folders and one big file.
fn tree(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("deep/er")).expect("a folder below target");
    let mut state = 7_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    })
    .take(2_500_000)
    .collect();
    let mut edited = noise[..700_000].to_vec();
    edited.splice(1000..1000, *b"inserted");
    for (path, bytes) in [
        ("big", &noise[..]),
        ("deep/copy", &noise[..900_000]),
        ("deep/er/edited", &edited),
        ("deep/er/zeros", &[0; 300_000]),
        ("short", b"x"),
        ("empty", b""),
    ] {
        fs::write(root.join(path), bytes).expect("a file below target");
    }
    root
}

fn dedup(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup"))
        .args(words)
        .output()
        .expect("dedup starts")
}

fn number(text: &str, before: &str) -> f64 {
    let rest = text
        .split_once(before)
        .unwrap_or_else(|| panic!("no {before:?} in {text}"))
        .1;
    let end = rest.find(|digit: char| digit != '.' && !digit.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().expect("a number")
}

#[test]
fn the_tree_is_restored() {
    let tree = tree("restored");
    let tree_name = tree.to_str().expect("a name in UTF-8");
    for (hash, threads, repeat) in [("add", "1", "1"), ("xor", "3", "1"), ("add", "4", "3")] {
        let archive = tree.with_extension(format!("{hash}{threads}"));
        let archive_name = archive.to_str().expect("a name in UTF-8");
        let words = [
            "--hash",
            hash,
            "--threads",
            threads,
            "--repeat",
            repeat,
            "--verify",
            "-o",
        ];
        let output = dedup(&[&words[..], &[archive_name, tree_name]].concat());
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(number(&text, "verified: "), 4_400_009.0, "{text}");
        // The copy, the edited copy but for its beginning, and the zeros cost next to nothing.
        let size = fs::metadata(&archive).expect("the archive").len();
        assert!((2_500_000..3_000_000).contains(&size), "{size} bytes");
    }
}

#[test]
fn the_mended_hash_uses_more_buckets_for_the_same_chunks() {
    let tree = tree("buckets");
    let run = |hash| {
        let output = dedup(&["--hash", hash, tree.to_str().expect("a name in UTF-8")]);
        String::from_utf8(output.stdout).expect("text")
    };
    let (add, xor) = (run("add"), run("xor"));
    let different = |text: &str| number(text, " (");
    assert_eq!(different(&add), different(&xor));
    assert!(different(&add) > 300.0, "{add}");
    assert!(number(&xor, "chunks in a used bucket: ") < 1.1, "{xor}");
    assert!(number(&add, "chunks in a used bucket: ") > 1.15, "{add}");
}

#[test]
fn a_missing_tree_is_an_error_that_names_it() {
    let output = dedup(&["/nowhere/at/all"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/at/all"));
}
