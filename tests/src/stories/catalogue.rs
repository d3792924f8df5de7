//! All stories in all languages: those of `coz-rs demo`, and the programs that need crates.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use coz_rs::demo_catalogue::{Change, STORIES, Sources, Story};
use coz_rs::demo_measurement::marked_line;
use coz_rs::demo_program::build_in_c;

use super::Form;
use crate::build;

/// The file with the marks.
macro_rules! sources {
    ($path:literal) => {
        Some(Sources {
            main: $path,
            files: &[($path, include_str!(concat!("../../../", $path)))],
        })
    };
}

/// A program in Rust that needs crates: `coz-rs demo` tells its story in C, or another form of it.
struct WithCrates {
    story: &'static str,
    /// What the form is called in brackets.
    form: &'static str,
    /// The executable of the examples package.
    example: &'static str,
    sources: Option<Sources>,
    arguments: &'static [&'static str],
}

const WITH_CRATES: [WithCrates; 3] = [
    WithCrates {
        story: "dedup",
        form: "Rust",
        example: "dedup",
        sources: sources!("examples/dedup/pipeline.rs"),
        // As many chunks as 400 MB have, but in a table that is as full at each time.
        arguments: &["--limit", "40", "--earlier", "60000", "TREE"],
    },
    WithCrates {
        story: "ferret",
        form: "Rust",
        example: "ferret",
        sources: sources!("examples/ferret/main.rs"),
        arguments: &["--threads", "1,2,1,1"],
    },
    WithCrates {
        story: "server",
        form: "tokio",
        example: "server-tokio",
        sources: sources!("examples/server_tokio/main.rs"),
        arguments: &[],
    },
];

/// The forms whose names begin with one of `names`, or all; built.
pub fn forms(names: &[String]) -> Result<Vec<Form>> {
    let wanted = |form: &str| names.is_empty() || names.iter().any(|name| form.starts_with(name));
    let mut forms = Vec::new();
    for story in STORIES {
        let name = format!("{} (Rust)", story.name);
        if let Some(sources) = story.rust.filter(|_| wanted(&name)) {
            let program = build::example(story.example)?;
            forms.push(form(name, story, story.arguments, &program, sources)?);
        }
        for other in WITH_CRATES.iter().filter(|other| other.story == story.name) {
            let name = format!("{} ({})", story.name, other.form);
            if let Some(sources) = other.sources.filter(|_| wanted(&name)) {
                let program = build::example(other.example)?;
                forms.push(form(name, story, other.arguments, &program, sources)?);
            }
        }
        let name = format!("{} (C)", story.name);
        if story.c.is_some() && wanted(&name) {
            let built = build_in_c(story, &build::output())?;
            let program = built.context("a story with sources in C")?;
            let (path, sources) = (&program.path, program.sources);
            forms.push(form(name, story, story.arguments, path, sources)?);
        }
    }
    Ok(forms)
}

fn form(
    name: String,
    story: &Story,
    words: &[&str],
    program: &Path,
    sources: Sources,
) -> Result<Form> {
    let mut arguments = Vec::new();
    for word in words {
        arguments.push(match *word {
            "TREE" => tree()?,
            word => word.to_owned(),
        });
    }
    // Not every form can make every change.
    let possible = |change: &&Change| marked_line(&sources, change.line).is_some();
    let changes: Vec<Change> = story.changes.iter().filter(possible).copied().collect();
    ensure!(!changes.is_empty(), "{name} marks no line of a change");
    Ok(Form {
        name,
        changes,
        arguments,
        program: program.to_owned(),
        sources,
    })
}

/// A tree of files that every developer of this has: the Rust toolchain's libraries.
fn tree() -> Result<String> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()?;
    ensure!(
        output.status.success(),
        "rustc does not say where its sysroot is"
    );
    Ok(format!("{}/lib", String::from_utf8(output.stdout)?.trim()))
}
