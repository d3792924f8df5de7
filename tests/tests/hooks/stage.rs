//! A controller without experiments: greets programs, puts one window in force, waits for the end.

use std::ffi::OsStr;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use coz_rs::clock::now;
use coz_rs::launch::preload_library;
use coz_rs::private_directory::PrivateDirectory;
use coz_rs::symbols::HitRanges;
use coz_rs::targets::greeting_server::{GreetingServer, Terms};
use coz_rs::targets::shared_region::PlanToPublish;
use coz_rs::targets::target::{Sampler, Target};
use coz_rs_runtime_preload::handshake::SOCKET_ENV;
use coz_rs_runtime_preload::layout::{
    Counter, GlobalLedger, Header, MAX_THREADS, Region, ThreadSlot,
};
use coz_rs_tests::build;

/// Programs that hang are ended after this time.
const PATIENCE: Duration = Duration::from_secs(20);

/// What programs are told and given.
pub struct Stage {
    _directory: PrivateDirectory,
    library: PathBuf,
    server: GreetingServer,
}

/// A program that ended.
pub struct Played {
    /// Status and output.
    pub output: Output,
    /// All that greeted, in order.
    pub targets: Vec<Target>,
}

impl Played {
    /// Standard output, if the program ended well.
    pub fn text(&self) -> Result<String> {
        let error = String::from_utf8_lossy(&self.output.stderr);
        ensure!(
            self.output.status.success(),
            "{}: {error}",
            self.output.status
        );
        Ok(String::from_utf8(self.output.stdout.clone())?)
    }
}

impl Stage {
    /// With this sampler, and children followed or not.
    pub fn new(sampler: Sampler, no_follow: bool) -> Result<Stage> {
        let directory = PrivateDirectory::make()?;
        let terms = Terms {
            period: 997_000,
            sampler,
            fall_back: true,
            exclude_kernel: false,
            no_follow,
        };
        Ok(Stage {
            library: preload_library::install(directory.path())?,
            server: GreetingServer::start(directory.path(), terms, None)?,
            _directory: directory,
        })
    }

    /// Runs `program`; `plan` puts each target's window in force.
    pub fn play(
        &mut self,
        program: &Path,
        words: &[&str],
        plan: impl Fn(&Target),
    ) -> Result<Played> {
        let mut command = Command::new(program);
        command.args(words);
        self.play_command(&mut command, plan)
    }

    /// As [`Stage::play`].
    pub fn play_command(
        &mut self,
        command: &mut Command,
        plan: impl Fn(&Target),
    ) -> Result<Played> {
        let child = command
            .env("LD_PRELOAD", &self.library)
            .env(OsStr::new(SOCKET_ENV.to_str()?), self.server.path())
            .env("LEDGER", ledger_words())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {command:?}"))?;
        let mut targets = Vec::new();
        let mut watch = Watch(Some(child));
        let end = Instant::now() + PATIENCE;
        loop {
            for target in self.server.arrived() {
                plan(&target);
                targets.push(target);
            }
            for target in &targets {
                target.region.set_deadline(now() + 500_000_000);
            }
            if watch.has_ended()? && !self.server.is_greeting() {
                targets.extend(self.server.arrived());
                break;
            }
            ensure!(Instant::now() < end, "{command:?} hangs");
            std::thread::sleep(Duration::from_millis(1));
        }
        let output = watch.output()?;
        Ok(Played { output, targets })
    }
}

/// A window that changes nothing by itself: the program raises G.
pub fn quiet_window(target: &Target) {
    window(target, 0.0, &[]);
}

/// A window.
pub fn window(target: &Target, speedup: f64, ranges: &[(u64, u64)]) {
    let ranges = HitRanges {
        alone: ranges.to_vec(),
        ..HitRanges::default()
    };
    target.region.publish_plan(&PlanToPublish {
        window: 1,
        line: 1,
        speedup,
        ranges: &ranges,
        crowded: false,
    });
    target.region.set_deadline(now() + 500_000_000);
    target.region.set_active(true);
}

/// A child that is killed if the test gives up.
struct Watch(Option<Child>);

impl Watch {
    fn has_ended(&mut self) -> Result<bool> {
        match &mut self.0 {
            Some(child) => Ok(child.try_wait()?.is_some()),
            None => Ok(true),
        }
    }

    fn output(mut self) -> Result<Output> {
        let child = self.0.take().context("asked for twice")?;
        Ok(child.wait_with_output()?)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may have ended a moment ago.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Where in the region a program finds its ledger, as tests/programs/hooks/ledger.h reads it.
fn ledger_words() -> String {
    let words = [
        offset_of!(Region, counters),
        offset_of!(Region, header) + offset_of!(Header, active),
        offset_of!(Region, global) + offset_of!(GlobalLedger, g),
        offset_of!(Region, threads),
        size_of::<ThreadSlot>(),
        MAX_THREADS,
        offset_of!(ThreadSlot, excused),
        offset_of!(ThreadSlot, paused),
        offset_of!(Region, header) + offset_of!(Header, off),
        offset_of!(Region, global) + offset_of!(GlobalLedger, paused),
        offset_of!(Region, global) + offset_of!(GlobalLedger, samples),
    ];
    assert!(offset_of!(Counter, count) == 0 && offset_of!(ThreadSlot, tid) == 0);
    words.map(|word| word.to_string()).join(" ")
}

/// A program of tests/programs/hooks.
pub fn program(name: &str, words: &'static [&'static str]) -> Result<PathBuf> {
    build::program(&format!("hooks/{name}.c"), build::Compiler::C(words))
}
