//! The simulator for people: `cargo run --release -p coz-rs-tests --bin simulate -- [OPTION] [PROGRAM …]`.
//!
//! Prints how often the intervals of simulated profiles hold the truth. `--sessions N` (200) and
//! `--seconds S` (25) of each program, `--first-seed N` (0), `--lines` for each line's truth and mean prediction, `--places`
//! for every single one with its interval (tab-separated, in points); `--race` instead compares with
//! Coz's scheme how soon the right line is named and known to ±3 points.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use coz_rs_tests::simulation::coverage::{Coverage, Place, cover};
use coz_rs_tests::simulation::engine::USUAL;
use coz_rs_tests::simulation::program::{Program, all};
use coz_rs_tests::simulation::race::{Ranking, Settled, coz, ours, top};

/// Seconds that each scheme is followed for.
const OUR_HORIZON: f64 = 120.0;
const COZ_HORIZON: f64 = 1800.0;

fn main() -> Result<()> {
    let (mut sessions, mut first, mut seconds) = (200, 0, 25.0);
    let (mut race, mut lines, mut all_places) = (false, false, false);
    let mut names = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} needs a value"))
        };
        match word.as_str() {
            "--sessions" => sessions = value()?.parse()?,
            "--first-seed" => first = value()?.parse()?,
            "--seconds" => seconds = value()?.parse()?,
            "--race" => race = true,
            "--lines" => lines = true,
            "--places" => all_places = true,
            name if !name.starts_with('-') => names.push(name.to_owned()),
            other => bail!("{other}: not an option of the simulator"),
        }
    }
    let wanted = |program: &Program| names.is_empty() || names.iter().any(|n| program.name == n);
    let chosen: Vec<Program> = all().into_iter().filter(wanted).collect();
    if race {
        chosen
            .iter()
            .for_each(|program| run_race(program, sessions));
        return Ok(());
    }
    let mut total = Coverage::default();
    for program in &chosen {
        let mut places = Vec::new();
        let coverage = cover(program, USUAL, first..first + sessions, seconds, |place| {
            places.push(place)
        });
        println!("{:<18} {coverage}", program.name);
        if lines {
            show_lines(&places);
        }
        if all_places {
            places.iter().for_each(|place| show_place(program, place));
        }
        total.add(&coverage);
    }
    println!("{:<18} {total}", "all");
    Ok(())
}

/// Program, line, speedup, truth, prediction and its interval, in points.
fn show_place(program: &Program, place: &Place) {
    print!("{}\t{}", program.name, place.line);
    for value in [
        place.speedup,
        place.truth,
        place.gain,
        place.low,
        place.high,
    ] {
        print!("\t{:.3}", 100.0 * value);
    }
    println!();
}

/// Truth and mean prediction of each line at each speedup, in points.
fn show_lines(places: &[Place]) {
    let mut by_place: BTreeMap<(usize, u32), (f64, f64, f64)> = BTreeMap::new();
    for place in places {
        let percent = (place.speedup * 100.0).round() as u32;
        let sum = by_place.entry((place.line, percent)).or_default();
        *sum = (place.truth, sum.1 + place.gain, sum.2 + 1.0);
    }
    for ((line, percent), (truth, sum, count)) in by_place {
        println!(
            "    line {line} at {percent:>2} %: truth {:>6.2}, predicted {:>6.2}",
            100.0 * truth,
            100.0 * sum / count
        );
    }
}

fn run_race(program: &Program, sessions: u64) {
    let top = top(program);
    println!(
        "{}: line {} gains {:.1} points at 50 %",
        program.name,
        top.line,
        top.gain * 100.0
    );
    let show = |name: &str, horizon: f64, all: &[Settled]| {
        println!(
            "  {name:<22} named {}, known {}",
            median(all.iter().map(|one| one.named), horizon),
            median(all.iter().map(|one| one.known), horizon)
        );
    };
    let settled: Vec<Settled> = (0..sessions)
        .map(|seed| ours(program, USUAL, top, seed, OUR_HORIZON))
        .collect();
    show("coz-rs", OUR_HORIZON, &settled);
    for (name, ranking) in [
        ("Coz's, by slope", Ranking::Slope),
        ("Coz's, by maximum", Ranking::Maximum),
    ] {
        let settled: Vec<Settled> = (0..sessions)
            .map(|seed| coz(program, USUAL, top, ranking, seed, COZ_HORIZON))
            .collect();
        show(name, COZ_HORIZON, &settled);
    }
}

/// Median and nine tenths of the times, those that never settled counting as the horizon.
fn median(times: impl Iterator<Item = Option<f64>>, horizon: f64) -> String {
    let mut times: Vec<f64> = times.map(|time| time.unwrap_or(f64::INFINITY)).collect();
    times.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let index = ((times.len() as f64 - 1.0) * part).round() as usize;
        match times.get(index) {
            Some(time) if time.is_finite() => format!("{time:.0} s"),
            _ => format!("> {horizon:.0} s"),
        }
    };
    format!("{} (nine of ten: {})", at(0.5), at(0.9))
}
