//! Writes the profile of a program that does not exist, to look at pictures of it:
//! `cargo run --example simulated_profile -- OUT.coz LINES EXPERIMENTS SEED`.

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use coz_rs_plot::record::{FORMAT_VERSION, Record, Session};
use coz_rs_plot::writer::ProfileWriter;
use simulation::{Line, Program};

const FILES: [&str; 6] = [
    "/home/ada/pack/src/chunk/rolling.rs",
    "/home/ada/pack/src/index/bucket.rs",
    "/home/ada/pack/src/index/mod.rs",
    "/home/ada/pack/src/compress/mod.rs",
    "/home/ada/pack/src/pipeline/queue.rs",
    "/home/ada/pack/src/main.rs",
];
const FUNCTIONS: [&str; 6] = [
    "pack::chunk::Rolling::next_boundary",
    "pack::index::Bucket::find",
    "<pack::index::Index as core::iter::Extend<pack::Digest>>::extend",
    "pack::compress::block",
    "pack::pipeline::Queue<T>::push",
    "pack::main::{{closure}}",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [out, lines, experiments, seed] = &arguments[..] else {
        return Err("say OUT.coz LINES EXPERIMENTS SEED".into());
    };
    let (lines, experiments): (usize, usize) = (lines.parse()?, experiments.parse()?);
    let mut program = Program::new(seed.parse()?);
    let session = Session {
        format_version: FORMAT_VERSION,
        coz_rs_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: 1,
        host: "example".to_owned(),
        command: ["./pack", "--threads", "8", "corpus/"]
            .map(str::to_owned)
            .to_vec(),
        sampler: "sigtrap".to_owned(),
        period: 997_000,
        processors: 8,
        ..Session::default()
    };
    program.records.insert(0, Record::Session(session.clone()));
    let lines: Vec<Line> = (0..lines)
        .map(|number| line(&mut program, number))
        .collect();
    let last = lines.len();
    for _ in 0..experiments {
        // Like the profiler: the lines that matter get most of the experiments.
        let number = (last as f64 * program.random.part().powi(2)) as usize;
        let level = [
            0.25,
            0.5,
            0.75,
            1.0,
            0.05 * (1 + program.random.below(20)) as f64,
        ];
        let speedup = level[program.random.below(level.len())];
        program.measure(&lines[number], speedup);
    }
    for (number, line) in lines.iter().enumerate() {
        let hot = if number == 2 {
            60_000.0
        } else {
            40_000.0 / (1.0 + number as f64).powf(1.3)
        };
        program.records.push(Record::Samples {
            location: line.location.clone(),
            count: (hot * (0.5 + program.random.part())) as u64,
            function: Some(FUNCTIONS[number % FUNCTIONS.len()].to_owned()),
        });
    }
    program.records.push(Record::Runtime {
        time: 60_000_000_000,
    });
    let mut writer = ProfileWriter::create_or_append(out, &session, false)?;
    writer.append(&program.records)?;
    Ok(())
}

fn line(program: &mut Program, number: usize) -> Line {
    let (slope, knee, after) = match number {
        0 => (0.62, 0.42, 0.0),
        1 => (0.17, 1.0, 0.0),
        3 => (0.11, 0.7, 0.0),
        4 => (-0.12, 1.0, 0.0),
        6 => (0.3, 0.3, -0.1),
        _ => (0.0, 1.0, 0.0),
    };
    let random = &mut program.random;
    Line {
        location: format!("{}:{}", FILES[number % FILES.len()], 20 + random.below(400)),
        slope,
        knee,
        after,
        noise: (0.02, 0.035),
    }
}
