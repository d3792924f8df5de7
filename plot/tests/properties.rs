//! Promises about arithmetic: what must not change an estimate does not, and nothing panics.

mod simulation;

use coz_rs_plot::estimates::{Analysis, LineEstimate, PointKind, Verdict, analyse};
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::{Experiment, PointEdges, Record, Session, SlowdownPoint};
use coz_rs_plot::text::{Style, report, summary};
use proptest::prelude::*;
use simulation::{Line, Program};

fn line(number: usize, slope: f64) -> Line {
    Line {
        location: format!("src/a.rs:{number}"),
        slope,
        knee: 0.6,
        after: 0.0,
        noise: (0.02, 0.03),
    }
}

fn program(seed: u64, lines: usize, pairs: usize) -> Program {
    let mut program = Program::new(seed);
    for number in 0..lines {
        let line = line(number, 0.1 * number as f64);
        for speedup in [0.25, 0.5, 0.75, 1.0] {
            for _ in 0..pairs {
                program.measure(&line, speedup);
            }
        }
    }
    program
}

/// What an estimate says in numbers.
fn numbers(analysis: &Analysis) -> Vec<(String, Vec<f64>)> {
    let of_line = |line: &LineEstimate| {
        let levels = line
            .levels
            .iter()
            .flat_map(|level| [level.gain, level.low, level.high]);
        let best = line
            .best
            .iter()
            .flat_map(|best| [best.speedup, best.gain, best.low, best.high]);
        (
            line.location.clone(),
            levels.chain(best).chain([line.p_value]).collect(),
        )
    };
    let lines = analysis.points.iter().flat_map(|point| &point.lines);
    let mut numbers: Vec<_> = lines.map(of_line).collect();
    numbers.sort_by(|a, b| a.0.cmp(&b.0));
    numbers
}

fn assert_close(a: &Analysis, b: &Analysis, tolerance: f64) -> Result<(), TestCaseError> {
    let (a, b) = (numbers(a), numbers(b));
    prop_assert_eq!(a.len(), b.len());
    for ((name, a), (other, b)) in a.iter().zip(&b) {
        prop_assert_eq!(name, other);
        prop_assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            prop_assert!((a - b).abs() <= tolerance || a == b, "{} {} {}", name, a, b);
        }
    }
    Ok(())
}

/// Experiments with their points, in groups that may change places.
fn groups(records: &[Record]) -> Vec<Vec<Record>> {
    let mut groups: Vec<Vec<Record>> = Vec::new();
    for record in records {
        match record {
            Record::Experiment(_) => groups.push(vec![record.clone()]),
            Record::ThroughputPoint { .. } | Record::LatencyPoint { .. } => {
                let group = groups.last_mut().expect("points follow their experiment");
                group.push(record.clone());
            }
            _ => {}
        }
    }
    groups
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_the_records_does_not_matter(seed: u64, lines in 1usize..5, pairs in 1usize..4) {
        let mut program = program(seed, lines, pairs);
        let before = analyse(&program.records);
        let mut groups = groups(&program.records);
        for place in (1..groups.len()).rev() {
            groups.swap(place, program.random.below(place + 1));
        }
        let shuffled: Vec<Record> =
            std::iter::once(Record::Startup { time: 1 }).chain(groups.concat()).collect();
        assert_close(&before, &analyse(&shuffled), 1e-9)?;
    }

    #[test]
    fn two_files_say_what_one_would(seed: u64, pairs in 1usize..4) {
        // Two runs in one file, or a file each; other records between them change nothing.
        let (one, two) = (program(seed, 3, pairs), program(seed ^ 1, 3, pairs));
        let together: Vec<Record> = one.records.iter().chain(&two.records).cloned().collect();
        let merged = Profile::merge([&two, &one].map(|program| Profile {
            records: program.records.clone(),
            ..Profile::default()
        }));
        assert_close(&analyse(&together), &analyse(&merged.records), 1e-9)?;
        let mut sparse = together.clone();
        sparse.push(Record::Samples { location: "src/a.rs:1".to_owned(), count: 7, function: None });
        sparse.push(Record::Runtime { time: 5 });
        assert_close(&analyse(&together), &analyse(&sparse), 0.0)?;
    }

    #[test]
    fn the_unit_of_time_does_not_matter(seed: u64, factor in 2u64..50) {
        let program = program(seed, 3, 2);
        let scaled: Vec<Record> = program.records.iter().cloned().map(|record| match record {
            Record::Experiment(mut experiment) => {
                experiment.duration *= factor;
                for edges in &mut experiment.edges {
                    edges.duration *= factor;
                }
                Record::Experiment(experiment)
            }
            other => other,
        }).collect();
        assert_close(&analyse(&program.records), &analyse(&scaled), 1e-9)?;
    }

    #[test]
    fn estimates_are_ordered_and_finite_whatever_the_windows_say(
        windows in proptest::collection::vec(
            (0usize..3, 0u32..5, 0u64..1_000_000_000_000, 0u64..5_000, proptest::option::of(0u64..6),
             proptest::option::of(-1e9f64..1e9)),
            0..60,
        ),
    ) {
        let mut records = Vec::new();
        for (line, level, duration, count, block, in_flight) in windows {
            records.push(Record::Experiment(Experiment {
                selected: format!("a.c:{line}"),
                speedup: f64::from(level) / 4.0,
                duration,
                block,
                ..Experiment::default()
            }));
            records.push(Record::ThroughputPoint { name: "p".to_owned(), delta: count });
            records.push(Record::LatencyPoint {
                name: "l".to_owned(),
                arrivals: count,
                departures: count,
                difference: -(count as i64 % 3),
                mean_in_flight: in_flight,
            });
        }
        let analysis = analyse(&records);
        for line in analysis.points.iter().flat_map(|point| &point.lines) {
            prop_assert!((0.0..=1.0).contains(&line.p_value));
            prop_assert!(line.open.is_finite() && line.open >= 0.0);
            for level in &line.levels {
                prop_assert!(level.gain.is_finite() && level.gain < 1.0);
                prop_assert!(level.low <= level.gain && level.gain <= level.high);
            }
            for point in line.curve.iter().flat_map(|curve| &curve.points) {
                prop_assert!(point.gain.is_finite());
                prop_assert!(point.low <= point.gain && point.gain <= point.high && point.high <= 1.0);
            }
        }
        serde_json::to_string(&analysis).unwrap();
        let _ = report(&analysis, &Style::default());
        let _ = summary(&analysis, &Style { width: 1, colour: true, braille: true, ..Style::default() });
    }
}

