//! Our profiles by the rules of Coz's own viewer: it pools durations and visits by line, point and
//! speedup, takes speedup 0 of the same line as the baseline, and leaves out lines that have none.

mod simulation;

use std::collections::BTreeMap;

use serde_json::Value;
use simulation::{Line, Program};

/// (line, point) to speedup, in thousandths, to (duration, delta).
type Pooled = BTreeMap<(String, String), BTreeMap<u64, (f64, f64)>>;

fn pooled(text: &str) -> Pooled {
    let mut pooled = Pooled::new();
    let mut experiment = Value::Null;
    for line in text.lines() {
        // A line of JSON begins with a brace; others would be read as separated by tabs.
        assert!(line.starts_with('{'), "{line}");
        let entry: Value = serde_json::from_str(line).expect("it is JSON");
        match entry["type"].as_str().expect("it has a type") {
            "startup" | "shutdown" | "samples" | "runtime" => {}
            "experiment" => experiment = entry,
            "throughput-point" => {
                let name = |value: &Value| value.as_str().expect("a name").to_owned();
                let number = |value: &Value| value.as_f64().expect("a number");
                let key = (name(&experiment["selected"]), name(&entry["name"]));
                let speedup = (number(&experiment["speedup"]) * 1000.0).round() as u64;
                let sums = pooled.entry(key).or_default().entry(speedup).or_default();
                sums.0 += number(&experiment["duration"]);
                sums.1 += number(&entry["delta"]);
            }
            other => panic!("it warns of {other}"),
        }
    }
    pooled
}

#[test]
fn it_draws_the_curves_that_we_draw() {
    let mut program = Program::new(5);
    for (location, slope) in [("src/a.c:3", 0.4), ("src/a.c:7", 0.0)] {
        let line = Line {
            location: location.to_owned(),
            slope,
            knee: 1.0,
            after: 0.0,
            noise: (0.01, 0.01),
        };
        for _ in 0..8 {
            for speedup in [0.25, 0.5, 1.0] {
                // It pools windows of all times, so only a steady program shows what it draws.
                program.period = 1e6;
                program.measure(&line, speedup);
            }
        }
    }
    let lines = program.records.iter().map(serde_json::to_string);
    let text: Result<Vec<String>, _> = lines.collect();
    let pooled = pooled(&text.expect("records are JSON").join("\n"));
    for (location, slope) in [("src/a.c:3", 0.4), ("src/a.c:7", 0.0)] {
        let of_line = |key: &&(String, String)| key.0 == location;
        let key = pooled.keys().find(of_line).expect("the line is there");
        let levels = &pooled[key];
        let period = |speedup| {
            let (duration, delta): (f64, f64) = levels[&speedup];
            duration / delta
        };
        for speedup in [250, 500, 1000] {
            let gain = 1.0 - period(speedup) / period(0);
            let truth = slope * speedup as f64 / 1000.0;
            assert!((gain - truth).abs() < 0.05, "{location} {speedup}: {gain}");
        }
    }
}
