//! C++ exceptions and cancellation pass through a hook that calls back into the program.

use std::process::Command;

use anyhow::Result;
use coz_rs::targets::target::Sampler;
use coz_rs_tests::build;

use super::stage::{Stage, quiet_window};

#[test]
fn an_exception_passes_through_call_once() -> Result<()> {
    let program = build::output().join("once_throws");
    std::fs::create_dir_all(build::output())?;
    let mut compiler = Command::new("c++");
    compiler.args(["-O2", "-g", "-pthread", "-o"]).arg(&program);
    compiler.arg(build::root().join("tests/programs/hooks/once_throws.cc"));
    build::succeed(&mut compiler)?;
    let mut stage = Stage::new(Sampler::None, true)?;
    let played = stage.play(&program, &[], quiet_window)?;
    assert_eq!(played.text()?, "not yet\nnot yet\ndone\nagain 1\n");
    Ok(())
}
