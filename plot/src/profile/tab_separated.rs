//! Coz's older form of a profile: a type and `key=value` fields, parted by tabs.

use crate::record::{Experiment, Record};

/// Why a line is not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// A type of record that we do not know.
    Unknown,
    /// A field is missing or is not what it should be.
    Malformed,
}

/// The record of one line.
pub(super) fn parse(line: &str) -> Result<Record, Refused> {
    let mut fields = line.split('\t');
    let kind = fields.next().unwrap_or("");
    let fields: Vec<(&str, &str)> = fields.filter_map(|field| field.split_once('=')).collect();
    let text = |key: &str| {
        let found = fields.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| *value).ok_or(Refused::Malformed)
    };
    let count = |key: &str| text(key)?.parse::<u64>().map_err(|_| Refused::Malformed);
    let time = || count("time");
    match kind {
        "startup" => Ok(Record::Startup { time: time()? }),
        "shutdown" => Ok(Record::Shutdown { time: time()? }),
        "runtime" => Ok(Record::Runtime { time: time()? }),
        "samples" => Ok(Record::Samples {
            location: text("location")?.to_owned(),
            count: count("count")?,
            function: None,
        }),
        "experiment" => Ok(Record::Experiment(Experiment {
            selected: text("selected")?.to_owned(),
            speedup: text("speedup")?.parse().map_err(|_| Refused::Malformed)?,
            duration: count("duration")?,
            selected_samples: count("selected-samples").unwrap_or(0),
            ..Experiment::default()
        })),
        "throughput-point" | "progress-point" => Ok(Record::ThroughputPoint {
            name: text("name")?.to_owned(),
            delta: count("delta")?,
        }),
        "latency-point" => Ok(Record::LatencyPoint {
            name: text("name")?.to_owned(),
            arrivals: count("arrivals")?,
            departures: count("departures")?,
            difference: text("difference")?
                .parse()
                .map_err(|_| Refused::Malformed)?,
            mean_in_flight: None,
        }),
        _ => Err(Refused::Unknown),
    }
}
