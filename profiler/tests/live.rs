//! `coz-rs run --live` on a terminal of its own: it takes the whole screen and gives back the terminal
//! as it was, whether the program ends, the user ends it, or stops and continues it; what the program
//! prints comes out unchanged.

#![allow(clippy::unwrap_used, reason = "a test says by its panic what failed")]

#[path = "command/bench.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod bench;

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bench::{Bench, send};
use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

struct Terminal {
    master: File,
    slave: OwnedFd,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn new() -> Terminal {
        let size = Winsize {
            ws_row: 30,
            ws_col: 110,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pair = openpty(Some(&size), None).unwrap();
        let master = File::from(pair.master);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, all) = (master.try_clone().unwrap(), Arc::clone(&seen));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                all.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Terminal {
            master,
            slave: pair.slave,
            seen,
        }
    }

    /// Starts `coz-rs run --live` as a terminal's foreground job.
    fn start(&self, bench: &Bench, arguments: &[&str]) -> Child {
        let stream = || Stdio::from(self.slave.try_clone().unwrap());
        // Tests started in the background by a shell ignore SIGINT, and the program would, too.
        Command::new("env")
            .args(["--default-signal=INT", "setsid", "--ctty"])
            .args([env!("CARGO_BIN_EXE_coz-rs"), "run", "--live"])
            .args(arguments)
            .current_dir(bench.path("."))
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("NO_COLOR")
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .unwrap()
    }

    fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, what: &str, times: usize) {
        let begin = Instant::now();
        while self.seen().matches(what).count() < times {
            assert!(
                begin.elapsed() < Duration::from_secs(20),
                "no {what:?} in {} bytes",
                self.seen().len()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn echoes(&self) -> bool {
        let modes = tcgetattr(self.slave.as_fd()).unwrap();
        modes.local_flags.contains(LocalFlags::ECHO)
    }

    /// Resizes it as a window manager does.
    fn resize(&self, columns: u16) {
        let resized = Command::new("stty")
            .args(["cols", &columns.to_string()])
            .stdin(self.slave.try_clone().unwrap())
            .status();
        assert!(resized.unwrap().success());
    }

    /// What came after the view was left the last time.
    fn after_the_view(&self) -> String {
        let seen = self.seen();
        let (_, after) = seen.rsplit_once(LEAVE).unwrap();
        after.to_owned()
    }
}

#[test]
fn the_view_is_left_at_the_programs_end_and_its_output_follows_unchanged() {
    let bench = Bench::new("live-end");
    let program = bench.build("steady", &["-O2", "-g"]);
    let terminal = Terminal::new();
    let script = format!(
        "test -t 1 && test -t 2 && stty size <&1; printf '\\033[31mred\\033[0m\\n' >&2; {program} 3000"
    );
    let mut child = terminal.start(&bench, &["--", "sh", "-c", &script]);
    terminal.wait_for(ENTER, 1);
    terminal.wait_for("experiment", 1);
    assert!(
        !terminal.echoes(),
        "typed characters would disturb the view"
    );
    terminal.resize(70);
    assert!(child.wait().unwrap().success());
    terminal.wait_for("coz-rs plot", 1);
    assert!(terminal.echoes());
    let after = terminal.after_the_view();
    // It had a terminal of the same size.
    assert!(
        after.contains("30 110\r\n\x1b[31mred\x1b[0m\r\n"),
        "{after:?}"
    );
    let printed = after.find(" rounds\r\n").unwrap();
    assert!(printed < after.find("coz-rs: wrote").unwrap(), "{after:?}");
    let seen = terminal.seen();
    assert_eq!(seen.matches(ENTER).count(), 1);
    assert_eq!(seen.matches(LEAVE).count(), 1);
    assert!(seen.contains("\x1b[?25h"), "the cursor is hidden");
    // The terminal would type the answer into the program's input.
    assert!(!seen.contains("\x1b[6n"), "the terminal is asked something");
    let (before, _) = seen.split_once(LEAVE).unwrap();
    assert_eq!(
        before.matches("\x1b[2J").count(),
        2,
        "drawn anew when resized"
    );
}

#[test]
fn the_view_is_left_when_the_user_ends_the_program() {
    let bench = Bench::new("live-interrupt");
    let program = bench.build("steady", &["-O2", "-g"]);
    let mut terminal = Terminal::new();
    let mut child = terminal.start(&bench, &["--", &program, "60000"]);
    terminal.wait_for("round", 1);
    terminal.master.write_all(b"\x03").unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    terminal.wait_for(LEAVE, 1);
    assert!(terminal.echoes());
    assert!(bench.profile().records.len() > 2, "the profile is kept");
}

#[test]
fn the_view_is_left_while_the_user_stops_it() {
    let bench = Bench::new("live-stop");
    let program = bench.build("steady", &["-O2", "-g"]);
    let mut terminal = Terminal::new();
    let mut child = terminal.start(&bench, &["--", &program, "60000"]);
    terminal.wait_for(ENTER, 1);
    terminal.wait_for("Ctrl-C ends", 1);
    terminal.master.write_all(b"\x1a").unwrap();
    terminal.wait_for(LEAVE, 1);
    assert!(terminal.echoes());
    // The signal that stops it comes right after.
    std::thread::sleep(Duration::from_millis(200));
    send(&child, "CONT");
    terminal.wait_for(ENTER, 2);
    send(&child, "TERM");
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    terminal.wait_for(LEAVE, 2);
    assert!(terminal.echoes());
}

/// Ctrl-S: the profile is written all the same, and what is printed comes when the terminal goes on.
#[test]
fn a_terminal_that_stands_still_does_not_keep_the_profile() {
    let bench = Bench::new("live-stall");
    let program = bench.build("steady", &["-O2", "-g"]);
    let mut terminal = Terminal::new();
    let mut child = terminal.start(&bench, &["--", &program, "3000"]);
    terminal.wait_for("experiment", 1);
    terminal.master.write_all(b"\x13").unwrap();
    let whole = || {
        let text = std::fs::read_to_string(bench.path("profile.coz")).unwrap();
        text.contains("\"type\":\"samples\"")
    };
    let begin = Instant::now();
    while !whole() {
        assert!(begin.elapsed() < Duration::from_secs(30), "no samples");
        std::thread::sleep(Duration::from_millis(50));
    }
    terminal.master.write_all(b"\x11").unwrap();
    assert!(child.wait().unwrap().success());
    terminal.wait_for("coz-rs plot", 1);
    assert!(terminal.echoes());
    assert!(terminal.after_the_view().contains(" rounds\r\n"));
}

#[test]
fn without_a_terminal_it_says_so() {
    let bench = Bench::new("live-none");
    let output = bench
        .run(&["--live", "--", "true"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("--live draws on the terminal"), "{said}");
}
