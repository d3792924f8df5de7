//! Which source files and which binaries a user calls his own.
//!
//! Globs match whole paths and cross slashes; Coz's `%` is `*`. Without any glob of the user the
//! scope is the main executable and every source file that is not of the system, the Rust standard
//! library or a crate fetched by cargo.

use std::path::Path;

use anyhow::Context as _;
use globset::{GlobBuilder, GlobMatcher};

/// The name that stands for the main executable among binary globs, as in Coz.
const MAIN: &str = "MAIN";

/// Rules that say which lines experiments may select.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    binaries: Vec<Pattern>,
    /// `MAIN` was among the binary globs.
    names_main: bool,
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
        })
    }

    /// Is the source file in scope? `path` is absolute if that is known, `display` is as shown.
    ///
    /// The user's globs do not reach into places outside (the system, the standard library,
    /// cargo's checkouts) by accident: `%/src/%` fits every crate there is. A file of such a place
    /// counts only if a glob needs the *name* of the place to match, or is a bare `%`.
    pub(super) fn has_source(&self, path: &str, display: &str) -> bool {
        if path.starts_with('<')
            || self
                .exclude
                .iter()
                .any(|p| p.matches(path) || p.matches(display))
        {
            return false;
        }
        let place = foreign_place(path);
        if self.include.is_empty() {
            return place.is_none();
        }
        self.include.iter().any(|pattern| {
            let fits = pattern.matches(path) || pattern.matches(display);
            let by_accident = place.is_some_and(|inner| {
                pattern.matches(&path[inner..])
                    || pattern.matches(path[inner..].trim_start_matches('/'))
            });
            fits && (!by_accident || pattern.everything)
        })
    }

    /// Is the binary in scope?
    pub(super) fn has_binary(&self, path: &Path, is_main: bool) -> bool {
        if self.binaries.is_empty() {
            return is_main;
        }
        let whole = path.to_string_lossy();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (is_main && self.names_main)
            || self
                .binaries
                .iter()
                .any(|p| p.matches(&whole) || p.matches(&name))
    }
}

/// Does `path` lie in a place that is the user's own?
pub(super) fn is_users(path: &str) -> bool {
    !path.starts_with('<') && foreign_place(path).is_none()
}

/// If `path` lies in a place that is not the user's own: where the path within that place begins.
///
/// `/usr/src` counts as the user's (containers keep their project there) unless it is the Rust
/// distribution's.
fn foreign_place(path: &str) -> Option<usize> {
    if path.starts_with("/usr/")
        && (!path.starts_with("/usr/src/") || path.starts_with("/usr/src/rustc"))
    {
        return Some("/usr".len());
    }
    if let Some(rest) = path.strip_prefix("/rustc/") {
        return Some(path.len() - rest.len() + rest.find('/').unwrap_or(rest.len()));
    }
    if let Some(at) = path.find("/lib/rustlib/") {
        return Some(at + "/lib/rustlib".len());
    }
    // The crates that the standard library is built from.
    if let Some(rest) = path.strip_prefix("/rust/deps/") {
        return Some(path.len() - rest.len() + rest.find('/').unwrap_or(rest.len()));
    }
    cargo_crate(path, "/registry/src/").or_else(|| cargo_crate(path, "/git/checkouts/"))
}

/// `…/registry/src/INDEX-HASH/CRATE/inner` and `…/git/checkouts/REPOSITORY-HASH/REVISION/inner`:
/// the 16 hexadecimal digits tell cargo's directories from a user's own of that name.
fn cargo_crate(path: &str, marker: &str) -> Option<usize> {
    let after = path.find(marker)? + marker.len();
    let mut parts = path[after..].splitn(3, '/');
    let (first, second) = (parts.next()?, parts.next()?);
    let hash = first.rsplit('-').next()?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then_some(after + first.len() + 1 + second.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(include: &[&str], exclude: &[&str], binaries: &[&str]) -> Scope {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        Scope::new(&owned(include), &owned(exclude), &owned(binaries)).unwrap()
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
            assert!(scope.has_source(mine, mine), "{mine}");
        }
        for foreign in [
            CRATE,
            CORE,
            "/usr/include/c++/12/bits/stl_algo.h",
            "/usr/src/rustc-1.63.0/library/core/src/ptr/mod.rs",
            "/home/me/.rustup/toolchains/stable/lib/rustlib/src/rust/library/std/src/io.rs",
            "/home/me/.cargo/git/checkouts/serde-0123456789abcdef/1a2b3c4/src/de.rs",
            "/rust/deps/gimli-0.32.3/src/read/unit.rs",
            "<artificial>",
        ] {
            assert!(!scope.has_source(foreign, foreign), "{foreign}");
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
                scope(&[glob], &[], &[]).has_source(CRATE, CRATE),
                wanted,
                "{glob}"
            );
        }
        assert!(scope(&["/rustc/%"], &[], &[]).has_source(CORE, CORE));
        assert!(!scope(&["%core/src/iter%"], &[], &[]).has_source(CORE, CORE));
    }

    #[test]
    fn globs_match_shown_paths_directories_and_binaries() {
        let mine = ("/home/me/app/src/main.rs", "src/main.rs");
        assert!(scope(&["src/*.rs"], &[], &[]).has_source(mine.0, mine.1));
        assert!(scope(&["src"], &[], &[]).has_source(mine.0, mine.1));
        assert!(scope(&["/home/me/app/"], &[], &[]).has_source(mine.0, mine.1));
        assert!(!scope(&["sr"], &[], &[]).has_source(mine.0, mine.1));
        assert!(!scope(&[], &["%main.rs"], &[]).has_source(mine.0, mine.1));
        let libraries = scope(&[], &[], &["libfoo*"]);
        assert!(libraries.has_binary(Path::new("/x/libfoo.so.1"), false));
        assert!(!libraries.has_binary(Path::new("/x/app"), true));
        assert!(scope(&[], &[], &["libfoo*", "MAIN"]).has_binary(Path::new("/x/app"), true));
        assert!(Scope::new(&["a[".to_owned()], &[], &[]).is_err());
    }
}
