//! The bundled example: its sources, carried in this binary, built by the user's own compiler.
//!
//! Built by rustc, or by a C compiler where there is none (or an old one), into the cache, so
//! that it works after `cargo install` too.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::launch::preload_library::make_private;

/// A source file: where it goes, and its text.
type Source = (&'static str, &'static str);

macro_rules! sources {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../", $path)))),*]
    };
}

const RUST: &[Source] = sources![
    "examples/demo/main.rs",
    "progress-points/src/lib.rs",
    "progress-points/src/abi.rs",
    "progress-points/src/macros.rs",
    "progress-points/src/name.rs",
    "progress-points/src/point.rs",
];
const C: &[Source] = sources!["examples/demo/demo.c", "progress-points/include/coz.h"];

/// The built example.
#[derive(Debug)]
pub struct DemoProgram {
    /// The executable.
    pub path: PathBuf,
    /// What built it.
    pub compiler: String,
}

/// Builds the example beneath `directory`, or finds it there.
///
/// # Errors
/// If no compiler builds it.
pub fn build(directory: &Path) -> anyhow::Result<DemoProgram> {
    make_private(directory).with_context(|| format!("making {}", directory.display()))?;
    let mut failures = Vec::new();
    for (variable, names, sources, steps) in [
        ("RUSTC", &["rustc"][..], RUST, rust_steps as fn() -> Steps),
        ("CC", &["cc", "gcc", "clang"][..], C, c_steps),
    ] {
        for compiler in compilers(variable, names) {
            match build_with(&compiler, sources, &steps(), directory) {
                Ok(path) => {
                    let compiler = compiler.to_string_lossy().into_owned();
                    return Ok(DemoProgram { path, compiler });
                }
                Err(error) => failures.push(format!("{}: {error:#}", compiler.display())),
            }
        }
    }
    anyhow::bail!(
        "no compiler builds the demo; install one, for instance `sudo apt install gcc`\n{}",
        failures.join("\n")
    )
}

fn compilers(variable: &str, names: &[&str]) -> Vec<OsString> {
    let chosen = std::env::var_os(variable).filter(|value| !value.is_empty());
    chosen
        .into_iter()
        .chain(names.iter().map(OsString::from))
        .collect()
}

/// Commands without the compiler's name; `demo` is the executable.
type Steps = Vec<Vec<&'static str>>;

fn rust_steps() -> Steps {
    let library = "--edition 2024 -O --crate-type rlib --crate-name progress_points \
                   progress-points/src/lib.rs";
    let program = "--edition 2024 -O -g --crate-name demo --extern \
                   progress_points=libprogress_points.rlib examples/demo/main.rs -o demo";
    [library, program]
        .map(|step| step.split_whitespace().collect())
        .to_vec()
}

fn c_steps() -> Steps {
    let program = "-O2 -g -pthread -I progress-points/include examples/demo/demo.c -o demo";
    vec![program.split_whitespace().collect()]
}

fn build_with(
    compiler: &OsString,
    sources: &[Source],
    steps: &Steps,
    directory: &Path,
) -> anyhow::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    (compiler, sources, steps).hash(&mut hasher);
    let place = directory.join(format!("demo-{:016x}", hasher.finish()));
    let program = place.join("demo");
    if program.is_file() {
        return Ok(program);
    }
    // In a place of its own and then renamed, so that nobody finds it half built.
    let unfinished = directory.join(format!("demo-{}", std::process::id()));
    let built = build_in(&unfinished, compiler, sources, steps);
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
    sources: &[Source],
    steps: &Steps,
) -> anyhow::Result<()> {
    for (name, text) in sources {
        let path = place.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    for step in steps {
        let output = Command::new(compiler)
            .args(step)
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

/// Blocks a second of the example for `seconds`, with one line cured or none.
///
/// # Errors
/// If it does not run or does not say.
pub fn rate(program: &Path, seconds: u32, cured: Option<&str>) -> anyhow::Result<f64> {
    let mut command = Command::new(program);
    command.args(["--seconds", &seconds.to_string()]);
    if let Some(line) = cured {
        command.args(["--fix", line]);
    }
    let output = command.output().context("running the demo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace().skip_while(|word| *word != "rate");
    words
        .nth(1)
        .and_then(|number| number.parse().ok())
        .context("the demo did not print its rate")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_build(compiler: &str, sources: &[Source], steps: &Steps) {
        let place = std::env::temp_dir().join(format!("coz-rs-{}-{compiler}", std::process::id()));
        make_private(&place).unwrap();
        let program = build_with(&compiler.into(), sources, steps, &place).unwrap();
        let again = build_with(&compiler.into(), sources, steps, &place).unwrap();
        assert_eq!(program, again);
        assert!(rate(&program, 1, Some("checksum")).unwrap() > 0.0);
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1);
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn the_embedded_rust_sources_are_complete() {
        try_build("rustc", RUST, &rust_steps());
    }

    #[test]
    fn the_embedded_c_sources_are_complete() {
        try_build("cc", C, &c_steps());
    }
}
