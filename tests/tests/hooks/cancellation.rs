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
        // A sleep may last longer on a busy machine; one that paid too much does so each time.
        let mut seen = Vec::new();
        let good = (0..3).any(|_| {
            let text = stage
                .play(&program, &[case], quiet_window)
                .and_then(|played| played.text());
            let good = text.as_ref().is_ok_and(|text| is_right(case, text));
            seen.push(text);
            good
        });
        if !good {
            wrong.push(format!("{case}: {seen:?}"));
        }
    }
    assert!(list.lines().count() > 5, "{list}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Whether a case says that all cleanups ran and who paid.
fn is_right(case: &str, text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok());
    let cleanups = if case == "cond_wait" { 2.0 } else { 1.0 };
    // The canceller's 30 ms and nobody else's, or none where nobody owes.
    let expected = if case == "sem_wait_late" {
        0.0..0.001
    } else {
        27.0..45.0
    };
    number(1) == Some(cleanups)
        && number(3).is_some_and(|paused| expected.contains(&paused))
        && number(5) == Some(0.0)
}
