//! What the stories say of their lines, in short: direction and order, with bounds that hold on a
//! busy machine. `cargo run --release -p coz-rs-tests --bin stories` compares with real gains.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use coz_rs::demo_measurement::predicted;
use coz_rs_tests::stories::catalogue::forms;
use coz_rs_tests::stories::little::Latencies;
use coz_rs_tests::stories::profile;

/// Profiles are made one after another: two at once would share the processors.
static ALONE: Mutex<()> = Mutex::new(());

/// Tries, each with another seed and longer: the machine may be busy with something else.
const TRIES: [(&str, f64); 3] = [("1", 2.0), ("2", 4.0), ("3", 6.0)];

/// The gains with a line twice as fast, by line, satisfy `good` in one of the tries.
fn one_try_is_good(form: &str, good: impl Fn(&dyn Fn(&str) -> f64) -> bool) -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let forms = forms(&[form.to_owned()])?;
    let form = forms.first().context("a story of that name")?;
    let mut seen = Vec::new();
    for (seed, seconds) in TRIES {
        let profile = profile(form, seconds, &["--seed", seed])?;
        let told = |change| predicted(&profile, &form.sources, change, 0.5);
        let gains: BTreeMap<&str, f64> = form
            .changes
            .iter()
            .filter_map(|change| Some((change.line, told(change)?.gain)))
            .collect();
        // A comparison with NAN is false.
        if good(&|line| gains.get(line).copied().unwrap_or(f64::NAN)) {
            return Ok(());
        }
        seen.push(gains);
    }
    anyhow::bail!("{}: {seen:?}", form.name)
}

#[test]
fn the_recorders_hottest_line_matters_least() -> Result<()> {
    one_try_is_good("recorder (C)", |gain| {
        gain("scramble").max(gain("checksum")) > gain("generate") + 0.05
    })
}

#[test]
fn a_faster_kernel_pays_in_both_stages() -> Result<()> {
    one_try_is_good("combine", |gain| gain("sum").min(gain("product")) > 0.05)
}

#[test]
fn the_walk_through_full_buckets_pays() -> Result<()> {
    one_try_is_good("dedup (C)", |gain| gain("look-up") > 0.02)
}

#[test]
fn ranking_deserves_a_thread_and_extracting_does_not() -> Result<()> {
    one_try_is_good("ferret (C)", |gain| gain("rank") > gain("extract") + 0.05)
}

#[test]
fn nothing_waits_for_the_animation() -> Result<()> {
    one_try_is_good("animation", |gain| {
        gain("unpack").max(gain("index")) > gain("draw") + 0.05
    })
}

#[test]
fn page_accesses_pay() -> Result<()> {
    one_try_is_good("kvstore", |gain| gain("read") > 0.2)
}

#[test]
fn a_request_waits_for_rendering_and_not_for_statistics() -> Result<()> {
    one_try_is_good("server", |gain| {
        gain("render") > 0.05 && gain("render") > gain("statistics") + 0.05
    })
}

#[test]
fn what_a_task_does_in_no_thread_is_waited_for_too() -> Result<()> {
    one_try_is_good("server (tokio)", |gain| gain("render") > 0.2)
}

#[test]
fn latency_by_littles_law_is_what_the_servers_measure() -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let forms = forms(&["server".to_owned()])?;
    assert_eq!(forms.len(), 2);
    for form in forms {
        let mut seen = Vec::new();
        let good = TRIES.iter().any(|&(seed, _)| {
            seen.push(Latencies::of(&form, 3.0, &["--seed", seed]));
            // Windows that another program disturbed are left out of one of the two.
            let last = seen.last().and_then(|told| told.as_ref().ok());
            last.is_some_and(|told| told.difference().abs() < 0.2)
        });
        assert!(good, "{}: {seen:?}", form.name);
    }
    Ok(())
}
