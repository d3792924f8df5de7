//! A trial: coz-rs itself is started under the runtime, and must answer.

use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use coz_rs_runtime_preload::handshake::SOCKET_ENV;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::finding::{Area, Finding};
use crate::launch::preload_library::{self, cache_directory, preload_value};
use crate::private_directory::PrivateDirectory;
use crate::run::PERIOD;
use crate::targets::greeting_server::{GreetingServer, Terms};
use crate::targets::target::{Sampler, Target};

/// How long the trial may take, ms.
const PATIENCE: u16 = 3000;

pub(super) fn check(exclude_kernel: bool) -> Vec<Finding> {
    match attempt(exclude_kernel) {
        Ok(findings) => findings,
        Err(error) => vec![Finding::bad(
            Area::Machine,
            "preload",
            format!("No program can be started under the runtime: {error:#}."),
            "look at the permissions of TMPDIR and of ~/.cache/coz-rs",
        )],
    }
}

fn attempt(exclude_kernel: bool) -> anyhow::Result<Vec<Finding>> {
    let private = PrivateDirectory::make()?;
    let library = preload_library::install(private.path())?;
    let terms = Terms {
        period: PERIOD,
        sampler: Sampler::Sigtrap,
        fall_back: true,
        exclude_kernel,
        no_follow: false,
    };
    let mut server = GreetingServer::start(private.path(), terms, None)?;
    let ourselves = std::env::current_exe().context("finding ourselves")?;
    let output = Command::new(&ourselves)
        .arg("--version")
        .env("LD_PRELOAD", preload_value(&library, None))
        .env(SOCKET_ENV.to_str()?, server.path())
        .stdin(Stdio::null())
        .output()
        .context("starting ourselves")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let target = arrival(&mut server);
    Ok(vec![
        cache(&library, private.path()),
        answer(target.as_ref(), said.lines().next(), &library),
    ])
}

fn arrival(server: &mut GreetingServer) -> Option<Target> {
    let mut fds = [PollFd::new(server.as_fd(), PollFlags::POLLIN)];
    // Interrupted or not: what has come is read.
    let _ = poll(&mut fds, PollTimeout::from(PATIENCE));
    server.arrived().pop()
}

fn answer(target: Option<&Target>, said: Option<&str>, library: &Path) -> Finding {
    match target {
        Some(target) if target.sampler != Sampler::None => Finding::good(
            Area::Machine,
            "preload",
            format!(
                "A program was started under the runtime and answered with the {} sampler.",
                target.sampler.name()
            ),
        ),
        Some(_) => Finding::bad(
            Area::Machine,
            "preload",
            "The runtime was loaded, but neither sampler could be started.",
            "free a real-time signal, or allow perf events",
        ),
        None => Finding::bad(
            Area::Machine,
            "preload",
            format!(
                "The runtime was not loaded: {}.",
                said.unwrap_or("the dynamic linker says nothing")
            ),
            format!(
                "put {} on a file system without noexec: set XDG_CACHE_HOME",
                library.display()
            ),
        ),
    }
}

fn cache(library: &Path, private: &Path) -> Finding {
    if !library.starts_with(private) {
        return Finding::good(
            Area::Machine,
            "cache-directory",
            format!("The runtime lies in {}.", library.display()),
        );
    }
    let directory = cache_directory().map_or_else(
        || "a cache directory".to_owned(),
        |path| path.display().to_string(),
    );
    Finding::doubtful(
        Area::Machine,
        "cache-directory",
        format!("{directory} cannot be used, so each run writes the runtime anew."),
        "make it a directory of your own that others may not write to, or set XDG_CACHE_HOME",
    )
}
