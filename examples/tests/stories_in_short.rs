//! The stories in short: every program runs with and without its changes, which change no result.

mod support;

use std::path::Path;

use support::{in_c, number, run, word};

const SHORT: [&str; 2] = ["--seconds", "0.15"];

/// Runs a program with each set of words; the checks are equal, and work was done.
fn same_result(program: &Path, changes: &[&[&str]]) {
    let mut checks = Vec::new();
    for change in changes {
        let text = run(program, &[change, &SHORT[..]].concat());
        assert!(number(&text, "rate ") > 0.0, "{text}");
        assert!(text.contains("\ncost "), "{text}");
        checks.push(word(&text, "check ").to_owned());
    }
    assert!(
        checks.windows(2).all(|pair| pair[0] == pair[1]),
        "{checks:?}"
    );
}

#[test]
fn combines_kernels_agree_as_stages() {
    let kernels = [
        "combine1", "combine3", "combine4", "combine6", "lanes", "vector",
    ];
    let words = kernels.map(|kernel| ["stages", "--sum", kernel, "--product", kernel]);
    let words: Vec<&[&str]> = words.iter().map(|words| &words[..]).collect();
    same_result(Path::new(env!("CARGO_BIN_EXE_combine")), &words);
}

#[test]
fn the_animations_cures_change_no_item() {
    let program = Path::new(env!("CARGO_BIN_EXE_animation"));
    let all = ["--fix", "draw", "--fix", "unpack", "--fix", "index"];
    same_result(program, &[&[], &all[..2], &all[2..4], &all]);
}

#[test]
fn both_barriers_let_every_step_be_made_by_all() {
    let rust = Path::new(env!("CARGO_BIN_EXE_barrier")).to_owned();
    for program in [rust, in_c("c/barrier.c")] {
        let words = ["--threads", "2", "--rows", "64"];
        same_result(
            &program,
            &[&words, &[&words[..], &["--barrier", "system"]].concat()],
        );
    }
}

#[test]
fn the_kvstore_finds_the_same_by_table_and_directly() {
    let program = Path::new(env!("CARGO_BIN_EXE_kvstore"));
    same_result(program, &[&[], &["--calls", "direct"]]);
}

#[test]
fn the_servers_cures_change_no_answer() {
    let program = Path::new(env!("CARGO_BIN_EXE_server"));
    let all = ["--fix", "parse", "--fix", "render", "--fix", "statistics"];
    same_result(program, &[&[], &all[..2], &all[2..4], &all]);
}

#[test]
fn the_cures_on_tokio_change_no_answer() {
    let program = Path::new(env!("CARGO_BIN_EXE_server-tokio"));
    let all = ["--fix", "parse", "--fix", "render"];
    same_result(program, &[&[], &all[..2], &all[2..], &all]);
}

#[test]
fn ferret_finds_the_same_with_any_threads() {
    let rust = Path::new(env!("CARGO_BIN_EXE_ferret")).to_owned();
    for program in [rust, in_c("c/ferret.c")] {
        let found = |threads| run(&program, &["--threads", threads, "--seconds", "0.2"]);
        let (few, many) = (found("1,1,1,1"), found("2,3,2,2"));
        assert_eq!(word(&few, "check "), word(&many, "check "), "{few}{many}");
        for text in [few, many] {
            assert_eq!(word(&text, "right "), "100.0", "{text}");
        }
    }
}
