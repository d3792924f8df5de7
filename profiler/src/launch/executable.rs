//! What is about to be run, looked at before anything starts.
//!
//! The dynamic linker ignores or refuses a preloaded library for some executables (static,
//! 32-bit, set-user-id, musl). Such a run would look fine and learn nothing, so it is refused in
//! one sentence with the next command to try. Nothing here runs the file.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, ReadCache};
use thiserror::Error;

use super::sanitizer::sanitizer;

/// Scripts whose interpreter is a script, at most (the kernel allows 4 too).
const DEEPEST_SCRIPT: usize = 4;

/// Why a program cannot be profiled; the text ends in the next command to try.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No such file, or not in `PATH`.
    #[error(
        "{0}: no such program; give its path, for instance `coz-rs run -- ./target/release/app`"
    )]
    Missing(String),
    /// A directory, device or the like.
    #[error("{0} is not a regular file; give the path of the program itself")]
    NotAFile(String),
    /// No execute permission.
    #[error("{0} is not executable; try `chmod +x {0}`")]
    NotExecutable(String),
    /// The file could not be read.
    #[error("{path} cannot be read ({error}); try `ls -l {path}`")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// 32-bit.
    #[error("{0} is a 32-bit program and coz-rs profiles 64-bit ones; build it without -m32")]
    ThirtyTwoBit(String),
    /// Another processor.
    #[error(
        "{0} is built for another processor than x86-64, the only one so far; build it with \
         `--target x86_64-unknown-linux-gnu`"
    )]
    OtherProcessor(String),
    /// No dynamic linker.
    #[error(
        "{0} is statically linked, so nothing can be preloaded into it; link it dynamically \
         (C: without -static, Rust: `--target x86_64-unknown-linux-gnu` without crt-static)"
    )]
    Static(String),
    /// A C library other than glibc.
    #[error(
        "{path} uses {linker} and coz-rs needs glibc; build it for glibc \
         (Rust: `--target x86_64-unknown-linux-gnu`)"
    )]
    OtherLibc {
        /// The file.
        path: String,
        /// Its dynamic linker.
        linker: String,
    },
    /// The dynamic linker that it names does not exist.
    #[error("{path} needs {linker}, which does not exist here; try `file {path}`")]
    NoLinker {
        /// The file.
        path: String,
        /// Its dynamic linker.
        linker: String,
    },
    /// Runs with other rights than ours.
    #[error(
        "{0} changes its user, group or capabilities when it starts, and the system preloads \
         nothing into such programs; profile a copy without them: `cp {0} /tmp/ && coz-rs run -- \
         /tmp/{name}`", name = Path::new(.0).file_name().unwrap_or_default().display()
    )]
    Privileged(String),
    /// Built with a sanitizer, whose runtime must be loaded first.
    #[error(
        "{path} is built with {sanitizer}, which lets no other library come first and whose checks \
         are not the program's own time; build it without -fsanitize"
    )]
    Sanitized {
        /// The file.
        path: String,
        /// The sanitizer's name.
        sanitizer: &'static str,
    },
    /// Neither ELF nor a script.
    #[error("{0} is neither a Linux executable nor a script; try `file {0}`")]
    UnknownFormat(String),
}

/// A program that can be profiled.
#[derive(Debug, Clone)]
pub struct Executable {
    /// The file that the command names.
    pub path: PathBuf,
    /// The ELF file that runs first: the same, or the interpreter of a script.
    pub image: PathBuf,
}

impl Executable {
    /// Whether the command is a script.
    #[must_use]
    pub fn is_script(&self) -> bool {
        self.path != self.image
    }
}

/// Finds the program that `command` means and looks whether it can be profiled.
///
/// # Errors
/// The [`Refusal`], if not.
pub fn inspect(command: &OsStr) -> Result<Executable, Refusal> {
    let path = find(command)?;
    let mut image = path.clone();
    for _ in 0..=DEEPEST_SCRIPT {
        match interpreter(&image)? {
            None => return Ok(Executable { path, image }),
            Some(next) => image = find(next.as_os_str())?,
        }
    }
    Err(Refusal::UnknownFormat(show(&path)))
}

