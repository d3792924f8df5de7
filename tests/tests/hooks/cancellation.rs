//! Cancellation works in every hook that waits, with the program's cleanup handlers.

use anyhow::Result;
use coz_rs::targets::target::Sampler;

use super::stage::{Stage, program, quiet_window};

#[test]
fn a_cancelled_thread_cleans_up_and_owes_nothing() -> Result<()> {
    let program = program("cancelled", &[])?;
    let mut stage = Stage::new(Sampler::None, true)?;
    let list = std::process::Command::new(&program)
        .arg("--list")
        .output()?;
    let list = String::from_utf8(list.stdout)?;
    let mut wrong = Vec::new();
    for case in list.lines() {
        let text = stage
            .play(&program, &[case], quiet_window)
            .and_then(|played| played.text());
        let good = match &text {
            Ok(text) => {
                let words: Vec<&str> = text.split_whitespace().collect();
                let cleanups = if case == "cond_wait" { "2" } else { "1" };
                let paused: f64 = words[3].parse()?;
                // The canceller's 30 ms and nobody else's, or none where nobody owes.
                let expected = if case == "sem_wait_late" {
                    0.0..0.001
                } else {
                    27.0..45.0
                };
                let later: f64 = words[5].parse()?;
                words[1] == cleanups && expected.contains(&paused) && later == 0.0
            }
            Err(_) => false,
        };
        if !good {
            wrong.push(format!("{case}: {text:?}"));
        }
    }
    assert!(list.lines().count() > 5, "{list}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
