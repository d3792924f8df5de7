//! Which source files and which binaries a user calls his own.
//!
//! Globs match whole paths and cross slashes; Coz's `%` is `*`. Without any glob of the user the
//! scope is the main executable and every source file that is not of the system, the Rust standard
//! library or a crate fetched by cargo.

use std::path::Path;

use anyhow::Context as _;
use globset::{GlobBuilder, GlobMatcher};
use regex::Regex;

use super::caller::Caller;
use super::foreign_place::{Foreign, crate_name};
use super::left_out::Rule;
use super::source_map::SourceMap;

/// The name that stands for the main executable among binary globs, as in Coz.
const MAIN: &str = "MAIN";

/// What experiments select.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Source lines.
    #[default]
    Line,
    /// Functions, with what they call.
    Function,
}

/// Rules that say which lines experiments may select.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    unit: Unit,
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    crates: Vec<Pattern>,
    functions: Vec<Regex>,
    not_functions: Vec<Regex>,
    under: Option<Caller>,
    binaries: Vec<Pattern>,
    not_binaries: Vec<Pattern>,
    /// `MAIN` was among the binary globs.
    names_main: bool,
    source_map: SourceMap,
}

/// One glob; one without wildcards also means everything beneath it.
#[derive(Debug, Clone)]
struct Pattern {
    whole: GlobMatcher,
    beneath: Option<GlobMatcher>,
    /// Nothing but wildcards: everything, really everything.
    everything: bool,
}

impl Pattern {
    fn new(text: &str) -> anyhow::Result<Pattern> {
        let text = text.replace('%', "*");
        let compile = |glob: &str| {
            let glob = GlobBuilder::new(glob).literal_separator(false).build();
            glob.map(|glob| glob.compile_matcher())
                .with_context(|| format!("`{text}` is not a glob; write for instance `src/*.rs`"))
        };
        let literal = !text.contains(['*', '?', '[', '{']);
        let beneath = if literal {
            Some(compile(&format!("{}/*", text.trim_end_matches('/')))?)
        } else {
            None
        };
        Ok(Pattern {
            whole: compile(&text)?,
            beneath,
            everything: !text.is_empty() && text.chars().all(|c| c == '*'),
        })
    }

    /// Does it fit the directory of a crate, with its version or without?
    fn fits_crate(&self, directory: &str) -> bool {
        let directory = directory.replace('_', "-");
        self.matches(&directory) || self.matches(crate_name(&directory))
    }

    fn matches(&self, path: &str) -> bool {
        self.whole.is_match(path)
            || self
                .beneath
                .as_ref()
                .is_some_and(|glob| glob.is_match(path))
    }
}

fn patterns(globs: &[String]) -> anyhow::Result<Vec<Pattern>> {
    globs.iter().map(|glob| Pattern::new(glob)).collect()
}

impl Scope {
    /// The scope of the given globs; empty lists mean the defaults.
    ///
    /// # Errors
    /// A glob that cannot be read.
    pub fn new(
        source_include: &[String],
        source_exclude: &[String],
        binary_include: &[String],
    ) -> anyhow::Result<Scope> {
        let (main, binaries): (Vec<_>, Vec<_>) = binary_include
            .iter()
            .cloned()
            .partition(|glob| glob == MAIN);
        Ok(Scope {
            include: patterns(source_include)?,
            exclude: patterns(source_exclude)?,
            binaries: patterns(&binaries)?,
            names_main: !main.is_empty(),
            ..Scope::default()
        })
    }

    /// Selects units of this kind.
    #[must_use]
    pub fn with_unit(self, unit: Unit) -> Scope {
        Scope { unit, ..self }
    }

    /// Takes in fetched crates by name, besides what is in scope otherwise.
    ///
    /// # Errors
    /// A glob that cannot be read.
    pub fn with_crates(self, crates: &[String]) -> anyhow::Result<Scope> {
        // Packages are named with `-`, their code with `_`.
        let crates: Vec<String> = crates.iter().map(|name| name.replace('_', "-")).collect();
        let crates = patterns(&crates)?;
        Ok(Scope { crates, ..self })
    }

    /// Only functions whose readable name one of the first list fits, and none of the second;
    /// regular expressions.
    ///
    /// # Errors
    /// An expression that cannot be read.
    pub fn with_functions(self, include: &[String], exclude: &[String]) -> anyhow::Result<Scope> {
        let compile = |list: &[String]| -> anyhow::Result<Vec<Regex>> {
            let compiled = list.iter().map(|text| {
                Regex::new(text).with_context(|| {
                    format!("`{text}` is not a regular expression; write for instance `^parse_`")
                })
            });
            compiled.collect()
        };
        Ok(Scope {
            functions: compile(include)?,
            not_functions: compile(exclude)?,
            ..self
        })
    }

