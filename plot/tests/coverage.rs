//! Promise: 95 % intervals hold the truth in 93 to 97 % of the cases, and a line that does not
//! matter is flagged in 5 % at most; on simulated programs with known curves, seeded.

mod simulation;

use coz_rs_plot::estimates::{Verdict, analyse};
use coz_rs_plot::record::Record;
use simulation::{Line, Program, Random};

/// How noise differs between lines and speedups.
#[derive(Debug, Clone, Copy)]
enum Noise {
    Alike,
    GrowsWithSpeedup,
    DiffersByLine,
}

fn lines(random: &mut Random, count: usize, null: f64, noise: Noise) -> Vec<Line> {
    (0..count)
        .map(|number| {
            let matters = random.part() > null;
            let scale = match noise {
                Noise::Alike | Noise::GrowsWithSpeedup => 0.02,
                Noise::DiffersByLine => 0.02 * (1.2 * random.normal()).exp(),
            };
            let grown = if matches!(noise, Noise::GrowsWithSpeedup) {
                3.0
            } else {
                1.0
            };
            Line {
                location: format!("src/a.rs:{number}"),
                slope: if matters {
                    0.5 * random.part() - 0.05
                } else {
                    0.0
                },
                knee: if random.part() < 0.5 {
                    1.0
                } else {
                    0.2 + 0.8 * random.part()
                },
                after: 0.0,
                noise: (scale, scale * grown),
            }
        })
        .collect()
}

#[derive(Debug, Default)]
struct Score {
    levels: u32,
    levels_held: u32,
    curves: u32,
    curves_held: u32,
    nulls: u32,
    nulls_flagged: u32,
    half_widths: f64,
    /// Lines that gain more than 5 points at best, and those of them found worth it.
    worthy: u32,
    worth_it: u32,
}

impl Score {
    fn add(&mut self, other: &Score) {
        self.levels += other.levels;
        self.levels_held += other.levels_held;
        self.curves += other.curves;
        self.curves_held += other.curves_held;
        self.nulls += other.nulls;
        self.nulls_flagged += other.nulls_flagged;
        self.half_widths += other.half_widths;
        self.worthy += other.worthy;
        self.worth_it += other.worth_it;
    }
}

fn run(
    seeds: std::ops::Range<u64>,
    pairs: usize,
    lines_a_program: usize,
    null: f64,
    noise: Noise,
) -> Score {
    let mut score = Score::default();
    for seed in seeds {
        let mut random = Random::new(seed ^ 0x5eed);
        let lines = lines(&mut random, lines_a_program, null, noise);
        let mut program = Program::new(seed);
        for line in &lines {
            for speedup in [0.25, 0.5, 0.75, 1.0] {
                for _ in 0..pairs {
                    program.measure(line, speedup);
                }
            }
        }
        let analysis = analyse(&program.records);
        for estimate in &analysis.points[0].lines {
            let line = lines
                .iter()
                .find(|line| line.location == estimate.location)
                .expect("estimates are of measured lines");
            for level in &estimate.levels {
                score.levels += 1;
                score.levels_held +=
                    u32::from((level.low..=level.high).contains(&line.gain(level.speedup)));
            }
            for point in estimate
                .curve
                .iter()
                .flat_map(|curve| &curve.points)
                .skip(4)
                .step_by(4)
            {
                score.curves += 1;
                score.curves_held +=
                    u32::from((point.low..=point.high).contains(&line.gain(point.speedup)));
                score.half_widths += (point.high - point.low) / 2.0;
            }
            if line.gain(1.0) > 0.05 {
                score.worthy += 1;
                score.worth_it += u32::from(estimate.verdict == Verdict::WorthIt);
            }
            if line.slope == 0.0 {
                score.nulls += 1;
                let flagged = matches!(estimate.verdict, Verdict::WorthIt | Verdict::MakesItSlower);
                score.nulls_flagged += u32::from(flagged);
            }
        }
    }
    score
}

fn part(some: u32, all: u32) -> f64 {
    f64::from(some) / f64::from(all.max(1))
}

/// Each case of noise with few and many lines and pairs: 93 to 97 % over thousands of levels.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    for noise in [Noise::Alike, Noise::GrowsWithSpeedup, Noise::DiffersByLine] {
        let mut all = Score::default();
        for (lines, pairs) in [(2, 2), (2, 6), (6, 1), (6, 3), (30, 2), (30, 3), (30, 6)] {
            let score = run(0..600 / lines as u64, pairs, lines, 0.5, noise);
            // One shape of profile alone: 2,400 levels, but dependent ones.
            let levels = part(score.levels_held, score.levels);
            assert!(
                (0.92..0.98).contains(&levels),
                "{noise:?} {lines} {pairs}: {levels}"
            );
            all.add(&score);
        }
        let levels = part(all.levels_held, all.levels);
        let curves = part(all.curves_held, all.curves);
        assert!(all.levels > 10_000);
        assert!((0.93..0.97).contains(&levels), "{noise:?}: {levels}");
        // Curves average over knees and are a little too wide rather than too narrow.
        assert!((0.93..0.98).contains(&curves), "{noise:?}: {curves}");
    }
}

