//! Whether the dynamic linker would load the program with the runtime in front: it is asked to
//! list what it would load, which runs nothing of the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::finding::{Area, Finding};
use crate::launch::executable::dynamic_linker;
use crate::launch::preload_library::{self, preload_value};
use crate::private_directory::PrivateDirectory;

/// What the dynamic linker says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Listing {
    /// Files that it would load.
    libraries: Vec<PathBuf>,
    /// Names that it does not find.
    missing: Vec<String>,
    /// What it complains of.
    complaint: Option<String>,
}

/// The finding, and the libraries that would be loaded.
pub(super) fn check(image: &Path) -> (Option<Finding>, Vec<PathBuf>) {
    let Some(linker) = dynamic_linker(image) else {
        return (None, Vec::new());
    };
    let Ok(private) = PrivateDirectory::make() else {
        return (None, Vec::new());
    };
    let Ok(library) = preload_library::install(private.path()) else {
        return (None, Vec::new());
    };
    let users = std::env::var_os("LD_PRELOAD");
    let output = Command::new(&linker)
        .arg("--list")
        .arg(image)
        .env("LD_PRELOAD", preload_value(&library, users.as_deref()))
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else {
        return (None, Vec::new());
    };
    let listing = read(
        &String::from_utf8_lossy(&output.stdout),
        &String::from_utf8_lossy(&output.stderr),
    );
    let finding = judge(&listing, &library, &linker);
    (Some(finding), listing.libraries)
}

fn read(output: &str, errors: &str) -> Listing {
    let mut listing = Listing::default();
    for line in output.lines() {
        let line = line.trim();
        let name = line.split(" => ").next().unwrap_or(line);
        if line.ends_with("not found") {
            listing.missing.push(name.to_owned());
            continue;
        }
        let target = line.split(" => ").last().unwrap_or(line);
        // The address follows in parentheses.
        let path = target.rsplit_once(" (").map_or(target, |(path, _)| path);
        if path.starts_with('/') {
            listing.libraries.push(PathBuf::from(path));
        }
    }
    listing.complaint = errors
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .map(str::to_owned);
    listing
}

fn judge(listing: &Listing, runtime: &Path, linker: &Path) -> Finding {
    if let Some(missing) = listing.missing.first() {
        return Finding::bad(
            Area::Program,
            "libraries",
            format!("The dynamic linker does not find {missing}, which the program needs."),
            "install it, or name its directory in LD_LIBRARY_PATH",
        );
    }
    if !listing.libraries.iter().any(|library| library == runtime) {
        let said = listing
            .complaint
            .as_deref()
            .unwrap_or("it does not say why");
        return Finding::bad(
            Area::Program,
            "libraries",
            format!("{} would not load the runtime: {said}.", linker.display()),
            "build the program for this system's glibc",
        );
    }
    Finding::good(
        Area::Program,
        "libraries",
        format!(
            "{} would load the runtime and {} libraries.",
            linker.display(),
            listing.libraries.len() - 1
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Outcome;

    const LIST: &str = "\tlinux-vdso.so.1 (0x00007ffc)\n\t/c/libcoz-rs-1.so (0x00007f)\n\
        \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
        \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";

    #[test]
    fn what_would_be_loaded_is_read() {
        let listing = read(LIST, "");
        assert_eq!(listing.libraries.len(), 3);
        let linker = Path::new("/lib64/ld.so");
        let good = judge(&listing, Path::new("/c/libcoz-rs-1.so"), linker);
        assert_eq!(good.outcome, Outcome::Good);
        let other = judge(&listing, Path::new("/c/other.so"), linker);
        assert_eq!(other.outcome, Outcome::Bad);
    }

    #[test]
    fn a_missing_library_is_named() {
        let listing = read(&format!("{LIST}\tlibgone.so.3 => not found\n"), "");
        let finding = judge(&listing, Path::new("/c/libcoz-rs-1.so"), Path::new("/l"));
        assert_eq!(finding.outcome, Outcome::Bad);
        assert!(finding.text.contains("libgone.so.3"), "{}", finding.text);
    }
}
