//! A directory to run `coz-rs` in, programs built for it, and the profile that comes out.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use coz_rs_plot::profile::Profile;

pub struct Bench {
    directory: PathBuf,
}

impl Bench {
    pub fn new(name: &str) -> Bench {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        Bench { directory }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub fn coz_rs(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coz-rs"));
        command.args(arguments).current_dir(&self.directory);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Command {
        let mut command = self.coz_rs(&["run"]);
        command.args(arguments);
        command
    }

    /// Builds a C program of this directory; where it is.
    pub fn build(&self, name: &str, flags: &[&str]) -> String {
        let source = format!("{}/tests/command/{name}.c", env!("CARGO_MANIFEST_DIR"));
        let program = self.path(name);
        let built = Command::new("cc")
            .args(flags)
            .args(["-pthread", "-o"])
            .arg(&program)
            .arg(source)
            .status()
            .unwrap();
        assert!(built.success());
        program.to_str().unwrap().to_owned()
    }

    pub fn profile(&self) -> Profile {
        Profile::read(self.path("profile.coz")).unwrap()
    }

    /// Waits until the profile holds a record of this type.
    pub fn wait_for_profile(&self, kind: &str) {
        let wanted = format!("\"type\":\"{kind}\"");
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(20) {
            let profile = std::fs::read_to_string(self.path("profile.coz"));
            if profile.is_ok_and(|profile| profile.contains(&wanted)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("no {kind} within 20 s");
    }
}

pub fn signal(output: &Output) -> Option<i32> {
    output.status.signal()
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill")
        .args(["-s", signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}