fn show(path: &Path) -> String {
    path.display().to_string()
}

/// The file that execvp(3) would run.
fn find(command: &OsStr) -> Result<PathBuf, Refusal> {
    let named = PathBuf::from(command);
    if command.as_bytes().contains(&b'/') {
        may_run(&named)?;
        return Ok(named);
    }
    let search = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/bin:/usr/bin"));
    let mut first_refusal = None;
    for directory in std::env::split_paths(&search) {
        let candidate = directory.join(&named);
        match may_run(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(Refusal::Missing(_)) => {}
            Err(refusal) => {
                first_refusal.get_or_insert(refusal);
            }
        }
    }
    Err(first_refusal.unwrap_or_else(|| Refusal::Missing(show(&named))))
}

fn may_run(path: &Path) -> Result<(), Refusal> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            Refusal::Missing(show(path))
        }
        _ => Refusal::Unreadable {
            path: show(path),
            error,
        },
    })?;
    if !metadata.is_file() {
        return Err(Refusal::NotAFile(show(path)));
    }
    access(path, AccessFlags::X_OK).map_err(|_| Refusal::NotExecutable(show(path)))
}

/// The interpreter if `path` is a script, nothing if it is an executable that can be profiled.
fn interpreter(path: &Path) -> Result<Option<PathBuf>, Refusal> {
    let unreadable = |error| Refusal::Unreadable {
        path: show(path),
        error,
    };
    let file = File::open(path).map_err(unreadable)?;
    let mut head = Vec::with_capacity(512);
    (&file)
        .take(512)
        .read_to_end(&mut head)
        .map_err(unreadable)?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let end = line.iter().position(|b| *b == b'\n').unwrap_or(line.len());
        let mut words = line[..end]
            .split(|b| matches!(b, b' ' | b'\t'))
            .filter(|word| !word.is_empty());
        let Some(word) = words.next() else {
            return Err(Refusal::UnknownFormat(show(path)));
        };
        return Ok(Some(PathBuf::from(OsString::from_vec(word.to_vec()))));
    }
    if !head.starts_with(&elf::ELFMAG) {
        // execvp(3) gives a text file without "#!" to the shell.
        let text = !head.is_empty() && !head.contains(&0);
        return if text {
            Ok(Some(PathBuf::from("/bin/sh")))
        } else {
            Err(Refusal::UnknownFormat(show(path)))
        };
    }
    if is_privileged(path, &file).map_err(unreadable)? {
        return Err(Refusal::Privileged(show(path)));
    }
    check_elf(path, &file, &head)?;
    Ok(None)
}

/// Whether the kernel would start it in secure-execution mode (ld.so(8)).
fn is_privileged(path: &Path, file: &File) -> std::io::Result<bool> {
    let metadata = file.metadata()?;
    let user = nix::unistd::geteuid();
    let group = nix::unistd::getegid();
    let other_user = metadata.mode() & 0o4000 != 0 && metadata.uid() != user.as_raw();
    let other_group = metadata.mode() & 0o2010 == 0o2010 && metadata.gid() != group.as_raw();
    Ok(other_user || other_group || (!user.is_root() && has_capabilities(path)))
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: two NUL-terminated strings; a null buffer of length 0 asks for the size only.
    let size = unsafe {
        libc::getxattr(
            name.as_ptr(),
            c"security.capability".as_ptr(),
            std::ptr::null_mut(),
            0,
        )
    };
    size > 0
}

/// The dynamic linker that an executable names; nothing if it names none, or is no executable.
#[must_use]
pub fn dynamic_linker(path: &Path) -> Option<PathBuf> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let header = FileHeader64::<Endianness>::parse(&cache).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, &cache).ok()?;
    let linker = segments
        .iter()
        .find_map(|segment| segment.interpreter(endian, &cache).ok().flatten())?;
    Some(PathBuf::from(OsStr::from_bytes(linker)))
}

