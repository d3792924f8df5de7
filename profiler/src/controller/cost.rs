//! What the profiling cost the program, for the summary.

use std::fmt;

/// Totals of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// How long the program ran, ns.
    pub ran: u64,
    /// How much of that virtual time stood still, ns: what the pauses took from it at most.
    pub paused: u64,
    /// Processor time of coz-rs itself, ns.
    pub own: u64,
}

impl fmt::Display for Cost {
    /// One sentence; empty if nothing ran.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ran == 0 {
            return Ok(());
        }
        let percent = |part: u64| part as f64 * 100.0 / self.ran as f64;
        write!(
            f,
            "The experiments' pauses took {:.0} % of the {:.1} s that the program ran, and coz-rs \
             itself used {:.0} % of one processor.",
            percent(self.paused.min(self.ran)),
            self.ran as f64 / 1e9,
            percent(self.own)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_of_the_run_time() {
        let cost = Cost {
            ran: 10_000_000_000,
            paused: 2_500_000_000,
            own: 300_000_000,
        };
        assert_eq!(
            cost.to_string(),
            "The experiments' pauses took 25 % of the 10.0 s that the program ran, and coz-rs \
             itself used 3 % of one processor."
        );
        assert_eq!(Cost::default().to_string(), "");
    }
}
