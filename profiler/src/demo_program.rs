//! The programs of the stories, built by the user's own compiler.
//!
//! Built by rustc, or by a C compiler where there is none (or an old one), into the cache, so
//! that it works after `cargo install` too.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::demo_catalogue::{Sources, Story};
use crate::launch::preload_library::make_private;

/// A built program.
#[derive(Debug, Clone)]
pub struct DemoProgram {
    /// The executable.
    pub path: PathBuf,
    /// What built it.
    pub compiler: String,
    /// What it is built from.
    pub sources: Sources,
}

/// A language that stories are told in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Rust,
    C,
}

impl Language {
    /// The variable that names a compiler, and the names that are tried.
    fn compilers(self) -> impl Iterator<Item = OsString> {
        let (variable, names) = match self {
            Language::Rust => ("RUSTC", &["rustc"][..]),
            Language::C => ("CC", &["cc", "gcc", "clang"][..]),
        };
        let chosen = std::env::var_os(variable).filter(|value| !value.is_empty());
        chosen.into_iter().chain(names.iter().map(OsString::from))
    }

    /// Commands without the compiler's name; `demo` is the executable.
    fn steps(self, main: &str) -> Vec<String> {
        match self {
            Language::Rust => vec![
                "--edition 2024 -O --crate-type rlib --crate-name progress_points \
                 progress-points/src/lib.rs"
                    .to_owned(),
                format!(
                    "--edition 2024 -O -g --crate-name demo --extern \
                     progress_points=libprogress_points.rlib {main} -o demo"
                ),
            ],
            Language::C => vec![format!(
                "-O2 -g -pthread -I progress-points/include {main} -o demo -lm"
            )],
        }
    }
}

/// Builds the story's program beneath `directory`, or finds it there.
///
/// # Errors
/// If no compiler builds it.
pub fn build(story: &Story, directory: &Path) -> anyhow::Result<DemoProgram> {
    make_private(directory).with_context(|| format!("making {}", directory.display()))?;
    let mut failures = Vec::new();
    for (language, sources) in [(Language::Rust, story.rust), (Language::C, story.c)] {
        let Some(sources) = sources else { continue };
        for compiler in language.compilers() {
            match build_with(&compiler, language, sources, directory) {
                Ok(path) => {
                    return Ok(DemoProgram {
                        path,
                        compiler: compiler.to_string_lossy().into_owned(),
                        sources,
                    });
                }
                Err(error) => failures.push(format!("{}: {error:#}", compiler.display())),
            }
        }
    }
    let missing = match story.c {
        Some(_) => "install one, for instance `sudo apt install gcc`",
        None => "it needs a Rust toolchain; see https://rustup.rs",
    };
    anyhow::bail!(
        "no compiler builds the demo {}; {missing}\n{}",
        story.name,
        failures.join("\n")
    )
}

/// Builds the story's twin in C beneath `directory`; nothing if it has none.
///
/// # Errors
/// If no C compiler builds it.
pub fn build_in_c(story: &Story, directory: &Path) -> anyhow::Result<Option<DemoProgram>> {
    if story.c.is_none() {
        return Ok(None);
    }
    build(
        &Story {
            rust: None,
            ..*story
        },
        directory,
    )
    .map(Some)
}

fn build_with(
    compiler: &OsString,
    language: Language,
    sources: Sources,
    directory: &Path,
) -> anyhow::Result<PathBuf> {
    let steps = language.steps(sources.main);
    let mut hasher = DefaultHasher::new();
    (compiler, sources.files, &steps).hash(&mut hasher);
    let place = directory.join(format!("demo-{:016x}", hasher.finish()));
    let program = place.join("demo");
    if program.is_file() {
        return Ok(program);
    }
    // In a place of its own and then renamed, so that nobody finds it half built. The hash is in
    // its name, as one process may build several at once.
    let unfinished = directory.join(format!(
        "demo-{}-{:016x}",
        std::process::id(),
        hasher.finish()
    ));
    let built = build_in(&unfinished, compiler, sources, &steps);
    let moved = built.and_then(|()| {
        // Fails if somebody else was faster, which is as good.
        let _ = std::fs::rename(&unfinished, &place);
        anyhow::ensure!(program.is_file(), "no executable came out");
        Ok(program)
    });
    // Best effort: gone already if all went well.
    let _ = std::fs::remove_dir_all(&unfinished);
    moved
}

fn build_in(
    place: &Path,
    compiler: &OsString,
    sources: Sources,
    steps: &[String],
) -> anyhow::Result<()> {
    for (name, text) in sources.files {
        let path = place.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    for step in steps {
        let output = Command::new(compiler)
            .args(step.split_whitespace())
            .current_dir(place)
            .output()?;
        anyhow::ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo_catalogue::STORIES;
    use crate::demo_measurement::Figures;

    fn place(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("coz-rs-{}-{name}", std::process::id()))
    }

    fn try_build(story: &Story, name: &str) {
        let place = place(name);
        let program = build(story, &place).unwrap();
        let again = build(story, &place).unwrap();
        assert_eq!(program.path, again.path);
        let figures = Figures::of(&program.path, story.arguments, &[], 0.2).unwrap();
        assert!(figures.rate > 0.0, "{}: {figures:?}", story.name);
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1);
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn the_embedded_rust_sources_are_complete() {
        for story in STORIES.iter().filter(|story| story.rust.is_some()) {
            try_build(&Story { c: None, ..*story }, "rust");
        }
    }

    #[test]
    fn the_embedded_c_sources_are_complete() {
        for story in STORIES.iter().filter(|story| story.c.is_some()) {
            try_build(
                &Story {
                    rust: None,
                    ..*story
                },
                "c",
            );
        }
    }
}
