//! The analysis as the page's script wants it: with short names, source text and rounded numbers,
//! safe inside a script element.

use serde_json::{Map, Value, json};

use crate::estimates::Analysis;
use crate::location::Location;
use crate::record::{CallerChain, CallerFrame};
use crate::safe_text::one_line;
use crate::short_names::{short_function, shorten};
use crate::source_text::Excerpt;

/// So many lines get their source text: those that matter most.
const SOURCES: usize = 80;
/// So many lines get their callers, and so many chains of them.
const CALLED: usize = 300;
const CHAINS: usize = 6;
/// So many lines without experiments are listed.
const UNTRIED: usize = 300;
/// Single experiments are drawn if there are no more than this at a line.
const EACH: usize = 400;

/// The JSON text.
pub(super) fn json(
    analysis: &Analysis,
    source: &mut dyn FnMut(&str, u32) -> Option<Excerpt>,
) -> String {
    let mut value = serde_json::to_value(analysis).unwrap_or_else(|_| json!({}));
    let lines = analysis.points.iter().flat_map(|point| &point.lines);
    let locations = lines.map(|line| line.location.as_str());
    let untried = analysis.untried.iter().map(|line| line.location.as_str());
    let short = shorten(locations.chain(untried));
    let mut sources = Map::new();
    let points = value.get_mut("points").and_then(Value::as_array_mut);
    for point in points.into_iter().flatten() {
        let lines = point.get_mut("lines").and_then(Value::as_array_mut);
        for (rank, line) in lines.into_iter().flatten().enumerate() {
            let Some(location) = line["location"].as_str().map(str::to_owned) else {
                continue;
            };
            let name = short.get(location.as_str()).cloned().unwrap_or_default();
            let (file, number) = split(&location);
            name_line(line, &name, file, number);
            if line["pairs"]
                .as_u64()
                .is_some_and(|pairs| pairs > EACH as u64)
            {
                let levels = line.get_mut("levels").and_then(Value::as_array_mut);
                for level in levels.into_iter().flatten() {
                    level["each"] = json!([]);
                }
            }
            let key = one_line(&location);
            if rank < SOURCES
                && !sources.contains_key(&key)
                && let Some(excerpt) = number.and_then(|number| source(file, number))
            {
                // What stands there now may not be what ran.
                let changed = excerpt.changed > analysis.started && analysis.started.is_some();
                sources.insert(
                    key,
                    json!({ "first": excerpt.first, "lines": excerpt.lines, "changed": changed }),
                );
            }
        }
    }
    let untried = value.get_mut("untried").and_then(Value::as_array_mut);
    let untried_count = analysis.untried.len();
    if let Some(untried) = untried {
        untried.truncate(UNTRIED);
        for line in untried {
            let location = line["location"].as_str().unwrap_or("").to_owned();
            let name = short.get(location.as_str()).cloned().unwrap_or_default();
            name_line(line, &name, "", None);
        }
    }
    value["sources"] = Value::Object(sources);
    value["callers"] = callers(analysis);
    value["untried_count"] = json!(untried_count);
    let scope = crate::text::scope_summary(analysis, &crate::text::Style::unbroken());
    value["scope_text"] = scope.lines().map(|line| json!(line)).collect();
    value["version"] = json!(env!("CARGO_PKG_VERSION"));
    tidy(&mut value);
    in_script(&value.to_string())
}

/// The first chains of calls to the first lines, with names short enough to read.
fn callers(analysis: &Analysis) -> Value {
    let frames = analysis
        .callers
        .values()
        .flatten()
        .flat_map(|chain| &chain.frames);
    let short = shorten(frames.map(CallerFrame::location));
    let chain = |chain: &CallerChain| {
        let frames: Vec<Value> = chain
            .frames
            .iter()
            .map(|frame| {
                json!({
                    "location": frame.location(),
                    "short": short.get(frame.location()),
                    "function": frame.function(),
                    "short_function": short_function(frame.function()),
                })
            })
            .collect();
        json!({ "count": chain.count, "frames": frames })
    };
    let mut told = Map::new();
    for point in &analysis.points {
        for line in point.lines.iter().take(CALLED) {
            if let Some(chains) = analysis.callers.get(&line.location) {
                let total: u64 = chains.iter().map(|chain| chain.count).sum();
                let first: Vec<Value> = chains.iter().take(CHAINS).map(chain).collect();
                told.insert(
                    one_line(&line.location),
                    json!({ "total": total, "chains": first }),
                );
            }
        }
    }
    Value::Object(told)
}

fn name_line(line: &mut Value, name: &str, file: &str, number: Option<u32>) {
    line["short"] = json!(name);
    line["short_file"] = json!(split(name).0);
    line["short_function"] = json!(line["function"].as_str().map(short_function));
    line["file"] = json!(file);
    line["number"] = json!(number);
}

/// File and line of a location; a function's name has no line.
fn split(location: &str) -> (&str, Option<u32>) {
    let Location { place, line, .. } = Location::of(location);
    (place, line)
}

/// Numbers with as many digits as a picture shows, text without what reorders or hides it.
fn tidy(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|_| number.is_f64()) {
                let digits = if float.abs() < 1000.0 { 1e5 } else { 1.0 };
                *value = json!((float * digits).round() / digits);
            }
        }
        Value::String(text) => *text = one_line(text),
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(items) => items.values_mut().for_each(tidy),
        Value::Null | Value::Bool(_) => {}
    }
}

/// JSON that cannot end the script element it stands in, nor open a comment there.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
