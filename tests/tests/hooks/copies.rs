//! Children of fork and its kin are unharmed, harm nobody, and are targets of their own.

use std::path::PathBuf;

use anyhow::Result;
use coz_rs::targets::target::{Sampler, Target};

use super::stage::{Stage, program, quiet_window};

fn copies() -> Result<PathBuf> {
    program("copies", &[])
}

/// Names and visits of a target's points.
fn points(target: &mut Target) -> Vec<(String, u64)> {
    target.find_points();
    let points = target.points.iter().enumerate();
    points
        .map(|(index, point)| (point.name.clone(), target.region.visits(index)))
        .collect()
}

fn named(points: &[(&str, u64)]) -> Vec<(String, u64)> {
    let own = |(name, visits): &(&str, u64)| ((*name).to_owned(), *visits);
    points.iter().map(own).collect()
}

/// Only the parent is in a window: a child that was in one, too, would be its parent's.
fn in_first(stage: &mut Stage, words: &[&str]) -> Result<Vec<Target>> {
    let first = std::cell::Cell::new(true);
    let played = stage.play(&copies()?, words, |target| {
        if first.replace(false) {
            quiet_window(target);
        }
    })?;
    played.text()?;
    Ok(played.targets)
}

#[test]
fn a_forked_child_is_a_target_of_its_own() -> Result<()> {
    let mut stage = Stage::new(Sampler::None, false)?;
    for words in [
        &["fork"][..],
        &["fork", "in a thread"],
        &["_Fork"],
        &["fork_by_number"],
        &["clone_by_number"],
    ] {
        let mut targets = in_first(&mut stage, words)?;
        let found: Vec<_> = targets.iter_mut().map(points).collect();
        let parent = named(&[("case", 0), ("parent", 3)]);
        let child = named(&[("case", 0), ("parent", 5), ("child", 2)]);
        assert_eq!(found, [parent, child], "{words:?}");
    }
    Ok(())
}

#[test]
fn a_forked_child_is_sampled_by_an_event_of_its_own() -> Result<()> {
    let mut stage = Stage::new(Sampler::Sigtrap, false)?;
    let targets = in_first(&mut stage, &["fork"])?;
    let [_, child] = &targets[..] else {
        anyhow::bail!("{} targets", targets.len());
    };
    if child.sampler != Sampler::Sigtrap {
        eprintln!("skipped: no perf events here (errno {})", child.perf_errno);
        return Ok(());
    }
    // The child burns CPU time until it has had that many.
    let samples = child.region.ledgers().samples;
    assert!(samples > 40, "{samples} samples");
    Ok(())
}

#[test]
fn a_child_that_is_not_followed_is_left_alone() -> Result<()> {
    let mut stage = Stage::new(Sampler::None, true)?;
    let mut targets = in_first(&mut stage, &["fork"])?;
    let found: Vec<_> = targets.iter_mut().map(points).collect();
    assert_eq!(found, [named(&[("case", 0), ("parent", 3)])]);
    Ok(())
}

#[test]
fn a_copy_that_nobody_announces_is_turned_off() -> Result<()> {
    let mut stage = Stage::new(Sampler::None, false)?;
    let first = std::cell::Cell::new(true);
    let played = stage.play(&copies()?, &["clone"], |target| {
        if first.replace(false) {
            quiet_window(target);
        }
    })?;
    played.text()?;
    assert_eq!(played.targets.len(), 1);
    Ok(())
}

#[test]
fn the_child_of_a_vfork_leaves_its_parents_ledger_alone() -> Result<()> {
    let mut stage = Stage::new(Sampler::None, false)?;
    in_first(&mut stage, &["vfork"])?;
    Ok(())
}

#[test]
fn programs_that_are_started_end_as_without_us() -> Result<()> {
    let mut stage = Stage::new(Sampler::None, false)?;
    in_first(&mut stage, &["programs"])?;
    Ok(())
}

#[test]
fn a_child_is_greeted_at_its_first_point_if_the_parent_has_none() -> Result<()> {
    let program = program("late_point", &[])?;
    let mut stage = Stage::new(Sampler::None, false)?;
    let mut played = stage.play(&program, &[], |_| {})?;
    played.text()?;
    let found: Vec<_> = played.targets.iter_mut().map(points).collect();
    assert_eq!(found, [named(&[]), named(&[("worker", 4)])]);
    Ok(())
}