#[test]
fn without_noise_the_truth_is_found() {
    let mut program = Program::new(5);
    let line = Line {
        noise: (0.0, 0.0),
        ..line(3, 0.3)
    };
    for step in 1..=20 {
        program.measure(&line, f64::from(step) / 20.0);
    }
    let analysis = analyse(&program.records);
    let estimate = &analysis.points[0].lines[0];
    for point in &estimate.curve.as_ref().unwrap().points {
        assert!(
            (point.gain - line.gain(point.speedup)).abs() < 1e-3,
            "{point:?}"
        );
    }
    assert_eq!(estimate.curve.as_ref().unwrap().knee, Some(0.6));
    assert_eq!(estimate.verdict, Verdict::WorthIt);
    let best = estimate.best.unwrap();
    assert!((best.speedup - 0.6).abs() < 1e-9 && (best.gain - 0.18).abs() < 1e-3);
}

#[test]
fn latency_is_mean_in_flight_over_arrivals() {
    // 2 in flight and 100 arrivals in 1 s: 20 ms. At the speedup 1 in flight: 10 ms, so 50 % gain.
    let mut records = vec![Record::Startup { time: 1 }];
    for block in 0..4 {
        for (speedup, in_flight) in [(0.0, 2.0), (0.5, 1.0)] {
            records.push(Record::Experiment(Experiment {
                selected: "a.c:1".to_owned(),
                speedup,
                duration: 1_000_000_000 + block,
                block: Some(block),
                ..Experiment::default()
            }));
            records.push(Record::LatencyPoint {
                name: "request".to_owned(),
                arrivals: 100,
                departures: 100,
                difference: 0,
                mean_in_flight: Some(in_flight),
            });
        }
    }
    let analysis = analyse(&records);
    let point = &analysis.points[0];
    assert_eq!(point.kind, PointKind::Latency);
    assert!((point.period.unwrap() / 20e6 - 1.0).abs() < 1e-6);
    assert!((point.lines[0].levels[0].gain - 0.5).abs() < 1e-9);
}

/// Of one closed loop the number in flight is fixed, so both say the same, whatever the noise.
#[test]
fn throughput_and_latency_of_a_closed_loop_agree() {
    let mut program = program(7, 3, 3);
    let mut records = Vec::new();
    let mut duration = 0;
    for record in program.records.drain(..) {
        if let Record::Experiment(window) = &record {
            duration = window.edges[0].duration;
        }
        let latency = match &record {
            Record::ThroughputPoint { delta, .. } => Some(Record::LatencyPoint {
                name: "request".to_owned(),
                arrivals: *delta,
                departures: *delta,
                difference: 3,
                mean_in_flight: Some(3.0),
            }),
            _ => None,
        };
        records.push(record);
        records.extend(latency);
    }
    assert!(duration > 0);
    let analysis = analyse(&records);
    let [throughput, latency] = &analysis.points[..] else {
        panic!("two points");
    };
    for (a, b) in throughput.lines.iter().zip(&latency.lines) {
        assert_eq!(a.location, b.location);
        for (a, b) in a.levels.iter().zip(&b.levels) {
            assert!((a.gain - b.gain).abs() < 1e-6, "{a:?} {b:?}");
            assert!(a.low <= b.high && b.low <= a.high);
        }
    }
}

