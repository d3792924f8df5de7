//! Allocators and other libraries that stand where we stand.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use coz_rs_tests::build;
use coz_rs_tests::survival::{End, profiler, program};

/// Debian's names of the shared libraries.
const ALLOCATORS: [&str; 3] = [
    "libjemalloc.so.2",
    "libtcmalloc_minimal.so.4",
    "libmimalloc.so.2",
];

fn library(name: &str) -> Option<PathBuf> {
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.exists())
}

/// Runs the allocating program with a library preloaded by the user.
fn allocate(library: &Path) -> Result<()> {
    let path = program("allocating")?;
    let (mut command, _) = profiler("allocating", &[])?;
    command.arg("--").arg(&path);
    let plain = Command::new(&path).env("LD_PRELOAD", library).output()?;
    // Only the program is to have it: the profiler itself is not tested here.
    let mut shell = Command::new("timeout");
    shell
        .arg("60")
        .arg(command.get_program())
        .args(command.get_args());
    let output = shell.env("LD_PRELOAD", library).output()?;
    let (plain, mut found) = (End::from(&plain), End::from(&output));
    if found.code == Some(1) {
        found.code = Some(0);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(plain.said.starts_with("allocated "), "{plain:?}");
    assert_eq!(plain, found, "{}\n{errors}", library.display());
    Ok(())
}

#[test]
fn other_allocators_work_on() -> Result<()> {
    for name in ALLOCATORS {
        match library(name) {
            Some(library) => allocate(&library)?,
            None => println!("skipped: {name} is not installed"),
        }
    }
    Ok(())
}

fn shared(name: &str) -> Result<PathBuf> {
    build::program(
        &format!("survival/{name}.c"),
        coz_rs_tests::build::Compiler::C(&["-shared", "-fPIC", "-w"]),
    )
}

#[test]
fn an_allocator_that_locks_around_look_ups_does_not_hang() -> Result<()> {
    allocate(&shared("locking_allocator")?)
}

#[test]
fn libraries_that_bind_past_us_are_named() -> Result<()> {
    let library = shared("deeply_bound")?;
    let path = program("binds_deeply")?;
    let (mut command, _) = profiler("deep", &[])?;
    let output = command.arg("--").arg(&path).arg(&library).output()?;
    let (end, errors) = (End::from(&output), String::from_utf8_lossy(&output.stderr));
    assert_eq!(end.said, "the library worked\n", "{errors}");
    assert_eq!(end.code, Some(0), "{errors}");
    assert!(errors.contains("RTLD_DEEPBIND"), "{errors}");
    Ok(())
}

#[test]
fn a_sanitized_program_is_refused() -> Result<()> {
    let folder = build::output().join("sanitized");
    std::fs::create_dir_all(&folder)?;
    let source = folder.join("sanitized.c");
    std::fs::write(&source, "int main(void) { return 0; }")?;
    let mut tried = 0;
    for (compiler, sanitizer, name) in [
        ("gcc", "address", "AddressSanitizer"),
        ("gcc", "thread", "ThreadSanitizer"),
        ("clang", "address", "AddressSanitizer"),
    ] {
        let built = folder.join(format!("{compiler}-{sanitizer}"));
        let made = Command::new(compiler)
            .arg(format!("-fsanitize={sanitizer}"))
            .arg("-o")
            .arg(&built)
            .arg(&source)
            .output();
        if !made.is_ok_and(|made| made.status.success()) {
            println!("skipped: {compiler} has no {name} here");
            continue;
        }
        tried += 1;
        let output = Command::new(build::profiler()?)
            .args(["run", "--"])
            .arg(&built)
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(
            errors.contains(name) && errors.lines().count() == 1,
            "{errors}"
        );
    }
    println!("{tried} sanitizers tried");
    Ok(())
}

#[test]
fn a_debugger_or_strace_is_no_obstacle() -> Result<()> {
    let path = program("watchdog")?.display().to_string();
    let tracers: [(&str, &[&str]); 2] = [
        (
            "gdb",
            &[
                "-batch",
                "-ex",
                "set startup-with-shell off",
                "-ex",
                "run",
                "--args",
            ],
        ),
        ("strace", &["-f", "-o", "/dev/null"]),
    ];
    for (tracer, words) in tracers {
        if Command::new(tracer).arg("--version").output().is_err() {
            println!("skipped: {tracer} is not installed");
            continue;
        }
        let (mut command, profile) = profiler(tracer, &[])?;
        command
            .arg("--")
            .arg(tracer)
            .args(words)
            .arg(&path)
            .arg("700");
        let output = Command::new("timeout")
            .arg("60")
            .arg(command.get_program())
            .args(command.get_args())
            .output()
            .context("running it")?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        let stops = said.matches("received signal").count();
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{tracer}: {said}\n{errors}"
        );
        assert_eq!(stops, 0, "{tracer}: {said}\n{errors}");
        let profile = std::fs::read_to_string(&profile)?;
        assert!(
            profile.contains("traces process"),
            "{tracer}: {said}\n{errors}"
        );
    }
    Ok(())
}
