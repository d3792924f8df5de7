//! What an ordinary profiler says of a story's program: the functions with the most samples.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Form;
use crate::build;

/// Functions that are told.
const TOLD: usize = 4;

/// The hottest functions by `perf record`, as "51 % draw, 22 % unpack".
///
/// # Errors
/// If perf is not there or may not sample.
pub fn hottest(form: &Form, seconds: f64) -> Result<String> {
    let data = build::output().join(format!("perf-{}.data", std::process::id()));
    let mut record = Command::new("perf");
    record.args(["record", "-q", "-e", "task-clock:u", "-F", "999", "-o"]);
    record.arg(&data).arg("--").arg(&form.program);
    record.args(&form.arguments);
    record.args(["--seconds", &seconds.to_string()]);
    let told = output(&mut record).and_then(|_| report(&data));
    // Best effort: it lies under the target folder.
    let _ = std::fs::remove_file(&data);
    told
}

fn report(data: &Path) -> Result<String> {
    let mut report = Command::new("perf");
    report.args([
        "report",
        "-q",
        "--stdio",
        "--no-children",
        "-F",
        "overhead,symbol",
        "-i",
    ]);
    Ok(summary(&output(report.arg(data))?))
}

fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("starting {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed ({}):\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A function's own name: neither its parameters and types nor its path.
fn last_name(symbol: &str) -> String {
    let mut depth = 0_u32;
    let plain: String = symbol
        .chars()
        .filter(|letter| {
            depth += u32::from(*letter == '<');
            let keep = depth == 0;
            depth = depth.saturating_sub(u32::from(*letter == '>'));
            keep
        })
        .collect();
    let name = plain.rsplit("::").find(|name| !name.is_empty());
    name.unwrap_or(symbol).to_owned()
}

/// The first lines of a report, which look like `    51.23%  [.] animation::draw`.
fn summary(report: &str) -> String {
    let lines = report.lines().filter_map(|line| {
        let (share, symbol) = line.trim().split_once('%')?;
        let share: f64 = share.parse().ok()?;
        let symbol = symbol.trim().trim_start_matches("[.] ");
        let name = last_name(symbol);
        Some(format!("{share:.0} % `{name}`"))
    });
    lines.take(TOLD).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn a_report_becomes_one_line() {
        let report = "\n    51.23%  [.] animation::draw\n    22.00%  [.] combine::kernels::combine1::<i64>\n\
                      \n     0.51%  [.] memcpy\n";
        assert_eq!(
            summary(report),
            "51 % `draw`, 22 % `combine1`, 1 % `memcpy`"
        );
        assert_eq!(summary("nothing\n"), "");
        let generic = "  9.00%  [.] <ferret::database::Database>::rank\n\
                       \x20 8.00%  [.] <combine::Vector<i64> as Length>::len::<u8>\n";
        assert_eq!(summary(generic), "9 % `rank`, 8 % `len`");
    }
}
