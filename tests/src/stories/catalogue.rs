//! All stories in all languages: those of `coz-rs demo`, and the programs that need crates.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use coz_rs::demo_catalogue::{STORIES, Sources, Story};
use coz_rs::demo_program::build_in_c;

use super::Form;
use crate::build;

/// Stories whose program in Rust needs crates; `coz-rs demo` tells them in C, or not at all.
const WITH_CRATES: &[Story] = &[];

/// The forms whose names begin with one of `names`, or all; built.
pub fn forms(names: &[String]) -> Result<Vec<Form>> {
    let wanted = |form: &str| names.is_empty() || names.iter().any(|name| form.starts_with(name));
    let mut forms = Vec::new();
    for story in STORIES.iter().chain(WITH_CRATES) {
        let name = format!("{} (Rust)", story.name);
        if let Some(sources) = story.rust.filter(|_| wanted(&name)) {
            let program = build::example(story.example)?;
            forms.push(form(name, story, &program, sources)?);
        }
        let name = format!("{} (C)", story.name);
        if story.c.is_some() && wanted(&name) {
            let built = build_in_c(story, &build::output())?;
            let program = built.context("a story with sources in C")?;
            forms.push(form(name, story, &program.path, program.sources)?);
        }
    }
    Ok(forms)
}

fn form(name: String, story: &Story, program: &Path, sources: Sources) -> Result<Form> {
    let mut arguments = Vec::new();
    for word in story.arguments {
        arguments.push(match *word {
            "TREE" => tree()?,
            word => word.to_owned(),
        });
    }
    Ok(Form {
        name,
        story: *story,
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
