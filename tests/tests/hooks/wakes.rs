//! For each function that waits: the thread that another one wakes is excused from what G grew
//! meanwhile and pays nothing, and the waker pays what it owes before it wakes. For ends that no
//! thread of the process brought about: no excuse, and the waiter pays before it goes on.

use anyhow::{Context as _, Result};
use coz_rs::targets::target::Sampler;

use super::stage::{Stage, program, quiet_window};

/// What the waker owes and the waiter is excused from, ms (`OWED` in the program).
const OWED: f64 = 30.0;

/// What a program says of one wait, ms.
pub struct Found {
    excused: f64,
    paused: f64,
    late: f64,
}

/// Reads what a program printed.
pub fn parse(text: &str) -> Result<Found> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |name: &str| -> Result<f64> {
        let at = words.iter().position(|word| *word == name);
        let word = at.and_then(|at| words.get(at + 1));
        Ok(word
            .with_context(|| format!("no {name} in {text}"))?
            .parse()?)
    };
    Ok(Found {
        excused: number("excused")?,
        paused: number("paused")?,
        late: number("late")?,
    })
}

/// Whether the waiter was excused and the waker paid first.
pub fn is_excused(found: &Found) -> bool {
    // A pause is cut short by the mean oversleep, and the waiter may have to run first.
    (OWED..OWED + 1.0).contains(&found.excused) && found.paused == 0.0 && found.late > OWED - 3.0
}

#[test]
fn who_is_woken_is_excused_and_who_wakes_pays_first() -> Result<()> {
    let program = program("wakes", &[])?;
    let mut stage = Stage::new(Sampler::None, true)?;
    let list = std::process::Command::new(&program)
        .arg("--list")
        .output()?;
    let list = String::from_utf8(list.stdout)?;
    let mut wrong = Vec::new();
    let mut cases = 0;
    for case in list.lines() {
        cases += 1;
        let text = match stage.play(&program, &[case], quiet_window) {
            Ok(played) => played.text(),
            Err(error) => Err(error),
        };
        let text = match text {
            Ok(text) => text,
            Err(error) => {
                wrong.push(format!("{case}: {error:#}"));
                continue;
            }
        };
        let found = parse(&text)?;
        let outside = case.starts_with("outside_") || case.starts_with("time_out_");
        let good = if outside {
            found.excused == 0.0 && found.paused > OWED - 3.0
        } else {
            is_excused(&found)
        };
        if !good {
            wrong.push(format!("{case}: {}", text.trim()));
        }
    }
    assert!(cases > 50, "{list}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
