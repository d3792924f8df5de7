//! Builds the preloaded runtime and hands it to the binary that carries it.
//!
//! The runtime is one package with two builds: a plain library here, and a cdylib with
//! `--cfg coz_rs_preload` inside the program. The second has its own target directory, because
//! cargo locks the first while this script runs.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    let manifest_dir = Path::new(coz_rs_runtime_preload::MANIFEST_DIR);
    println!("cargo:rerun-if-changed=build.rs");
    for part in ["src", "Cargo.toml", "build.rs"] {
        let path = manifest_dir.join(part);
        if path.exists() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    let library = build(manifest_dir)?;
    let bytes = fs::read(&library)?;
    println!("cargo:rustc-env=COZ_RS_RUNTIME={}", library.display());
    println!("cargo:rustc-env=COZ_RS_RUNTIME_HASH={:016x}", fnv1a(&bytes));
    Ok(())
}

fn build(manifest_dir: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?).join("rt");
    let target = env::var("TARGET")?;
    // The packages are at hand, as the plain library was built from them; only a build without
    // a complete lock file has to ask the registry.
    let output = cargo(manifest_dir, &target, &out)
        .arg("--offline")
        .output()?;
    if !output.status.success() {
        let again = cargo(manifest_dir, &target, &out).output()?;
        if !again.status.success() {
            let text = String::from_utf8_lossy(&again.stderr);
            return Err(format!("the runtime does not build:\n{text}").into());
        }
    }
    let library = out
        .join(target)
        .join("release/libcoz_rs_runtime_preload.so");
    if library.is_file() {
        Ok(library)
    } else {
        Err(format!("cargo made no {}", library.display()).into())
    }
}

fn cargo(manifest_dir: &Path, target: &str, out: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What the outer build set for itself (clippy's driver, flags, profiles, coverage) must not
    // reach this one.
    for (name, _) in env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        let kept = ["CARGO", "CARGO_HOME"].contains(&name)
            || [
                "CARGO_NET_",
                "CARGO_HTTP_",
                "CARGO_REGISTR",
                "CARGO_SOURCE_",
            ]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        let outer = [
            "CARGO",
            "RUSTC",
            "RUSTFLAGS",
            "RUSTDOC",
            "CLIPPY_",
            "LLVM_PROFILE",
            "MAKEFLAGS",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix));
        if outer && !kept {
            cargo.env_remove(name);
        }
    }
    cargo
        .args([
            "rustc",
            "--lib",
            "--crate-type",
            "cdylib",
            "--release",
            "--quiet",
        ])
        .arg("--target")
        .arg(target)
        .arg("--target-dir")
        .arg(out)
        .arg("--manifest-path")
        .arg(manifest_dir.join("Cargo.toml"))
        .current_dir(manifest_dir)
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            "--cfg\x1fcoz_rs_preload\x1f-Cpanic=abort\x1f-Cforce-unwind-tables=yes",
        )
        .env("CARGO_PROFILE_RELEASE_LTO", "fat")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort");
    cargo
}

/// Names the library by its content, so that two versions of coz-rs never share a cached file.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