#[test]
fn a_line_that_does_not_matter_is_hardly_ever_flagged() {
    for noise in [Noise::Alike, Noise::GrowsWithSpeedup, Noise::DiffersByLine] {
        let mut all = Score::default();
        for null in [0.5, 1.0] {
            for (lines, pairs) in [(2, 2), (6, 1), (6, 3), (30, 2), (30, 6)] {
                all.add(&run(0..900 / lines as u64, pairs, lines, null, noise));
            }
        }
        let flagged = part(all.nulls_flagged, all.nulls);
        assert!(all.nulls > 5_000 && flagged <= 0.05, "{noise:?}: {flagged}");
    }
}

/// The cheap way to hold the truth is to be wide: with three pairs a level and windows of 2 %
/// noise a curve must be known to about 2 points.
#[test]
fn intervals_are_narrow_enough_to_decide() {
    let score = run(0..20, 3, 10, 0.5, Noise::Alike);
    let half = score.half_widths / f64::from(score.curves);
    assert!(half < 0.02, "{half}");
    let score = run(0..20, 2, 10, 0.0, Noise::Alike);
    assert!(part(score.worth_it, score.worthy) > 0.9, "{score:?}");
}

/// Windows that others disturbed are known by their threads' waiting, whatever their period was:
/// leaving them out costs no coverage, and keeping them would cost precision.
#[test]
fn disturbed_windows_neither_mislead_nor_widen() {
    let (mut levels, mut held, mut half, mut kept) = (0, 0, 0.0, 0.0);
    for seed in 0..150 {
        let mut random = Random::new(seed ^ 0xd15);
        let lines = lines(&mut random, 4, 0.5, Noise::Alike);
        let mut program = Program::new(seed);
        program.disturbed = 0.08;
        for line in &lines {
            for speedup in [0.25, 0.5, 0.75, 1.0] {
                for _ in 0..3 {
                    program.measure(line, speedup);
                }
            }
        }
        let analysis = analyse(&program.records);
        assert!(analysis.doubts.iter().any(|note| note.doubt == "disturbed"));
        for estimate in &analysis.points[0].lines {
            let line = lines
                .iter()
                .find(|line| line.location == estimate.location)
                .expect("estimates are of measured lines");
            for level in &estimate.levels {
                levels += 1;
                held += u32::from((level.low..=level.high).contains(&line.gain(level.speedup)));
                half += (level.high - level.low) / 2.0;
            }
        }
        for record in &mut program.records {
            if let Record::Experiment(window) = record {
                window.waited = None;
            }
        }
        let without_marks = analyse(&program.records);
        let levels = without_marks.points[0]
            .lines
            .iter()
            .flat_map(|line| &line.levels);
        kept += levels
            .map(|level| (level.high - level.low) / 2.0)
            .sum::<f64>();
    }
    assert!(levels > 1_000);
    let coverage = part(held, levels);
    assert!((0.93..0.97).contains(&coverage), "{coverage}");
    assert!(half < 0.6 * kept, "{half} {kept}");
}

/// Contention after the knee: the curve must come down with the truth.
#[test]
fn a_curve_that_falls_after_its_knee_is_followed() {
    let mut held = (0, 0);
    for seed in 0..60 {
        let line = Line {
            location: "src/a.rs:1".to_owned(),
            slope: 0.5,
            knee: 0.4,
            after: -0.4,
            noise: (0.01, 0.01),
        };
        let mut program = Program::new(seed);
        for speedup in (1..=10).map(|step| f64::from(step) / 10.0) {
            for _ in 0..4 {
                program.measure(&line, speedup);
            }
        }
        let analysis = analyse(&program.records);
        let estimate = &analysis.points[0].lines[0];
        assert_eq!(estimate.verdict, Verdict::WorthIt);
        let best = estimate.best.unwrap();
        assert!((0.3..=0.5).contains(&best.speedup), "{best:?}");
        for point in &estimate.curve.as_ref().unwrap().points[1..] {
            held.1 += 1;
            held.0 += u32::from((point.low..=point.high).contains(&line.gain(point.speedup)));
        }
    }
    assert!(part(held.0, held.1) > 0.9, "{held:?}");
}

/// The table in full, for people: `cargo test -p coz-rs-plot --test coverage -- --ignored
/// --nocapture`.
#[test]
#[ignore = "prints a table for people"]
fn table() {
    for noise in [Noise::Alike, Noise::GrowsWithSpeedup, Noise::DiffersByLine] {
        for lines in [1, 2, 6, 30] {
            for pairs in [1, 2, 3, 6] {
                let programs = 1200 / lines as u64;
                let score = run(0..programs, pairs, lines, 0.5, noise);
                println!(
                    "{noise:?} {lines:>2} lines {pairs} pairs: levels {:.1} % of {}, curves {:.1} % of {} (±{:.1} points), nulls flagged {:.1} % of {}",
                    100.0 * part(score.levels_held, score.levels),
                    score.levels,
                    100.0 * part(score.curves_held, score.curves),
                    score.curves,
                    100.0 * score.half_widths / f64::from(score.curves.max(1)),
                    100.0 * part(score.nulls_flagged, score.nulls),
                    score.nulls,
                );
            }
        }
    }
}
