//! What `--help` says, word for word, for the command and each of its own: a change of it is seen in
//! review. `INSTA_UPDATE=always cargo test -p coz-rs --test help` takes a wanted change over.

#![allow(clippy::unwrap_used, reason = "a test says by its panic what failed")]

use std::process::Command;

fn told(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coz-rs"));
    // As wide as where there is no terminal, and plain.
    command
        .args(words)
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1");
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {error}");
    assert!(error.is_empty(), "{words:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names below "Commands:".
fn commands(help: &str) -> Vec<&str> {
    let (_, list) = help.split_once("\nCommands:\n").unwrap();
    let list = list.lines().take_while(|line| !line.is_empty());
    // Names stand two columns from the edge, what is wrapped further in.
    list.filter_map(|line| {
        line.strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '))
    })
    .filter_map(|line| line.split_whitespace().next())
    .filter(|name| *name != "help")
    .collect()
}

#[test]
fn every_commands_help_is_as_it_was() {
    let help = told(&["--help"]);
    insta::assert_snapshot!("coz-rs", help);
    let names = commands(&help);
    assert!(names.contains(&"run") && names.contains(&"plot"), "{help}");
    for name in names {
        let help = told(&[name, "--help"]);
        assert_eq!(help, told(&["help", name]));
        insta::assert_snapshot!(name, help);
    }
}

#[test]
fn every_option_is_explained_in_a_sentence() {
    let help = told(&["--help"]);
    for name in commands(&help) {
        let short = told(&[name, "-h"]);
        let (_, options) = short.split_once("\nOptions:\n").unwrap();
        let mut described = 0;
        for option in options
            .lines()
            .filter(|line| line.trim_start().starts_with('-'))
        {
            described += 1;
            // clap puts two blanks between an option and what it does.
            let about = option
                .trim_start()
                .split_once("  ")
                .map_or("", |(_, about)| about.trim());
            let next_line = options.lines().skip_while(|line| *line != option).nth(1);
            let about = if about.is_empty() {
                next_line.unwrap_or("").trim()
            } else {
                about
            };
            assert!(about.starts_with(char::is_uppercase), "{name}: {option}");
        }
        assert!(described > 0, "{name}: {short}");
    }
}

#[test]
fn pages_and_completions_name_every_command() {
    let help = told(&["--help"]);
    let page = told(&["man"]);
    assert!(page.contains(".TH coz-rs") && page.contains(".SH OPTIONS"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = told(&["completions", shell]);
        for name in commands(&help) {
            assert!(script.contains(name), "{shell}: {name}");
            assert!(page.contains(&format!("coz\\-rs\\-{name}(1)")), "{name}");
        }
    }
}
