//! One thing that was looked at, and how it came out.

use std::ffi::OsStr;

use serde::Serialize;

/// Version of the form that `--json` prints.
pub const FORMAT_VERSION: u32 = 1;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Works.
    Good,
    /// Works, but less well than it could.
    Doubtful,
    /// Would stop profiling.
    Bad,
}

/// What a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Area {
    /// Kernel, C library, permissions.
    Machine,
    /// Limits that children inherit.
    Limits,
    /// The program.
    Program,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub area: Area,
    /// Its name, for tools.
    pub check: &'static str,
    /// How it came out.
    pub outcome: Outcome,
    /// What was found, one sentence.
    pub text: String,
    /// The command or change that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl Finding {
    /// Works.
    pub(super) fn good(area: Area, check: &'static str, text: impl Into<String>) -> Finding {
        Finding {
            area,
            check,
            outcome: Outcome::Good,
            text: text.into(),
            mend: None,
        }
    }

    /// Works less well than it could, until it is mended.
    pub(super) fn doubtful(
        area: Area,
        check: &'static str,
        text: impl Into<String>,
        mend: impl Into<String>,
    ) -> Finding {
        Finding {
            outcome: Outcome::Doubtful,
            mend: Some(mend.into()),
            ..Finding::good(area, check, text)
        }
    }

    /// Would stop profiling, until it is mended.
    pub(super) fn bad(
        area: Area,
        check: &'static str,
        text: impl Into<String>,
        mend: impl Into<String>,
    ) -> Finding {
        Finding {
            outcome: Outcome::Bad,
            ..Finding::doubtful(area, check, text, mend)
        }
    }
}

/// All that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Version of the form of the answer.
    pub format_version: u32,
    /// Version of coz-rs.
    pub coz_rs_version: &'static str,
    /// The program, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The worst outcome.
    pub outcome: Outcome,
    /// One by one.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    pub(super) fn new(command: Option<&OsStr>, findings: Vec<Finding>) -> Diagnosis {
        let worst = findings.iter().map(|finding| finding.outcome).max();
        Diagnosis {
            format_version: FORMAT_VERSION,
            coz_rs_version: env!("CARGO_PKG_VERSION"),
            program: command.map(|command| command.to_string_lossy().into_owned()),
            outcome: worst.unwrap_or(Outcome::Good),
            findings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_outcome_counts_and_tools_can_read_it() {
        let good = Finding::good(Area::Machine, "kernel", "Fine.");
        let bad = Finding::bad(Area::Program, "debug-info", "None.", "cc -g");
        let diagnosis = Diagnosis::new(Some(OsStr::new("./a")), vec![bad, good]);
        assert_eq!(diagnosis.outcome, Outcome::Bad);
        let json = serde_json::to_value(&diagnosis).unwrap();
        assert_eq!(json["format_version"], 1);
        assert_eq!(json["outcome"], "bad");
        assert_eq!(json["findings"][0]["mend"], "cc -g");
        assert_eq!(json["findings"][1]["area"], "machine");
        assert_eq!(Diagnosis::new(None, Vec::new()).outcome, Outcome::Good);
    }
}
