//! The runtime that this binary carries, put where the dynamic linker can load it.
//!
//! Its name holds a hash of its content and it is renamed into place, so that other versions and
//! other runs at the same time never see half a file. `LD_PRELOAD` separates paths by spaces and
//! colons, so the path has neither.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The library's bytes.
static LIBRARY: &[u8] = include_bytes!(env!("COZ_RS_RUNTIME"));
const NAME: &str = concat!("libcoz-rs-", env!("COZ_RS_RUNTIME_HASH"), ".so");

/// The path to preload; `private` is a directory of this run's own, used if no cache can be.
///
/// # Errors
/// If the library can be written nowhere.
pub fn install(private: &Path) -> anyhow::Result<PathBuf> {
    if let Some(cache) = cache_directory()
        && can_be_preloaded(&cache)
        && let Ok(path) = install_in(&cache)
    {
        return Ok(path);
    }
    install_in(private).with_context(|| format!("writing the runtime into {}", private.display()))
}

/// The directory for what can be made again; nothing if the user has no home.
#[must_use]
pub fn cache_directory() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from)?;
        path.is_absolute().then_some(path)
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("coz-rs"))
}

fn can_be_preloaded(path: &Path) -> bool {
    let special = |byte: &u8| matches!(byte, b' ' | b':' | b'\t' | b'\n' | b'$');
    !path.as_os_str().as_bytes().iter().any(special)
}

/// Makes `directory` if need be and makes sure that nobody else can write into it.
///
/// # Errors
/// If it cannot be made, or is another user's, or others may write into it.
pub fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let metadata = std::fs::metadata(directory)?;
    if metadata.uid() != nix::unistd::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others may write into it",
        ));
    }
    Ok(())
}

fn install_in(directory: &Path) -> io::Result<PathBuf> {
    make_private(directory)?;
    let path = directory.join(NAME);
    if std::fs::metadata(&path).is_ok_and(|found| found.len() == LIBRARY.len() as u64) {
        return Ok(path);
    }
    let unfinished = directory.join(format!("{NAME}.{}", std::process::id()));
    let written = write_new(&unfinished).and_then(|()| std::fs::rename(&unfinished, &path));
    if written.is_err() {
        // Best effort: the error to tell is the first one.
        let _ = std::fs::remove_file(&unfinished);
    }
    written.map(|()| path)
}

fn write_new(path: &Path) -> io::Result<()> {
    let mut file: File = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o700)
        .open(path)?;
    file.write_all(LIBRARY)
}

/// The value of `LD_PRELOAD`: ours first, then what the user had.
#[must_use]
pub fn preload_value(library: &Path, users: Option<&OsStr>) -> std::ffi::OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(users) = users.filter(|users| !users.is_empty()) {
        value.push(":");
        value.push(users);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_library_is_whole_and_an_elf_file() {
        let private = std::env::temp_dir().join(format!("coz-rs-{}-install", std::process::id()));
        let path = install_in(&private).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), LIBRARY);
        assert!(LIBRARY.starts_with(b"\x7fELF"));
        std::fs::write(&path, b"half").unwrap();
        assert_eq!(
            std::fs::metadata(install_in(&private).unwrap())
                .unwrap()
                .len(),
            LIBRARY.len() as u64
        );
        assert_eq!(std::fs::read_dir(&private).unwrap().count(), 1);
        std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(install_in(&private).is_err());
        std::fs::remove_dir_all(private).unwrap();
    }

    #[test]
    fn the_users_own_preloads_stay_behind_ours() {
        let ours = Path::new("/c/lib.so");
        assert_eq!(preload_value(ours, None), "/c/lib.so");
        assert_eq!(
            preload_value(ours, Some(OsStr::new("a.so b.so"))),
            "/c/lib.so:a.so b.so"
        );
        assert!(!can_be_preloaded(Path::new("/home/a b")));
    }
}
