//! Threads in any number, made and ended in any way.

use std::process::Command;

use anyhow::Result;
use coz_rs_tests::build;
use coz_rs_tests::survival::{End, is_unharmed, program};

#[test]
fn threads_are_made_and_ended_in_any_way() -> Result<()> {
    for sampler in ["sigtrap", "timer"] {
        is_unharmed("threads", &["kinds"], &["--sampler", sampler])?;
        is_unharmed("threads", &["main-exits"], &["--sampler", sampler])?;
    }
    Ok(())
}

#[test]
fn twelve_hundred_threads_live_at_once() -> Result<()> {
    let errors = is_unharmed("threads", &["many", "1200"], &[])?;
    assert!(!errors.contains("found no room"), "{errors}");
    Ok(())
}

#[test]
fn ten_thousand_threads_come_and_go() -> Result<()> {
    is_unharmed("threads", &["storm", "10000"], &[])?;
    Ok(())
}

#[test]
fn a_user_without_rights_needs_no_more_limits() -> Result<()> {
    // The built programs may lie where that user cannot go.
    let folder = std::env::temp_dir().join(format!("coz-rs-nobody-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    std::fs::copy(program("threads")?, folder.join("threads"))?;
    std::fs::copy(build::profiler()?, folder.join("coz-rs"))?;
    let chown = Command::new("chown")
        .args(["-R", "nobody"])
        .arg(&folder)
        .output()?;
    let able = Command::new("setpriv")
        .args(["--reuid=nobody", "--clear-groups", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !able || !chown.status.success() {
        println!("skipped: only root can become another user, with setpriv");
        return Ok(());
    }
    let line = build::marked_line("survival/busy.h", "hot")?;
    let script = format!(
        "ulimit -l 64 && ulimit -n 256 && cd {} && exec setpriv --reuid=nobody --clear-groups \
         env HOME=$PWD ./coz-rs run --warm-up 20ms --fixed-line busy.h:{line} -- ./threads many 400",
        folder.display()
    );
    let output = Command::new("sh").args(["-c", &script]).output()?;
    let end = End::from(&output);
    std::fs::remove_dir_all(&folder)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(end.code, Some(0 | 1)), "{end:?}\n{errors}");
    assert_eq!(end.said, "800 threads worked, sum 79800\n", "{errors}");
    Ok(())
}
