//! OpenMP compiled by gcc: waits of a team's members are understood, and programs without an OpenMP
//! runtime, or with one of a plug-in's own, are not disturbed.

use std::process::Command;

use anyhow::Result;
use coz_rs::targets::target::Sampler;
use coz_rs_tests::build;

use super::stage::{Stage, program, quiet_window};
use super::wakes::{is_excused, parse};

#[test]
fn members_of_a_team_are_excused_and_pay_before_they_wake() -> Result<()> {
    let program = program("openmp", &["-fopenmp"])?;
    let mut stage = Stage::new(Sampler::None, true)?;
    let list = Command::new(&program).arg("--list").output()?;
    let list = String::from_utf8(list.stdout)?;
    let mut wrong = Vec::new();
    for case in list.lines() {
        let mut command = Command::new(&program);
        command.arg(case).env("OMP_WAIT_POLICY", "passive");
        let played = stage.play_command(&mut command, quiet_window);
        let text = played.and_then(|played| played.text());
        match text {
            Ok(text) if is_excused(&parse(&text)?) => {}
            text => wrong.push(format!("{case}: {text:?}")),
        }
    }
    assert!(list.lines().count() > 8, "{list}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn a_plug_in_keeps_its_own_openmp_runtime() -> Result<()> {
    let folder = build::root().join("tests/programs/hooks");
    let plugin = build::output().join("openmp_plugin.so");
    std::fs::create_dir_all(build::output())?;
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-g", "-shared", "-fPIC", "-fopenmp", "-o"]);
    compiler.arg(&plugin).arg(folder.join("openmp_plugin.c"));
    build::succeed(&mut compiler)?;
    let host = program("openmp_host", &[])?;
    let mut stage = Stage::new(Sampler::None, true)?;
    let plugin = plugin.display().to_string();
    for in_window in [false, true] {
        let played = stage.play(&host, &[&plugin], |target| {
            if in_window {
                quiet_window(target);
            }
        })?;
        assert_eq!(played.text()?.trim(), "5000050000");
    }
    Ok(())
}
