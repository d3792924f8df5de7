//! A file for the Firefox Profiler, in its processed format: one track as wide as lines are hot, and
//! one for each progress point as wide as lines matter.

use std::time::{Duration, SystemTime};

use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, ReferenceTimestamp,
    SamplingInterval, Timestamp, WeightType,
};

use super::stacks::{Graph, stacks};
use crate::estimates::Analysis;
use crate::safe_text::one_line;

/// Weights are whole numbers there: hundredths of a percent are enough.
const OF_A_PERCENT: f64 = 100.0;

/// The file.
///
/// # Errors
/// Never for an analysis of [`crate::estimates::analyse`]; the type allows for it.
pub fn firefox(analysis: &Analysis) -> serde_json::Result<String> {
    let session = analysis.sessions.last();
    let command = session.map_or_else(
        || "causal profile".to_owned(),
        |session| one_line(&session.command.join(" ")),
    );
    let started = Duration::from_nanos(analysis.started.unwrap_or(0));
    let period = session.map_or(0, |session| session.period).max(1_000_000);
    let start = ReferenceTimestamp::from(SystemTime::UNIX_EPOCH + started);
    let interval = SamplingInterval::from_nanos(period);
    let mut profile = Profile::new(&command, start, interval);
    profile.set_symbolicated(true);
    let zero = Timestamp::from_millis_since_reference(0.0);
    let process = profile.add_process(&command, 1, zero);
    let all = stacks(analysis);
    for (number, graph) in all.graphs.iter().enumerate() {
        let tid = u32::try_from(number).unwrap_or(u32::MAX);
        let thread = profile.add_thread(process, tid, zero, number == 0);
        profile.set_thread_name(thread, &title(graph));
        profile.set_thread_samples_weight_type(thread, WeightType::Samples);
        for (at, stack) in graph.stacks.iter().enumerate() {
            let labels = stack
                .frames
                .iter()
                .filter_map(|frame| all.frames.get(*frame));
            let frames: Vec<FrameInfo> = labels
                .map(|frame| FrameInfo {
                    frame: Frame::Label(profile.intern_string(&frame.name)),
                    category_pair: CategoryHandle::OTHER.into(),
                    flags: FrameFlags::empty(),
                })
                .collect();
            let chain = profile.intern_stack_frames(thread, frames.into_iter());
            let time = Timestamp::from_millis_since_reference(at as f64);
            profile.add_sample(
                thread,
                time,
                chain,
                CpuDelta::ZERO,
                weight(graph, stack.weight),
            );
        }
    }
    let mut text = serde_json::to_string(&profile)?;
    text.push('\n');
    Ok(text)
}

fn title(graph: &Graph) -> String {
    if graph.is_samples {
        graph.name.clone()
    } else {
        format!("{} × {OF_A_PERCENT}", graph.name)
    }
}

fn weight(graph: &Graph, weight: f64) -> i32 {
    let factor = if graph.is_samples { 1.0 } else { OF_A_PERCENT };
    // Casts of floats stop at the ends of the type.
    (weight * factor).round() as i32
}
