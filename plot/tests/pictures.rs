//! Promises about pictures and exports: what they look like, from a seeded program and from the
//! records of Coz.

mod simulation;

use coz_rs_plot::estimates::{Analysis, analyse};
use coz_rs_plot::export;
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::{Record, Session};
use coz_rs_plot::text::{Style, report, summary};
use simulation::{Line, Program};

fn analysis() -> Analysis {
    let mut program = Program::new(11);
    program.records.insert(
        0,
        Record::Session(Session {
            command: vec!["./app".to_owned(), "in put".to_owned()],
            ..Session::default()
        }),
    );
    let line = |place: &str, slope, knee| Line {
        location: place.to_owned(),
        slope,
        knee,
        after: 0.0,
        noise: (0.01, 0.015),
    };
    let lines = [
        line("/src/hash/bucket.rs:41", 0.4, 0.5),
        line("/src/main.rs:7", 0.0, 1.0),
        line("/src/queue.rs:12", -0.2, 1.0),
    ];
    for speedup in [0.25, 0.5, 0.75, 1.0] {
        for line in &lines {
            for _ in 0..5 {
                program.measure(line, speedup);
            }
        }
    }
    for (line, count) in lines.iter().zip([300, 600, 50]) {
        program.records.push(Record::Samples {
            location: line.location.clone(),
            count,
            function: Some("app::work::<T>".to_owned()),
        });
    }
    program.records.push(Record::Samples {
        location: "/src/cold.rs:1".to_owned(),
        count: 100,
        function: None,
    });
    program.records.push(Record::Doubt {
        doubt: "timer-sampler".to_owned(),
        text: "The timer sampler ran.".to_owned(),
        location: None,
    });
    analyse(&program.records)
}

#[test]
fn text() {
    insta::assert_snapshot!("report", report(&analysis(), &Style::default()));
    let braille = Style {
        braille: true,
        width: 80,
        curves: 1,
        ..Style::default()
    };
    insta::assert_snapshot!("braille", report(&analysis(), &braille));
    let narrow = Style {
        width: 50,
        ..Style::default()
    };
    insta::assert_snapshot!("summary_narrow", summary(&analysis(), &narrow));
    let coloured = report(
        &analysis(),
        &Style {
            colour: true,
            ..Style::default()
        },
    );
    assert!(coloured.contains("\u{1b}[32m"));
    assert!(!report(&analysis(), &Style::default()).contains('\u{1b}'));
}

#[test]
fn exports() {
    let analysis = analysis();
    insta::assert_snapshot!("csv", export::csv::csv(&analysis).replace("\r\n", "\n"));
    insta::assert_snapshot!("editor", export::editor::editor(&analysis));
    insta::assert_snapshot!(
        "svg",
        export::svg::svg(&analysis, 0, 3).expect("there is a point")
    );
    assert_eq!(export::svg::svg(&analysis, 1, 3), None);
    let json: serde_json::Value =
        serde_json::from_str(&export::json(&analysis).expect("an analysis is JSON"))
            .expect("it is JSON");
    assert_eq!(json["format_version"], 1);
    assert_eq!(json["points"][0]["lines"][0]["verdict"], "worth-it");
}

/// Coz's tab-separated form, with two windows at each of three speedups of one line.
#[test]
fn a_profile_of_coz() {
    let mut text = "startup\ttime=1415898948502634367\n".to_owned();
    for (speedup, deltas) in [
        (0.0, [100, 102, 98]),
        (0.25, [111, 109, 112]),
        (0.5, [125, 124, 127]),
    ] {
        for delta in deltas {
            text.push_str(&format!(
                "experiment\tselected=dedup/hashtable.c:217\tspeedup={speedup:.2}\tduration=100000000\t\
                 selected-samples=4\nprogress-point\tname=encoder.c:189\ttype=source\tdelta={delta}\n"
            ));
        }
    }
    text.push_str("samples\tlocation=dedup/hashtable.c:217\tcount=900\nruntime\ttime=900000000\n");
    text.push_str(
        "samples\tlocation=dedup/hashtable.c:217\tcount=1000\nruntime\ttime=1000000000\n",
    );
    let profile = Profile::parse(text.as_bytes());
    assert_eq!(profile.skipped.total(), 0);
    let analysis = analyse(&profile.records);
    assert_eq!((analysis.total_samples, analysis.run_seconds), (1000, 1.0));
    let line = &analysis.points[0].lines[0];
    // Visits go up by 10.7 % and 25.3 %, so periods go down by 9.6 % and 20.2 %.
    assert!(
        (line.levels[0].gain - 0.0964).abs() < 1e-3 && (line.levels[1].gain - 0.2021).abs() < 1e-3
    );
    assert!(
        line.levels
            .iter()
            .all(|level| level.low > 0.0 && level.high < 0.3)
    );
    assert_eq!(analysis.doubts[0].doubt, "no-blocks");
}
