//! What the estimates say so far, for the choice of the next experiment and for the status line.

use coz_rs_plot::estimates::{Analysis, analyse};

use super::{Session, StatusLine};
use crate::clock::now;
use crate::line_tally::LineTally;

/// When the records are analysed again: often at first, and never for more than this part of the
/// time, as the program may need the processor.
#[derive(Debug, Clone, Copy, Default)]
pub struct Knowledge {
    next: u64,
}

const AT_MOST: u64 = 500;
const EVERY: u64 = 2_000_000_000;

impl Session {
    /// Analyses the records, if it is time to.
    pub fn think(&mut self) {
        let begin = now();
        if begin < self.knowledge.next {
            return;
        }
        let analysis = analyse(self.log.records());
        learn(&analysis, &mut self.tally, &mut self.status);
        let end = now();
        let pause = (end - begin).saturating_mul(AT_MOST).max(EVERY);
        self.knowledge.next = end.saturating_add(pause);
    }
}

fn learn(analysis: &Analysis, tally: &mut LineTally, status: &mut StatusLine) {
    tally.learn(analysis);
    status.learn(analysis, tally);
}
