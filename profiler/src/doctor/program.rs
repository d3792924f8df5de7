//! The program: whether it can be profiled, and whether anything could be learned of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use memmap2::MmapOptions;

use super::finding::{Area, Finding};
use super::loading;
use crate::launch::executable::{Executable, inspect};
use crate::symbols::{Scope, Survey, Symbols};

/// What every way to write a progress point looks up by name.
const COUNTER: &[u8] = b"_coz_get_counter";

pub(super) fn check(command: &OsStr, scope: &Scope) -> Vec<Finding> {
    let executable = match inspect(command) {
        Ok(executable) => executable,
        Err(refusal) => return vec![refused(&refusal.to_string())],
    };
    let mut findings = vec![format(&executable)];
    if executable.is_script() {
        return findings;
    }
    let (loaded, libraries) = loading::check(&executable.image);
    findings.extend(loaded);
    findings.extend(debug_information(&executable.image, scope));
    findings.push(points(&executable.image, &libraries));
    findings
}

/// A refusal is one sentence: what is wrong, then what to do.
fn refused(sentence: &str) -> Finding {
    let (text, mend) = sentence
        .split_once("; ")
        .unwrap_or((sentence, "look at it with `file`"));
    Finding::bad(Area::Program, "format", format!("{text}."), mend)
}

fn format(executable: &Executable) -> Finding {
    let path = executable.path.display();
    let text = if executable.is_script() {
        format!(
            "{path} is a script for {}; the programs that it starts are profiled, so ask about \
             those.",
            executable.image.display()
        )
    } else {
        format!("{path} is a dynamically linked program for x86-64 and glibc.")
    };
    Finding::good(Area::Program, "format", text)
}

fn debug_information(image: &Path, scope: &Scope) -> Vec<Finding> {
    let mut symbols = Symbols::new(scope.clone(), image);
    if !symbols.has_debug_info() {
        return vec![Finding::bad(
            Area::Program,
            "debug-info",
            format!("{} has no debug information.", image.display()),
            "build it with -g (C, C++) or CARGO_PROFILE_RELEASE_DEBUG=true (Rust), and do not \
             strip it",
        )];
    }
    let survey = symbols.survey();
    let place = survey
        .debug_file
        .as_ref()
        .map_or_else(String::new, |file| format!(", in {}", file.display()));
    let mut findings = vec![Finding::good(
        Area::Program,
        "debug-info",
        format!(
            "It has debug information of {} source files{place}.",
            survey.files
        ),
    )];
    findings.extend(symbols.problems().into_iter().map(|problem| {
        Finding::doubtful(
            Area::Program,
            "debug-info",
            problem,
            "build the program and its debug files anew",
        )
    }));
    findings.push(in_scope(&survey));
    findings
}

fn in_scope(survey: &Survey) -> Finding {
    match &survey.example {
        Some(example) => Finding::good(
            Area::Program,
            "scope",
            format!(
                "{} of them are in scope, for instance {example}.",
                survey.in_scope
            ),
        ),
        None => Finding::bad(
            Area::Program,
            "scope",
            "None of its source files is in scope.",
            "name yours: --source-scope 'src/%' (and --binary-scope for code in libraries)",
        ),
    }
}

fn points(image: &Path, libraries: &[PathBuf]) -> Finding {
    let own = std::iter::once(image).chain(libraries.iter().map(PathBuf::as_path));
    let runtime = |path: &&Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !name.starts_with("libcoz-rs-")
    };
    match own.filter(runtime).find(|path| names_counter(path)) {
        Some(path) => Finding::good(
            Area::Program,
            "points",
            format!("Progress points are compiled into {}.", path.display()),
        ),
        None => Finding::bad(
            Area::Program,
            "points",
            "No progress point is compiled in, neither here nor in its libraries.",
            "mark where a unit of work is done: `progress!(\"name\")` from the package \
             progress-points in Rust, COZ_PROGRESS_NAMED(\"name\") from coz.h in C and C++; or name \
             one without touching the source: `coz-rs run --progress FILE:LINE` or `--progress-fn \
             SYMBOL`",
        ),
    }
}

/// Whether the file has the name in it: the interface looks its function up by name.
fn names_counter(path: &Path) -> bool {
    let Ok(file) = std::fs::File::open(path) else {
        return false;
    };
    // SAFETY: only searched for bytes; whatever another process writes meanwhile is read as bytes
    // too, and a file that is cut while it is mapped could end this command, which changes nothing.
    let Ok(bytes) = (unsafe { MmapOptions::new().map(&file) }) else {
        return false;
    };
    contains(&bytes, COUNTER)
}

/// Whether `bytes` have `word` in them; few places begin like it, so most are passed in one step.
fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Outcome;

    #[test]
    fn a_refusal_is_split_into_what_and_what_to_do() {
        let finding = refused("./a is a 32-bit program and no more; build it without -m32");
        assert_eq!(finding.text, "./a is a 32-bit program and no more.");
        assert_eq!(finding.mend.as_deref(), Some("build it without -m32"));
    }

    #[test]
    fn a_system_program_lacks_all_that_is_needed_but_can_be_loaded() {
        let findings = check(OsStr::new("/bin/true"), &Scope::default());
        let outcome = |name: &str| findings.iter().find(|f| f.check == name).map(|f| f.outcome);
        assert_eq!(outcome("format"), Some(Outcome::Good));
        assert_eq!(outcome("libraries"), Some(Outcome::Good), "{findings:?}");
        assert_eq!(outcome("points"), Some(Outcome::Bad));
    }

    #[test]
    fn names_are_found_anywhere() {
        assert!(contains(b"ab_coz_get_counter", COUNTER));
        assert!(contains(b"_coz_get_counter\0z", COUNTER));
        assert!(!contains(b"_coz_get_counte", COUNTER));
        assert!(!contains(b"", COUNTER));
    }
}