    /// No binaries that fit these globs.
    ///
    /// # Errors
    /// A glob that cannot be read.
    pub fn without_binaries(self, exclude: &[String]) -> anyhow::Result<Scope> {
        let not_binaries = patterns(exclude)?;
        Ok(Scope {
            not_binaries,
            ..self
        })
    }

    /// Source files lie elsewhere than debug information says: FROM=TO.
    ///
    /// # Errors
    /// A rule that cannot be read.
    pub fn with_source_map(self, rules: &[String]) -> anyhow::Result<Scope> {
        let directory = std::env::current_dir().unwrap_or_default();
        let source_map = SourceMap::new(rules, &directory)?;
        Ok(Scope { source_map, ..self })
    }

    /// Where a source file lies here, if a rule says so.
    pub(super) fn mapped(&self, path: &str) -> Option<String> {
        self.source_map.mapped(path)
    }

    /// Only what runs beneath this function, by its name or a glob.
    #[must_use]
    pub fn beneath(self, function: Option<&str>) -> Scope {
        let under = function.map(Caller::new);
        Scope { under, ..self }
    }

    /// What experiments select.
    pub(super) fn unit(&self) -> Unit {
        self.unit
    }

    /// The function that samples must be beneath.
    pub(super) fn under(&self) -> Option<&Caller> {
        self.under.as_ref()
    }

    /// Why a function of this readable name is out of scope, if it is.
    pub(super) fn function_rule(&self, name: &str) -> Option<Rule> {
        let fits = |list: &[Regex]| list.iter().any(|regex| regex.is_match(name));
        if fits(&self.not_functions) {
            return Some(Rule::FunctionExclude);
        }
        let missing = !self.functions.is_empty() && !fits(&self.functions);
        missing.then_some(Rule::Function)
    }

    /// Do functions' names matter at all?
    pub(super) fn judges_functions(&self) -> bool {
        !(self.functions.is_empty() && self.not_functions.is_empty())
    }

    /// Why a source file is out of scope, if it is. `path` is absolute if that is known, `display` is as shown.
    ///
    /// The user's globs do not reach into places outside (the system, the standard library,
    /// cargo's checkouts) by accident: `%/src/%` fits every crate there is. A file of such a place
    /// counts only if a glob needs the *name* of the place to match, or is a bare `%`.
    pub(super) fn source_rule(&self, path: &str, display: &str) -> Option<Rule> {
        if path.starts_with('<') {
            return Some(Rule::NoLine);
        }
        let excluded = |p: &Pattern| p.matches(path) || p.matches(display);
        if self.exclude.iter().any(excluded) {
            return Some(Rule::SourceExclude);
        }
        let foreign = Foreign::of(path);
        let rule = foreign.as_ref().map(Foreign::rule);
        if let Some(Rule::Crate(name)) = &rule
            && self.crates.iter().any(|glob| glob.fits_crate(name))
        {
            return None;
        }
        if self.include.is_empty() {
            return rule;
        }
        let included = self.include.iter().any(|pattern| {
            let fits = pattern.matches(path) || pattern.matches(display);
            let by_accident = foreign.as_ref().is_some_and(|foreign| {
                pattern.matches(foreign.inner)
                    || pattern.matches(foreign.inner.trim_start_matches('/'))
            });
            fits && (!by_accident || pattern.everything)
        });
        (!included).then(|| rule.unwrap_or(Rule::SourceScope))
    }

