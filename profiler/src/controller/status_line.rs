//! What the user sees while the program runs: one line on the terminal, or the live view; nothing when
//! standard error is no terminal.

use std::io::{IsTerminal as _, Write as _};
use std::process::Stdio;

use coz_rs_plot::estimates::{Analysis, LineEstimate, percent};
use coz_rs_plot::safe_text::one_line;
use nix::sys::signal::{Signal, raise};
use terminal_size::{Width, terminal_size_of};
use unicode_width::UnicodeWidthChar as _;

use super::outcome::Learned;
use crate::line_tally::LineTally;
use crate::live::Live;

/// The line, or the view.
#[derive(Debug)]
pub struct StatusLine {
    enabled: bool,
    shown: bool,
    next: u64,
    /// The best line so far, as text.
    best: Option<String>,
    live: Option<Live>,
}

/// Time between two versions, ns.
const EVERY: u64 = 1_000_000_000;

impl StatusLine {
    /// A line, if standard error is a terminal.
    #[must_use]
    pub fn new() -> StatusLine {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        StatusLine {
            enabled: std::io::stderr().is_terminal() && !dumb,
            shown: false,
            next: 0,
            best: None,
            live: None,
        }
    }

    /// Takes the whole terminal, in place of a line.
    ///
    /// # Errors
    /// If there is no terminal.
    pub fn go_live(&mut self, command: &str) -> anyhow::Result<()> {
        self.live = Some(Live::start(command)?);
        Ok(())
    }

    /// What stands in for the program's standard output and error.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn program_output(&self) -> anyhow::Result<(Option<Stdio>, Option<Stdio>)> {
        match &self.live {
            Some(live) => live.program_output(),
            None => Ok((None, None)),
        }
    }

    /// Takes in what is known by now.
    pub fn learn(&mut self, analysis: &Analysis, tally: &LineTally) {
        let first = analysis
            .points
            .first()
            .and_then(|point| point.lines.first());
        self.best = first.and_then(describe);
        if let Some(live) = &self.live {
            live.learn(analysis, &|location| tally.share(location));
        }
    }

    /// The window that begins now.
    pub fn window(&self, location: &str, speedup: f64) {
        if let Some(live) = &self.live {
            live.window(location, speedup);
        }
    }

    /// Shows what was learned so far.
    pub fn show(&mut self, time: u64, learned: &Learned, until: Option<u64>) {
        if let Some(live) = &self.live {
            live.count(learned.experiments(), until);
            return;
        }
        if !self.enabled || time < self.next {
            return;
        }
        self.next = time + EVERY;
        let mut text = match learned.experiments() {
            0 => "coz-rs: looking around".to_owned(),
            1 => "coz-rs: 1 experiment".to_owned(),
            count => format!("coz-rs: {count} experiments"),
        };
        if let Some(until) = until {
            let left = until.saturating_sub(time) / 1_000_000_000;
            text.push_str(&format!(", {left} s left"));
        }
        if let Some(best) = &self.best {
            text.push_str("; best so far ");
            text.push_str(best);
        }
        // A line that the terminal breaks could not be taken back.
        let columns = terminal_size_of(std::io::stderr()).map_or(80, |(Width(width), _)| width);
        let text = cut(&text, usize::from(columns).saturating_sub(1));
        self.shown = true;
        // A terminal that is gone is no reason to stop.
        let _ = write!(std::io::stderr(), "\r\x1b[2K{text}");
    }

    /// Says a sentence in the line's place; not where the view has the terminal.
    pub fn say(&mut self, sentence: &str) {
        self.clear();
        if self.live.is_none() {
            let _ = writeln!(std::io::stderr(), "coz-rs: {sentence}");
        }
    }

    /// Takes the line away, at the end of one run of the program.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }

    /// Gives the terminal back, at the end of everything.
    pub fn close(&mut self) {
        self.clear();
        self.live = None;
    }

    /// The user stops us from the terminal, and the program with us.
    pub fn stop_with_program(&mut self) {
        self.clear();
        if let Some(live) = &mut self.live {
            live.suspend();
        }
        // Returns when somebody continues us.
        let _ = raise(Signal::SIGSTOP);
        if let Some(live) = &mut self.live {
            live.resume();
        }
    }
}

impl Default for StatusLine {
    fn default() -> Self {
        Self::new()
    }
}

/// The text, as far as it fits into so many columns.
fn cut(text: &str, columns: usize) -> String {
    let mut left = columns;
    let fits = |character: &char| {
        let wide = character.width().unwrap_or(0);
        left.checked_sub(wide).map(|rest| left = rest).is_some()
    };
    text.chars().take_while(fits).collect()
}

fn describe(line: &LineEstimate) -> Option<String> {
    let best = line.best.filter(|best| best.low > 0.0)?;
    let file = line.location.rsplit('/').next().unwrap_or(&line.location);
    let half = (best.high - best.low) * 50.0;
    Some(format!(
        "{} {} ± {half:.1} points",
        one_line(file),
        percent(best.gain)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_the_terminal() {
        assert_eq!(cut("größe: 界界界", 9), "größe: 界");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(cut("abc", 80), "abc");
    }
}
