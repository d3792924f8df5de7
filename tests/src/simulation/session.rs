//! The profiler in a simulation: the real choices, windows, rates, tally and estimates, in the
//! order in which the controller uses them.

use coz_rs::experiments::choice::{Candidate, Chooser, LEVELS, Order, STEP};
use coz_rs::experiments::pacing::{SHORTEST, VisitRates};
use coz_rs::experiments::window::{Measured, Meter, Step, Terms, Void};
use coz_rs::line_tally::LineTally;
use coz_rs_plot::estimates::{Analysis, analyse};
use coz_rs_plot::record::{Experiment, PointEdges, Record};

use super::engine::{Engine, Noise};
use super::ledger::{Crediting, Window};
use super::program::Program;
use crate::random::Random;

/// Name of the only progress point.
const POINT: &str = "point";
/// The only target.
const TARGET: u32 = 1;
/// Samples after which experiments begin.
const WARM_SAMPLES: u64 = 200;
/// The records are analysed this often, ns.
const THINK: u64 = 2_000_000_000;
/// While nothing is measured the program is looked at this often, ns.
const LOOK: u64 = 20_000_000;

/// One run under the profiler.
#[derive(Debug)]
pub struct Session {
    engine: Engine,
    random: Random,
    chooser: Chooser,
    tally: LineTally<u32>,
    rates: VisitRates,
    records: Vec<Record>,
    counted: Vec<u64>,
    last_line: Option<usize>,
    windows: u64,
    blocks: u64,
    think: u64,
}

/// The place of a simulated line.
#[must_use]
pub fn location(line: usize) -> String {
    format!("simulated.c:{}", line + 1)
}

impl Session {
    /// A program that has just been started.
    #[must_use]
    pub fn new(program: &Program, noise: Noise, seed: u64) -> Session {
        let mut tally = LineTally::default();
        for line in 0..program.lines {
            tally.number(TARGET, line as u32, location(line), "main");
        }
        let mut session = Session {
            engine: Engine::new(program, Crediting::Smoothed, noise, seed),
            random: Random::new(seed ^ 0x5eed),
            chooser: Chooser::new(seed, None),
            tally,
            rates: VisitRates::default(),
            records: vec![Record::Startup { time: 1 }],
            counted: vec![0; program.lines],
            last_line: None,
            windows: 0,
            blocks: 0,
            think: 0,
        };
        while session.tally.in_scope() < WARM_SAMPLES {
            session.wait(LOOK);
            session.look_around();
        }
        session
    }

    /// Experiments until the program has run for so many seconds.
    pub fn run_until(&mut self, seconds: f64) {
        while (self.engine.time() as f64) < seconds * 1e9 {
            self.experiment();
        }
    }

    /// What the profile says.
    #[must_use]
    pub fn analysis(&self) -> Analysis {
        analyse(&self.records)
    }

    /// Seconds that the program has run.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.engine.time() as f64 * 1e-9
    }

    /// Lets the program run; the controller comes a little late, and sometimes more.
    fn wait(&mut self, span: u64) {
        let mut late = 5e4 * self.random.exponential();
        if self.random.part() < 0.02 {
            late += 1e6 * self.random.exponential();
        }
        self.engine.run(span + late as u64);
        self.rates.observe(&self.engine.observe());
    }

    fn look_around(&mut self) {
        for (line, counted) in self.counted.iter_mut().enumerate() {
            let samples = self.engine.line_samples()[line];
            self.tally.count(line, samples - *counted);
            *counted = samples;
        }
    }

    fn experiment(&mut self) {
        let busy = self.engine.busy_threads();
        let candidates = self.tally.candidates(TARGET, busy);
        let stay = self.last_line.filter(|_| self.chooser.stay());
        let line = stay.or_else(|| {
            let all: Vec<Candidate> = candidates.iter().map(|one| one.2.clone()).collect();
            self.chooser.line(&all)
        });
        let pace = self.rates.pace(SHORTEST, |_| true);
        let (Some(line), Some(pace)) = (line, pace) else {
            self.wait(LOOK);
            self.look_around();
            return;
        };
        let speedup = self.chooser.speedup(&candidates[line].2);
        let order = self.chooser.order();
        let changed = self.last_line != Some(line);
        let mut terms = Terms::of_block(changed, busy as u64, pace, 0);
        let mut measured = Vec::new();
        for at_speedup in order.windows() {
            let Some(one) = self.window(line, if *at_speedup { speedup } else { 0.0 }, &terms)
            else {
                self.look_around();
                return;
            };
            measured.push(one);
            terms.line_is_known();
        }
        self.blocks += 1;
        self.record(line, speedup, order, &measured);
        let level = (speedup * 100.0 / f64::from(STEP)).round() as usize;
        if let Some(line) = self.tally.line_mut(line)
            && (1..=LEVELS).contains(&level)
        {
            line.tried[level - 1] += 1;
        }
        self.look_around();
        if self.engine.time() >= self.think {
            self.think = self.engine.time() + THINK;
            let analysis = self.analysis();
            self.tally.learn(&analysis);
        }
    }

    fn window(&mut self, line: usize, speedup: f64, terms: &Terms) -> Option<Measured> {
        self.windows += 1;
        self.last_line = Some(line);
        self.engine.publish(Window {
            number: self.windows,
            line: Some(line),
            speedup: Window::millionths(speedup),
        });
        let mut meter = Meter::new(terms.clone(), self.engine.observe());
        loop {
            match meter.observe(self.engine.observe()) {
                Step::Again(span) => self.wait(span),
                Step::Done(measured) => return Some(measured),
                Step::Void(void) => {
                    self.note(void, line, speedup);
                    return None;
                }
            }
        }
    }

    fn note(&mut self, void: Void, line: usize, speedup: f64) {
        if void == Void::Standing
            && let Some(line) = self.tally.line_mut(line)
        {
            let level = (speedup * 100.0 / f64::from(STEP)).round() as usize;
            line.limit = line.limit.min(level.saturating_sub(1));
        }
    }

    fn record(&mut self, line: usize, speedup: f64, order: Order, measured: &[Measured]) {
        for (at_speedup, measured) in order.windows().iter().zip(measured) {
            let stretch = measured.stretches.first().copied().flatten();
            let edges = stretch.map(|stretch| PointEdges {
                name: POINT.to_owned(),
                visits: stretch.visits,
                duration: stretch.duration,
                wall: stretch.wall,
            });
            self.records.push(Record::Experiment(Experiment {
                selected: location(line),
                speedup: if *at_speedup { speedup } else { 0.0 },
                duration: measured.duration,
                selected_samples: measured.hits,
                block: Some(self.blocks),
                wall: Some(measured.wall),
                start: Some(measured.start),
                samples: Some(measured.samples),
                edges: edges.into_iter().collect(),
                ..Experiment::default()
            }));
            self.records.push(Record::ThroughputPoint {
                name: POINT.to_owned(),
                delta: measured.visits.first().copied().unwrap_or(0),
            });
        }
    }
}