fn check_elf(path: &Path, file: &File, head: &[u8]) -> Result<(), Refusal> {
    if head.get(4) == Some(&elf::ELFCLASS32.0) {
        return Err(Refusal::ThirtyTwoBit(show(path)));
    }
    let cache = ReadCache::new(file);
    let broken = || Refusal::UnknownFormat(show(path));
    let header = FileHeader64::<Endianness>::parse(&cache).map_err(|_| broken())?;
    let endian = header.endian().map_err(|_| broken())?;
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Err(Refusal::OtherProcessor(show(path)));
    }
    let segments = header
        .program_headers(endian, &cache)
        .map_err(|_| broken())?;
    let linker = segments
        .iter()
        .find_map(|segment| segment.interpreter(endian, &cache).ok().flatten());
    let Some(linker) = linker else {
        return Err(Refusal::Static(show(path)));
    };
    let linker = OsStr::from_bytes(linker);
    let shown = linker.to_string_lossy().into_owned();
    if shown.contains("musl") {
        return Err(Refusal::OtherLibc {
            path: show(path),
            linker: shown,
        });
    }
    if !Path::new(linker).exists() {
        return Err(Refusal::NoLinker {
            path: show(path),
            linker: shown,
        });
    }
    match sanitizer(&cache) {
        Some(sanitizer) => Err(Refusal::Sanitized {
            path: show(path),
            sanitizer,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("coz-rs-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        path
    }

    fn file(directory: &Path, name: &str, content: &[u8], mode: u32) -> PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn true_program() -> Vec<u8> {
        std::fs::read("/bin/true").unwrap()
    }

    #[test]
    fn a_script_leads_to_its_interpreter() {
        let dir = directory("script");
        let script = file(&dir, "s", b"#! /bin/sh -e\nexit 0\n", 0o755);
        let plain = file(&dir, "p", b"exit 0\n", 0o755);
        for path in [script, plain] {
            let found = inspect(path.as_os_str()).unwrap();
            assert!(found.is_script());
            assert_eq!(found.image, Path::new("/bin/sh"));
        }
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn each_hopeless_program_is_refused_with_its_reason() {
        let dir = directory("refused");
        let missing = inspect(dir.join("none").as_os_str());
        assert!(matches!(missing, Err(Refusal::Missing(_))), "{missing:?}");
        let data = file(&dir, "data", b"\x00\x01\x02", 0o755);
        assert!(matches!(
            inspect(data.as_os_str()),
            Err(Refusal::UnknownFormat(_))
        ));
        assert!(matches!(
            inspect(dir.as_os_str()),
            Err(Refusal::NotAFile(_))
        ));
        let mut bytes = true_program();
        let locked = file(&dir, "locked", &bytes, 0o644);
        assert!(matches!(
            inspect(locked.as_os_str()),
            Err(Refusal::NotExecutable(_))
        ));
        bytes[4] = 1;
        let narrow = file(&dir, "narrow", &bytes, 0o755);
        assert!(matches!(
            inspect(narrow.as_os_str()),
            Err(Refusal::ThirtyTwoBit(_))
        ));
        bytes[4] = 2;
        bytes[18] = 183;
        let other = file(&dir, "arm", &bytes, 0o755);
        assert!(matches!(
            inspect(other.as_os_str()),
            Err(Refusal::OtherProcessor(_))
        ));
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn without_an_interpreter_segment_it_is_static() {
        let dir = directory("static");
        let mut bytes = true_program();
        // Program headers: e_phoff at 32, e_phentsize at 54, e_phnum at 56 (System V ABI).
        let offset = u64::from_le_bytes(bytes[32..40].try_into().unwrap()) as usize;
        let count = u16::from_le_bytes(bytes[56..58].try_into().unwrap()) as usize;
        for segment in 0..count {
            let at = offset + segment * 56;
            if bytes[at..at + 4] == 3u32.to_le_bytes() {
                bytes[at..at + 4].copy_from_slice(&0u32.to_le_bytes());
            }
        }
        let path = file(&dir, "static", &bytes, 0o755);
        let refused = inspect(path.as_os_str());
        assert!(matches!(refused, Err(Refusal::Static(_))), "{refused:?}");
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_bare_name_is_searched_in_path() {
        let found = inspect(OsStr::new("true")).unwrap();
        assert!(found.path.is_absolute() && !found.is_script());
    }
}
