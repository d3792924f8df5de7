//! One line on the terminal while the program runs; nothing when standard error is none.

use std::io::{IsTerminal as _, Write as _};

use super::outcome::Learned;

/// The line.
#[derive(Debug)]
pub struct StatusLine {
    enabled: bool,
    shown: bool,
    next: u64,
    /// The best line so far, as text.
    pub best: Option<String>,
}

/// Time between two versions, ns.
const EVERY: u64 = 1_000_000_000;

impl StatusLine {
    /// A line, if standard error is a terminal.
    #[must_use]
    pub fn new() -> StatusLine {
        StatusLine {
            enabled: std::io::stderr().is_terminal(),
            shown: false,
            next: 0,
            best: None,
        }
    }

    /// Shows what was learned so far.
    pub fn show(&mut self, time: u64, learned: &Learned, until: Option<u64>) {
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
        self.shown = true;
        // A terminal that is gone is no reason to stop.
        let _ = write!(std::io::stderr(), "\r\x1b[2K{text}");
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

impl Default for StatusLine {
    fn default() -> Self {
        Self::new()
    }
}
