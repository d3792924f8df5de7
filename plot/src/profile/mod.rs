//! Reading a causal profile: ours, Coz's JSON records, and Coz's older tab-separated form.
//!
//! A profile may have been cut by a kill, written by a newer version, or made up by somebody who
//! means no good. No content is an error: a line that is not a record is skipped and counted.

mod tab_separated;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::record::{Experiment, Record, Session};
use tab_separated::Refused;

/// Durations from here on (32 years) are wrapped-around differences, not measurements.
const LONGEST: u64 = 1_000_000_000_000_000_000;

/// A profile that could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be opened or read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file has content, but not one record.
    #[error(
        "{} is not a causal profile: none of its {lines} lines is a record; name a file that \
         `coz-rs run` wrote", path.display()
    )]
    NotAProfile {
        /// The file.
        path: PathBuf,
        /// Lines that it has.
        lines: u64,
    },
}

/// Lines that are not in [`Profile::records`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Skipped {
    /// Records of a type that this version does not know.
    pub unknown: u64,
    /// Lines that are no record, or hold impossible values.
    pub malformed: u64,
    /// 1 if the file ends in the middle of a record, as a kill leaves it.
    pub cut: u64,
}

impl Skipped {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.unknown + self.malformed + self.cut
    }
}

impl fmt::Display for Skipped {
    /// One sentence; empty if nothing was skipped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.malformed, "damaged"),
            (self.unknown, "of an unknown type"),
            (self.cut, "cut short at the end"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if parts.is_empty() {
            return Ok(());
        }
        let verb = if self.total() == 1 {
            "line was"
        } else {
            "lines were"
        };
        write!(f, "{} {verb} skipped ({}).", self.total(), parts.join(", "))
    }
}

/// The records of one or more runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profile {
    /// In the order of the file.
    pub records: Vec<Record>,
    /// What was left out.
    pub skipped: Skipped,
}

impl Profile {
    /// Reads a profile from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or has lines and not one of them is a record.
    pub fn read(path: impl AsRef<Path>) -> Result<Profile, ReadError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| ReadError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let profile = Profile::parse(&bytes);
        if profile.records.is_empty() && profile.skipped.total() > 0 {
            return Err(ReadError::NotAProfile {
                path: path.to_owned(),
                lines: profile.skipped.total(),
            });
        }
        Ok(profile)
    }

    /// The profile in these bytes. Bytes that are not UTF-8 become replacement characters.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Profile {
        let mut profile = Profile::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (line, complete) = match end {
                Some(end) => (&rest[..end], true),
                None => (rest, false),
            };
            rest = end.map_or(&[][..], |end| &rest[end + 1..]);
            let line = String::from_utf8_lossy(line);
            let line = line.trim_end_matches('\r').trim_start_matches('\u{feff}');
            if line.trim().is_empty() {
                continue;
            }
            match parse_line(line) {
                Ok(record) => profile.records.push(record),
                Err(Refused::Malformed) if !complete => profile.skipped.cut += 1,
                Err(Refused::Malformed) => profile.skipped.malformed += 1,
                Err(Refused::Unknown) => profile.skipped.unknown += 1,
            }
        }
        profile
    }

    /// The profiles of several runs or hosts as one.
    #[must_use]
    pub fn merge(profiles: impl IntoIterator<Item = Profile>) -> Profile {
        let mut all = Profile::default();
        for profile in profiles {
            all.records.extend(profile.records);
            all.skipped.unknown += profile.skipped.unknown;
            all.skipped.malformed += profile.skipped.malformed;
            all.skipped.cut += profile.skipped.cut;
        }
        all
    }

    /// The sessions of coz-rs in it, in order.
    pub fn sessions(&self) -> impl DoubleEndedIterator<Item = &Session> {
        self.records.iter().filter_map(|record| match record {
            Record::Session(session) => Some(session),
            _ => None,
        })
    }
}

/// The record of one line, whichever form it has.
fn parse_line(line: &str) -> Result<Record, Refused> {
    let record = if line.starts_with('{') {
        parse_json(line)
    } else {
        tab_separated::parse(line)
    }?;
    match &record {
        Record::Experiment(experiment) if !is_possible(experiment) => Err(Refused::Malformed),
        _ => Ok(record),
    }
}

