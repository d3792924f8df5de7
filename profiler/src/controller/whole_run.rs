//! One run of the program as one window, end to end: its progress is its own end.
//!
//! The line is selected as soon as a process arrives that has it. Virtual run time is wall time
//! minus the pauses of the thread that ends the program, its main one: those it slept, those it
//! was excused from while others had them, and those that its own hits asked of others.

use super::attribution::renew_modules;
use super::{Controller, DEADLINE, block};
use crate::clock::now;
use crate::doubt::Doubt;
use crate::symbols::Symbols;
use crate::targets::shared_region::PlanToPublish;
use crate::targets::target::Target;

/// What a run is to be like.
#[derive(Debug, Clone, Default)]
pub struct WholeRun {
    /// The selected line, if it is more than a survey of the lines.
    pub line: Option<String>,
    /// The virtual speedup, 0..=1.
    pub speedup: f64,
    /// By how many bytes the environment is longer, which moves the stack.
    pub padding: usize,
}

/// What a run was like.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunMeasured {
    /// From start to end, ns.
    pub wall: u64,
    /// Without pauses, ns.
    pub duration: u64,
    /// When the line was selected, ns from the start; nothing if it never was.
    pub selected_after: Option<u64>,
    /// Hits.
    pub hits: u64,
    /// Samples.
    pub samples: u64,
    /// Where the stack began in its page.
    pub layout: Option<u64>,
}

/// The run under way.
#[derive(Debug)]
pub(super) struct Whole {
    pub wanted: WholeRun,
    /// The target that has the line.
    target: Option<u32>,
    pub measured: RunMeasured,
    paused: u64,
}

impl Whole {
    pub fn new(wanted: WholeRun) -> Whole {
        Whole {
            wanted,
            target: None,
            measured: RunMeasured::default(),
            paused: 0,
        }
    }

    /// Selects the line in a target that has just arrived, if it has it.
    fn select(&mut self, target: &mut Target, doubts: &mut std::collections::BTreeSet<Doubt>) {
        let Some(location) = &self.wanted.line else {
            return;
        };
        renew_modules(target, doubts);
        let Some(symbols) = &mut target.symbols else {
            return;
        };
        let Ok(id) = symbols.find_line(location) else {
            return;
        };
        let ranges = symbols.hit_ranges(id);
        if !ranges.fit() {
            doubts.insert(Doubt::TooManyRanges {
                location: location.clone(),
            });
        }
        target.region.set_deadline(now() + DEADLINE);
        target.region.publish_plan(&PlanToPublish {
            window: 1,
            line: 1,
            speedup: self.wanted.speedup,
            ranges: &ranges,
            // Not known before the program has run.
            crowded: false,
        });
        target.region.set_active(true);
        self.target = Some(target.number);
    }

    /// Takes in what a target leaves behind.
    pub fn note_end(&mut self, target: &Target) {
        if self.target != Some(target.number) {
            return;
        }
        let ledgers = target.region.ledgers();
        // The main thread has the process's id; if it left the process to others, they all are
        // somewhere before G.
        self.paused = target.region.paused_by(target.pid).unwrap_or(ledgers.g);
        self.measured.hits = ledgers.hits;
        self.measured.samples = ledgers.samples;
    }

    /// What the run was like.
    pub fn finish(&mut self, wall: u64) -> RunMeasured {
        self.measured.wall = wall;
        self.measured.duration = wall.saturating_sub(self.paused);
        self.measured
    }
}

impl Controller<'_> {
    /// Selects the line of a whole run in a target that has just arrived.
    pub(super) fn begin_whole_run(&mut self, mut target: Target) -> Target {
        let Some(whole) = &mut self.whole else {
            return target;
        };
        if whole.target.is_some() || whole.wanted.line.is_none() {
            return target;
        }
        let session = &mut *self.session;
        let scope = session.plan.scope.clone();
        target.symbols = Some(Symbols::new(scope, &target.executable));
        whole.select(&mut target, &mut session.doubts);
        if whole.target.is_some() {
            whole.measured.selected_after = Some(now().saturating_sub(self.started));
            whole.measured.layout = stack_in_page(target.pid);
        }
        target
    }

    /// Keeps the window of a whole run in force.
    pub(super) fn go_on_with_whole_run(&mut self) {
        self.look_around();
        let selected = self.whole.as_ref().and_then(|whole| whole.target);
        for target in &mut self.targets {
            if Some(target.number) == selected {
                target.region.set_deadline(now() + DEADLINE);
                target.blocking.go_on(target.pid, &target.region);
            } else {
                block::release(target);
            }
        }
    }
}

/// Bytes of a page of x86-64.
const PAGE: u64 = 4096;

/// Where in its page the main stack of a process begins: field 28 of its stat (proc_pid_stat(5)).
fn stack_in_page(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let start = field_after_name(&stat, 28)?;
    (start > 0).then_some(start % PAGE)
}

/// A field of stat by its number in the manual; the name, field 2, may hold anything.
fn field_after_name(stat: &str, number: usize) -> Option<u64> {
    let rest = stat.get(stat.rfind(')')? + 1..)?;
    rest.split_whitespace().nth(number - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_behind_the_strangest_name() {
        let rest: Vec<String> = (3..=52).map(|number| number.to_string()).collect();
        let stat = format!("7 (a) b 1 2) {}", rest.join(" "));
        assert_eq!(field_after_name(&stat, 28), Some(28));
        assert_eq!(field_after_name("7 (x", 28), None);
        assert_eq!(field_after_name("7 (x) S 1", 28), None);
    }

    #[test]
    fn our_own_stack_begins_somewhere_in_a_page() {
        let start = stack_in_page(std::process::id());
        assert!(start.is_none_or(|start| start < PAGE && start % 8 == 0));
    }
}
