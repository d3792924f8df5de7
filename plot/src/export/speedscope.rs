//! A file for speedscope (<https://www.speedscope.app/file-format-schema.json>): flame graphs as wide
//! as lines are hot, and as wide as they matter.

use serde_json::{Value, json};

use super::stacks::{Graph, Stacks, stacks};
use crate::estimates::Analysis;
use crate::safe_text::one_line;

/// The file. It opens on what matters to the first progress point, if anything does.
#[must_use]
pub fn speedscope(analysis: &Analysis) -> String {
    let Stacks { frames, graphs } = stacks(analysis);
    let frames: Vec<Value> = frames
        .iter()
        .map(|frame| {
            let mut value = json!({ "name": frame.name });
            if !frame.file.is_empty() {
                value["file"] = json!(frame.file);
                value["line"] = json!(frame.line);
            }
            value
        })
        .collect();
    let matters = graphs.get(1).is_some_and(|graph| !graph.stacks.is_empty());
    let command = analysis.sessions.last().map_or_else(
        || "causal profile".to_owned(),
        |session| one_line(&session.command.join(" ")),
    );
    let file = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": concat!("coz-rs@", env!("CARGO_PKG_VERSION")),
        "name": command,
        "activeProfileIndex": usize::from(matters),
        "shared": { "frames": frames },
        "profiles": graphs.iter().map(profile).collect::<Vec<Value>>(),
    });
    format!("{file}\n")
}

fn profile(graph: &Graph) -> Value {
    let unit = graph.milliseconds.unwrap_or(1.0);
    let weights: Vec<f64> = graph
        .stacks
        .iter()
        .map(|stack| stack.weight * unit)
        .collect();
    let samples: Vec<&[usize]> = graph.stacks.iter().map(|stack| &stack.frames[..]).collect();
    json!({
        "type": "sampled",
        "name": graph.name,
        "unit": if graph.milliseconds.is_some() { "milliseconds" } else { "none" },
        "startValue": 0,
        "endValue": weights.iter().sum::<f64>(),
        "samples": samples,
        "weights": weights,
    })
}
