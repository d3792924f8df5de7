//! Breakpoints of ours harm no program: signals, small stacks, children, its own traps and its death.

use anyhow::Result;
use coz_rs_tests::build;
use coz_rs_tests::survival::is_unharmed;

/// Options that put a breakpoint on a line of the program's common parts that is passed often.
fn options(sampler: &str) -> Result<Vec<String>> {
    let line = build::marked_line("survival/busy.h", "spin")?;
    let words = ["--progress-by", "breakpoint", "--progress", "--sampler"];
    let mut options: Vec<String> = words.map(str::to_owned).to_vec();
    options.insert(3, format!("spun=busy.h:{line}"));
    options.push(sampler.to_owned());
    Ok(options)
}

fn unharmed(name: &str, words: &[&str]) -> Result<()> {
    for sampler in ["sigtrap", "timer"] {
        let options = options(sampler)?;
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let said = is_unharmed(name, words, &options)?;
        anyhow::ensure!(said.contains("counted by breakpoints"), "{said}");
    }
    Ok(())
}

#[test]
fn its_own_traps_reach_its_own_handler() -> Result<()> {
    unharmed("signals", &["trap"])
}

#[test]
fn no_wait_is_interrupted_and_the_smallest_stacks_suffice() -> Result<()> {
    unharmed("signals", &["eintr"])?;
    unharmed("signals", &["stacks"])
}

#[test]
fn it_dies_by_its_own_signal() -> Result<()> {
    for how in ["segv", "int3", "5"] {
        unharmed("signals", &["die", how])?;
    }
    Ok(())
}