/// A program driven by the clock: wall time per visit stays, G grows with the speedup.
fn driven(slowdowns: &[f64]) -> Vec<Record> {
    let mut records = vec![Record::Startup { time: 1 }];
    for slowed in slowdowns {
        records.push(Record::Slowdown {
            points: ["point", "request"]
                .map(|name| SlowdownPoint {
                    name: name.to_owned(),
                    latency: name == "request",
                    plain: 1e6,
                    slowed: slowed * 1e6,
                    paused: 0.25,
                })
                .to_vec(),
        });
    }
    let mut random = simulation::Random::new(3);
    for block in 0..12 {
        for speedup in [0.0, 0.5] {
            let wall = 1e9 * (0.01 * random.normal()).exp();
            let duration = wall * (1.0 - 0.6 * speedup);
            let (wall, duration) = (wall as u64, duration as u64);
            records.push(Record::Experiment(Experiment {
                selected: "a.c:1".to_owned(),
                speedup,
                duration,
                wall: Some(wall),
                block: Some(block),
                selected_samples: 50,
                edges: vec![PointEdges {
                    name: "point".to_owned(),
                    visits: 100,
                    duration,
                    wall,
                }],
                ..Experiment::default()
            }));
            records.push(Record::ThroughputPoint {
                name: "point".to_owned(),
                delta: 100,
            });
            records.push(Record::LatencyPoint {
                name: "request".to_owned(),
                arrivals: 100,
                departures: 100,
                difference: 0,
                mean_in_flight: Some(1.0),
            });
        }
    }
    records
}

#[test]
fn work_by_the_clock_gains_nothing_and_its_latency_is_no_advice() {
    let analysis = analyse(&driven(&[0.75, 0.76, 0.74, 0.75]));
    for point in &analysis.points {
        assert!(point.by_the_clock);
        let line = &point.lines[0];
        assert_ne!(line.verdict, Verdict::WorthIt);
        if point.kind == PointKind::Throughput {
            assert!(line.levels[0].gain.abs() < 0.02, "{:?}", line.levels);
            assert_eq!(line.verdict, Verdict::NoEffect);
        }
    }
    let notes = analysis
        .doubts
        .iter()
        .filter(|note| note.doubt == "by-the-clock");
    assert_eq!(notes.count(), 2);
    // Programs that make their own work keep their virtual pace, so nothing is taken from them.
    for slowdowns in [&[1.0, 1.01, 0.98, 1.0][..], &[]] {
        let analysis = analyse(&driven(slowdowns));
        assert!(analysis.points.iter().all(|point| !point.by_the_clock));
        let throughput = &analysis.points[0].lines[0];
        assert_eq!(throughput.verdict, Verdict::WorthIt);
        assert!((throughput.levels[0].gain - 0.3).abs() < 0.02);
    }
}

#[test]
fn samples_add_up_in_our_profiles_and_repeat_in_those_of_coz() {
    let samples = |count| Record::Samples {
        location: "a.c:1".to_owned(),
        count,
        function: Some("f".to_owned()),
    };
    let ours = [
        Record::Session(Session::default()),
        Record::Startup { time: 1 },
        samples(5),
        samples(7),
    ];
    assert_eq!(analyse(&ours).total_samples, 12);
    let of_coz = [
        Record::Startup { time: 1 },
        samples(5),
        samples(7),
        Record::Startup { time: 2 },
        samples(4),
    ];
    assert_eq!(analyse(&of_coz).total_samples, 11);
    assert_eq!(analyse(&of_coz).untried[0].function.as_deref(), Some("f"));
}

#[test]
fn a_block_without_its_other_half_is_not_used() {
    let mut program = Program::new(1);
    program.measure(&line(1, 0.3), 0.5);
    let whole = analyse(&program.records);
    assert_eq!(
        (
            whole.points[0].lines[0].pairs,
            whole.points[0].unused_windows
        ),
        (1, 0)
    );
    program.records.truncate(3);
    let cut = analyse(&program.records);
    assert_eq!(
        (cut.points[0].lines.len(), cut.points[0].unused_windows),
        (0, 1)
    );
    assert_eq!(
        cut.points[0].sentence,
        "No experiment was completed, so nothing is known yet."
    );
}