fn parse_json(line: &str) -> Result<Record, Refused> {
    #[derive(Deserialize)]
    struct Kind {
        r#type: String,
    }
    const KNOWN: [&str; 10] = [
        "startup",
        "experiment",
        "throughput-point",
        "throughput_point",
        "progress-point",
        "latency-point",
        "latency_point",
        "samples",
        "runtime",
        "shutdown",
    ];
    serde_json::from_str(line).map_err(|_| match serde_json::from_str::<Kind>(line) {
        Ok(kind) if !KNOWN.contains(&kind.r#type.as_str()) => Refused::Unknown,
        _ => Refused::Malformed,
    })
}

fn is_possible(experiment: &Experiment) -> bool {
    (0.0..=1.0).contains(&experiment.speedup)
        && experiment.duration < LONGEST
        && experiment.wall.is_none_or(|wall| wall < LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cut_last_line_costs_only_itself() {
        let whole = concat!(
            r#"{"type":"startup","time":1}"#,
            "\n",
            r#"{"type":"experiment","selected":"a.c:1","speedup":0.5,"duration":9,"selected_samples":1}"#,
            "\n",
            r#"{"type":"throughput-point","name":"p","delta":3}"#,
            "\n",
        );
        let profile = Profile::parse(whole.as_bytes());
        assert_eq!((profile.records.len(), profile.skipped.total()), (3, 0));
        for length in 0..whole.len() {
            let profile = Profile::parse(&whole.as_bytes()[..length]);
            let lines = whole[..length].matches('\n').count();
            assert!(profile.records.len() >= lines);
            assert!(profile.skipped.cut <= 1 && profile.skipped.malformed == 0);
        }
    }

    #[test]
    fn the_same_experiment_in_both_forms_is_the_same_record() {
        let tabs = "experiment\tselected=d/a.c:1\tspeedup=0.35\tduration=90\tselected-samples=4\n\
                    progress-point\tname=b.c:2\ttype=source\tdelta=24\n\
                    latency-point\tname=l\tarrivals=4\tdepartures=3\tdifference=-2\n\
                    samples\tlocation=d/a.c:1\tcount=7\n";
        let json = concat!(
            r#"{"type":"experiment","selected":"d/a.c:1","speedup":0.35,"duration":90,"selected_samples":4}"#,
            "\n",
            r#"{"type":"throughput_point","name":"b.c:2","delta":24}"#,
            "\n",
            r#"{"type":"latency_point","name":"l","arrivals":4,"departures":3,"difference":-2}"#,
            "\n",
            r#"{"type":"samples","location":"d/a.c:1","count":7}"#,
        );
        assert_eq!(
            Profile::parse(tabs.as_bytes()),
            Profile::parse(json.as_bytes())
        );
    }

    #[test]
    fn impossible_values_are_skipped_and_counted() {
        let lines = [
            r#"{"type":"experiment","selected":"a","speedup":-0.1,"duration":1}"#,
            r#"{"type":"experiment","selected":"a","speedup":7,"duration":1}"#,
            r#"{"type":"experiment","selected":"a","speedup":null,"duration":1}"#,
            r#"{"type":"experiment","selected":"a","speedup":1e999,"duration":1}"#,
            r#"{"type":"experiment","selected":"a","speedup":0.5,"duration":-1}"#,
            r#"{"type":"experiment","selected":"a","speedup":0.5,"duration":18446744073709551615}"#,
            "experiment\tselected=a\tspeedup=nan\tduration=1",
            "experiment\tselected=a\tspeedup=inf\tduration=1",
            "samples\tlocation=a\tcount=-4",
            r#"{"type":"throughput-point","name":3,"delta":1}"#,
            "[]",
            "{\"type\":",
            "\u{0}\u{1}",
        ];
        let profile = Profile::parse(lines.join("\n").as_bytes());
        assert_eq!(profile.records, []);
        assert_eq!(profile.skipped.total(), lines.len() as u64);
        let new = Profile::parse(b"{\"type\":\"hologram\",\"x\":1}\n");
        assert_eq!(new.skipped.unknown, 1);
        assert_eq!(
            new.skipped.to_string(),
            "1 line was skipped (1 of an unknown type)."
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Profile::parse(&bytes);
        }

        #[test]
        fn no_damage_to_a_profile_makes_it_panic(at in 0usize..300, byte: u8) {
            let mut text = concat!(
                "experiment\tselected=a.c:1\tspeedup=0.35\tduration=90\tselected-samples=4\n",
                r#"{"type":"experiment","selected":"d/a.c:1","speedup":0.35,"duration":90}"#, "\n",
                r#"{"type":"latency-point","name":"l","arrivals":4,"departures":3,"difference":-2}"#,
            ).as_bytes().to_vec();
            if let Some(place) = text.get_mut(at) {
                *place = byte;
            }
            let profile = Profile::parse(&text);
            prop_assert!(profile.records.len() as u64 + profile.skipped.total() <= 4);
        }
    }
}
