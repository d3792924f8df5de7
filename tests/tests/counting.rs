//! Visits are counted exactly, however fast they come and whatever experiments do meanwhile.

use anyhow::{Context as _, Result, ensure};
use coz_rs_tests::build::{self, Compiler};
use coz_rs_tests::run;

/// How long the program runs, ms.
const TIME: u32 = 1500;

#[test]
fn two_threads_at_one_point_lose_no_visit() -> Result<()> {
    let program = build::program("counted.c", Compiler::C(&[]))?;
    let line = build::marked_line("counted.c", "hot")?;
    let fixed = format!("counted.c:{line}");
    for sampler in ["sigtrap", "timer"] {
        let options = [
            "-v",
            "--sampler",
            sampler,
            "--warm-up",
            "50ms",
            "--fixed-line",
            &fixed,
        ];
        let profiled = run::profiled(&options, &program, &[&TIME.to_string()])?;
        let said = profiled.stderr();
        let counted: u64 = String::from_utf8_lossy(&profiled.output.stdout)
            .trim()
            .parse()
            .with_context(|| said.clone())?;
        let found = said.split_once("visited `passed` ").and_then(|(_, rest)| {
            let number = rest.split_once(" times")?.0;
            number.parse::<u64>().ok()
        });
        ensure!(
            found == Some(counted),
            "{found:?} of {counted} visits\n{said}"
        );
        println!("{sampler}: {} visits a ms", counted / u64::from(TIME));
    }
    Ok(())
}
