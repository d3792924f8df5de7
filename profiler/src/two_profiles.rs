//! `coz-rs compare` and `coz-rs verify`: a profile from before a change beside one from after it.

use std::path::Path;

use anyhow::Context as _;
use coz_rs_plot::estimates::{
    Analysis, CurvePoint, LineEstimate, Pace, PointKind, analyse, compare as compare_records,
    percent,
};
use coz_rs_plot::html::comparison::comparison as page;
use coz_rs_plot::profile::Profile;
use coz_rs_plot::safe_text::one_line;
use coz_rs_plot::text::comparison::{comparison, pace as pace_sentence};

use crate::command_line::{CompareArguments, VerifyArguments};
use crate::commands::in_one_sentence;
use crate::report_output::{pour, print, style, write};

/// What was predicted did not come.
const NOT_AS_PREDICTED: i32 = 1;

fn read(path: &Path) -> anyhow::Result<Profile> {
    Profile::read(path).map_err(in_one_sentence)
}

/// Prints two profiles side by side; the exit status.
pub(crate) fn compare(arguments: &CompareArguments) -> anyhow::Result<i32> {
    let (before, after) = (read(&arguments.before)?, read(&arguments.after)?);
    let result = compare_records(&before.records, &after.records, arguments.at);
    if arguments.json {
        let text = serde_json::to_string_pretty(&result).context("writing JSON")?;
        pour(format!("{text}\n").as_bytes())?;
    } else if let Some(path) = &arguments.output {
        let name = |path: &Path| path.display().to_string();
        let page = page(&result, &name(&arguments.before), &name(&arguments.after));
        write(page.as_bytes(), path)?;
    } else {
        let mut style = style(std::io::stdout(), arguments.color);
        style.lines = arguments.lines.unwrap_or(style.lines);
        print(&comparison(&result, &style))?;
    }
    Ok(i32::from(result.points.is_empty()))
}

/// Prints a prediction beside what came of it; the exit status.
pub(crate) fn verify(arguments: &VerifyArguments) -> anyhow::Result<i32> {
    let (before, after) = (read(&arguments.before)?, read(&arguments.after)?);
    let analysis = analyse(&before.records);
    let result = compare_records(&before.records, &after.records, 0.5);
    let wanted = |name: &str| arguments.point.as_deref().is_none_or(|point| point == name);
    let point = result
        .points
        .iter()
        .find(|point| wanted(&point.name))
        .context("the profiles have no such progress point in common; see `coz-rs compare`")?;
    let pace = point.pace.with_context(|| pace_sentence(point))?;
    let line = line(&analysis, &point.name, point.kind, &arguments.line)?;
    let (verdict, agrees) = judge(line, &pace, arguments.cut);
    print(&format!("{}\n{verdict}", pace_sentence(point)))?;
    Ok(if agrees { 0 } else { NOT_AS_PREDICTED })
}

/// The line that the user means: the last parts of its path are enough.
fn line<'a>(
    analysis: &'a Analysis,
    point: &str,
    kind: PointKind,
    name: &str,
) -> anyhow::Result<&'a LineEstimate> {
    let mut points = analysis.points.iter();
    let point = points
        .find(|other| other.name == point && other.kind == kind)
        .context("the profile has no such progress point")?;
    let ends = format!("/{name}");
    let fits = |line: &&LineEstimate| line.location == name || line.location.ends_with(&ends);
    let fitting: Vec<&LineEstimate> = point.lines.iter().filter(fits).collect();
    match fitting[..] {
        [line] => Ok(line),
        [] => anyhow::bail!(
            "the profile before has no experiment with {name}; lines that it has are in \
             `coz-rs plot --text`, and `coz-rs run --fixed-line {name}` adds some"
        ),
        _ => anyhow::bail!("several lines end in {name}; name more of the path"),
    }
}

/// What to say of a prediction, and whether it agrees with what came.
fn judge(line: &LineEstimate, pace: &Pace, cut: Option<f64>) -> (String, bool) {
    let name = one_line(&line.location);
    if let Some(cut) = cut {
        let Some(predicted) = line.at(cut) else {
            let text = format!(
                "{name} was not tried up to a cut of {:.0} %, so nothing was predicted for that.",
                cut * 100.0
            );
            return (text, false);
        };
        let meets = predicted.low <= pace.high && pace.low <= predicted.high;
        let how = match meets {
            true => "as predicted: the intervals meet",
            false if pace.gain < predicted.gain => "less came than was predicted",
            false => "more came than was predicted",
        };
        let text = format!(
            "Predicted for {name} with {:.0} % of its time cut: {} % ({} to {}); {how}.",
            cut * 100.0,
            percent(predicted.gain),
            percent(predicted.low),
            percent(predicted.high),
        );
        return (text, meets);
    }
    let points = line.curve.iter().flat_map(|curve| &curve.points);
    let meets = |point: &&CurvePoint| point.low <= pace.high && pace.low <= point.high;
    let fitting: Vec<&CurvePoint> = points.filter(meets).collect();
    match (fitting.first(), fitting.last()) {
        (Some(first), Some(last)) => {
            let text = format!(
                "That is what the profile predicts for {name} with {:.0} to {:.0} % of its time cut; \
                 say how much you have cut with --cut.",
                first.speedup * 100.0,
                last.speedup * 100.0
            );
            (text, true)
        }
        _ => {
            let best = line.best.map_or("nothing".to_owned(), |best| {
                format!(
                    "at best {} % ({} to {})",
                    percent(best.gain),
                    percent(best.low),
                    percent(best.high)
                )
            });
            (
                format!("No cut of {name} was predicted to bring that: {best}."),
                false,
            )
        }
    }
}
