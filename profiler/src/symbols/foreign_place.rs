//! Places of source files that are not the user's own: the system, the Rust standard library, and
//! crates that cargo fetched.

use super::left_out::Rule;

/// A place that is not the user's own.
///
/// `/usr/src` counts as the user's (containers keep their project there) unless it is the Rust
/// distribution's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Foreign<'p> {
    kind: ForeignKind<'p>,
    /// The path within that place.
    pub(super) inner: &'p str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ForeignKind<'p> {
    System,
    Standard,
    /// The directory of a fetched crate.
    Crate(&'p str),
}

impl<'p> Foreign<'p> {
    /// The place that `path` lies in, unless it is the user's own.
    pub(super) fn of(path: &'p str) -> Option<Foreign<'p>> {
        let standard = |inner: usize| {
            Some(Foreign {
                kind: ForeignKind::Standard,
                inner: &path[inner..],
            })
        };
        if path.starts_with("/usr/src/rustc") || path.starts_with("/usr/lib/rustlib/") {
            return standard("/usr".len());
        }
        if path.starts_with("/usr/") && !path.starts_with("/usr/src/") {
            return Some(Foreign {
                kind: ForeignKind::System,
                inner: &path["/usr".len()..],
            });
        }
        // The compiler's own, and the crates that the standard library is built from.
        for prefix in ["/rustc/", "/rust/deps/"] {
            if let Some(rest) = path.strip_prefix(prefix) {
                return standard(path.len() - rest.len() + rest.find('/').unwrap_or(rest.len()));
            }
        }
        if let Some(at) = path.find("/lib/rustlib/") {
            return standard(at + "/lib/rustlib".len());
        }
        cargo_crate(path, "/registry/src/", false)
            .or_else(|| cargo_crate(path, "/git/checkouts/", true))
            .or_else(|| markers(path))
    }

    /// The rule that leaves it out.
    pub(super) fn rule(&self) -> Rule {
        match self.kind {
            ForeignKind::System => Rule::System,
            ForeignKind::Standard => Rule::Standard,
            ForeignKind::Crate(directory) => Rule::Crate(directory.to_owned()),
        }
    }
}

/// `…/registry/src/INDEX-HASH/CRATE/inner` and `…/git/checkouts/REPOSITORY-HASH/REVISION/inner`:
/// the 16 hexadecimal digits tell cargo's directories from a user's own of that name.
fn cargo_crate<'p>(path: &'p str, marker: &str, in_git: bool) -> Option<Foreign<'p>> {
    let after = path.find(marker)? + marker.len();
    let mut parts = path[after..].splitn(3, '/');
    let (first, second) = (parts.next()?, parts.next()?);
    let (name, hash) = first.rsplit_once('-')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then_some(Foreign {
        kind: ForeignKind::Crate(if in_git { name } else { second }),
        inner: &path[after + first.len() + 1 + second.len()..],
    })
}

/// The code of our own progress points, wherever it lies: a visit costs its caller the time.
fn markers(path: &str) -> Option<Foreign<'_>> {
    const PLACE: &str = "/progress-points/src/";
    let at = path.find(PLACE)?;
    Some(Foreign {
        kind: ForeignKind::Crate("progress-points"),
        inner: &path[at + PLACE.len() - 1..],
    })
}

/// Does `path` lie in a place that is the user's own?
pub(super) fn is_users(path: &str) -> bool {
    !path.starts_with('<') && Foreign::of(path).is_none()
}

/// `flate2` of `flate2-1.0.3`.
pub(super) fn crate_name(directory: &str) -> &str {
    let version = directory.match_indices('-').find(|(at, _)| {
        let after = &directory[at + 1..];
        let number = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        number > 0 && after[number..].starts_with('.')
    });
    version.map_or(directory, |(at, _)| &directory[..at])
}
