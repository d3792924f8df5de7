//! docs/what-is-understood.md names every function that the runtime defines, and every case that it
//! cites exists.

use std::process::Command;

use anyhow::Result;
use coz_rs_tests::build;

use super::stage::program;

fn cases(name: &str, words: &'static [&'static str]) -> Result<Vec<String>> {
    let output = Command::new(program(name, words)?).arg("--list").output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().map(str::to_owned).collect())
}

#[test]
fn the_table_of_functions_is_complete() -> Result<()> {
    let table = std::fs::read_to_string(build::root().join("docs/what-is-understood.md"))?;
    let exports = std::fs::read_to_string(build::root().join("runtime-preload/exports.txt"))?;
    let functions = exports
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned);
    let cases = [cases("wakes", &[])?, cases("openmp", &["-fopenmp"])?].concat();
    let missing: Vec<String> = functions
        .chain(cases)
        .filter(|name| !table.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    Ok(())
}