    /// Is the binary in scope?
    pub(super) fn has_binary(&self, path: &Path, is_main: bool) -> bool {
        let whole = path.to_string_lossy();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let excluded = |p: &Pattern| p.matches(&whole) || p.matches(&name);
        if self.not_binaries.iter().any(excluded) {
            return false;
        }
        if self.binaries.is_empty() {
            return is_main;
        }
        (is_main && self.names_main)
            || self
                .binaries
                .iter()
                .any(|p| p.matches(&whole) || p.matches(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(include: &[&str], exclude: &[&str], binaries: &[&str]) -> Scope {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        Scope::new(&owned(include), &owned(exclude), &owned(binaries)).unwrap()
    }
    fn has_source(scope: &Scope, path: &str, display: &str) -> bool {
        scope.source_rule(path, display).is_none()
    }
    const CRATE: &str =
        "/home/me/.cargo/registry/src/index-0123456789abcdef/flate2-1.0.3/src/mem.rs";
    const CORE: &str = "/rustc/59807616e1a8f8b1/library/core/src/iter/range.rs";

    #[test]
    fn by_default_the_users_files_and_only_those() {
        let scope = scope(&[], &[], &[]);
        for mine in [
            "/home/me/app/src/main.rs",
            "/usr/src/app/main.c",
            "src/main.c",
            "/home/me/registry/src/main.c",
            "/home/me/git/checkouts/app/main.c",
        ] {
            assert!(has_source(&scope, mine, mine), "{mine}");
        }
        for foreign in [
            CRATE,
            CORE,
            "/usr/include/c++/12/bits/stl_algo.h",
            "/usr/src/rustc-1.63.0/library/core/src/ptr/mod.rs",
            "/home/me/.rustup/toolchains/stable/lib/rustlib/src/rust/library/std/src/io.rs",
            "/home/me/.cargo/git/checkouts/serde-0123456789abcdef/1a2b3c4/src/de.rs",
            "/rust/deps/gimli-0.32.3/src/read/unit.rs",
            "/home/me/coz-rs/progress-points/src/abi.rs",
            "<artificial>",
        ] {
            assert!(!has_source(&scope, foreign, foreign), "{foreign}");
        }
        assert!(scope.has_binary(Path::new("/x/app"), true));
        assert!(!scope.has_binary(Path::new("/x/libz.so"), false));
    }

    #[test]
    fn a_glob_reaches_a_foreign_place_only_by_its_name() {
        for (glob, wanted) in [
            ("%/src/%", false),
            ("%.rs", false),
            ("%/flate2-%", true),
            ("%/registry/%", true),
            ("%", true),
            ("**", true),
        ] {
            assert_eq!(
                has_source(&scope(&[glob], &[], &[]), CRATE, CRATE),
                wanted,
                "{glob}"
            );
        }
        assert!(has_source(&scope(&["/rustc/%"], &[], &[]), CORE, CORE));
        assert!(!has_source(
            &scope(&["%core/src/iter%"], &[], &[]),
            CORE,
            CORE
        ));
    }

    #[test]
    fn a_crate_is_taken_in_by_its_name() {
        let names = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let with = |crates: &[&str]| scope(&[], &[], &[]).with_crates(&names(crates)).unwrap();
        for (crates, wanted) in [
            (vec!["flate2"], true),
            (vec!["flate2-1.0.3"], true),
            (vec!["fl%"], true),
            (vec!["flate"], false),
            (vec!["flate2-1.0.4"], false),
        ] {
            assert_eq!(
                has_source(&with(&crates), CRATE, CRATE),
                wanted,
                "{crates:?}"
            );
        }
        assert!(has_source(
            &with(&["flate2"]),
            "/home/me/app/src/main.rs",
            "src/main.rs"
        ));
        assert!(!has_source(&with(&["%"]), CORE, CORE));
        let git = "/h/.cargo/git/checkouts/tokio-util-0123456789abcdef/1a2b3c4/src/a.rs";
        assert!(has_source(&with(&["tokio_util"]), git, git));
        assert_eq!(
            scope(&[], &[], &[]).source_rule(CRATE, CRATE),
            Some(Rule::Crate("flate2-1.0.3".to_owned()))
        );
        assert_eq!(crate_name("md-5-0.10.6"), "md-5");
        assert_eq!(crate_name("base64ct"), "base64ct");
    }

    #[test]
    fn functions_are_judged_by_regular_expressions() {
        let names = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let scope = scope(&[], &[], &[])
            .with_functions(&names(&["^parse", "::run$"]), &names(&["slow"]))
            .unwrap();
        assert_eq!(scope.function_rule("parse_fast"), None);
        assert_eq!(scope.function_rule("app::run"), None);
        assert_eq!(
            scope.function_rule("parse_slow"),
            Some(Rule::FunctionExclude)
        );
        assert_eq!(scope.function_rule("main"), Some(Rule::Function));
        assert!(
            Scope::default()
                .with_functions(&names(&["("]), &[])
                .is_err()
        );
    }

    #[test]
    fn globs_match_shown_paths_directories_and_binaries() {
        let mine = ("/home/me/app/src/main.rs", "src/main.rs");
        assert!(has_source(&scope(&["src/*.rs"], &[], &[]), mine.0, mine.1));
        assert!(has_source(&scope(&["src"], &[], &[]), mine.0, mine.1));
        assert!(has_source(
            &scope(&["/home/me/app/"], &[], &[]),
            mine.0,
            mine.1
        ));
        assert!(!has_source(&scope(&["sr"], &[], &[]), mine.0, mine.1));
        assert!(!has_source(&scope(&[], &["%main.rs"], &[]), mine.0, mine.1));
        let libraries = scope(&[], &[], &["libfoo*"]);
        assert!(libraries.has_binary(Path::new("/x/libfoo.so.1"), false));
        assert!(!libraries.has_binary(Path::new("/x/app"), true));
        assert!(scope(&[], &[], &["libfoo*", "MAIN"]).has_binary(Path::new("/x/app"), true));
        assert!(Scope::new(&["a[".to_owned()], &[], &[]).is_err());
    }
}
