//! What the scope left out, as text: which samples, by which rule, and the option that widens it.

use super::{Style, wrap};
use crate::estimates::{ScopeReport, percent};
use crate::record::ScopeNote;
use crate::safe_text::one_line;
use crate::short_names::shorten;

/// A paragraph for each rule that left out a good part of the samples; empty if none did.
pub(super) fn scope(report: &ScopeReport, most: usize, style: &Style) -> String {
    let mut notes: Vec<&ScopeNote> = report.worth_telling().collect();
    notes.sort_by_key(|note| std::cmp::Reverse(report.of_note(note)));
    let mut text = String::new();
    let part = |count: u64| percent(count as f64 / report.samples.max(1) as f64);
    if report.dropped * 100 >= report.samples && report.dropped > 0 {
        text.push_str(&wrap(
            &format!(
                "{} % of {} samples belong to no line in scope.",
                part(report.dropped),
                report.samples
            ),
            style.width,
        ));
    }
    for note in notes.iter().take(most) {
        text.push_str(&wrap(&sentence(note, report), style.width));
    }
    if let Some(more) = notes.len().checked_sub(most).filter(|more| *more > 0) {
        text.push_str(&format!("… and {more} more of 1 % or more\n"));
    }
    text
}

fn sentence(note: &ScopeNote, report: &ScopeReport) -> String {
    let part = |count: u64| percent(count as f64 / report.samples.max(1) as f64);
    let what = one_line(&note.what);
    let counted = report.of_note(note);
    let mut text = match (note.dropped, counted - note.dropped) {
        (dropped, 0) => format!("Left out: {} % in {what}", part(dropped)),
        (0, beneath) => {
            format!(
                "{} % in {what}, counted for your lines that call it",
                part(beneath)
            )
        }
        (dropped, beneath) => format!(
            "{} % in {what}: {} % counted for your lines that call it, {} % left out",
            part(counted),
            part(beneath),
            part(dropped)
        ),
    };
    let names = shorten(note.places.iter().map(|(place, _)| place.as_str()));
    let places: Vec<String> = note
        .places
        .iter()
        .filter_map(|(place, _)| names.get(place.as_str()))
        .map(|name| one_line(name))
        .collect();
    if !places.is_empty() {
        text.push_str(&format!(" (most in {})", places.join(", ")));
    }
    match &note.option {
        Some(option) => text.push_str(&format!("; `{}` selects there.", one_line(option))),
        None => text.push('.'),
    }
    text
}
