//! Programs with known curves, measured with noise like that of real windows.

use coz_rs_plot::record::{Experiment, PointEdges, Record};

/// SplitMix64 (Steele, Lea and Flood, 2014): one seed, the same numbers everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between 0 and 1, never 0.
    pub fn part(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.part() * count as f64) as usize
    }

    /// The standard normal distribution (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.part().ln()).sqrt() * (std::f64::consts::TAU * self.part()).cos()
    }
}

/// A line of a simulated program.
#[derive(Debug, Clone)]
pub struct Line {
    pub location: String,
    /// Program speedup per speedup of the line,
    pub slope: f64,
    /// up to this one,
    pub knee: f64,
    /// and from there on.
    pub after: f64,
    /// Standard deviation of the log period of a window at s = 0 and at s = 1.
    pub noise: (f64, f64),
}

impl Line {
    pub fn gain(&self, speedup: f64) -> f64 {
        self.slope * speedup.min(self.knee) + self.after * (speedup - self.knee).max(0.0)
    }
}

/// A program being measured.
pub struct Program {
    pub random: Random,
    pub period: f64,
    pub block: u64,
    pub records: Vec<Record>,
    /// Part of the windows during which another program takes a processor.
    pub disturbed: f64,
}

impl Program {
    pub fn new(seed: u64) -> Program {
        Program {
            random: Random::new(seed),
            period: 1e6,
            block: 0,
            records: vec![Record::Startup { time: 1 }],
            disturbed: 0.0,
        }
    }

    /// One paired block, in a random order, while the program's pace drifts.
    pub fn measure(&mut self, line: &Line, speedup: f64) {
        self.block += 1;
        self.period *= (0.05 * self.random.normal()).exp();
        let orders: [&[bool]; 3] = [&[false, true], &[true, false], &[false, true, false]];
        for at_speedup in orders[self.random.below(3)] {
            let s = if *at_speedup { speedup } else { 0.0 };
            let noise = line.noise.0 + (line.noise.1 - line.noise.0) * s;
            let period = self.period * (1.0 - line.gain(s)) * (noise * self.random.normal()).exp();
            let disturbed = self.disturbed > 0.0 && self.random.part() < self.disturbed;
            let period = if disturbed { period * 1.4 } else { period };
            let visits = 40 + self.random.below(200) as u64;
            let duration = (period * visits as f64) as u64;
            self.records.push(Record::Experiment(Experiment {
                selected: line.location.clone(),
                speedup: s,
                duration,
                selected_samples: 10,
                block: Some(self.block),
                wall: Some(duration),
                waited: Some(if disturbed { 0.5 } else { 0.02 }),
                edges: vec![PointEdges {
                    name: "point".to_owned(),
                    visits,
                    duration,
                    wall: duration,
                }],
                ..Experiment::default()
            }));
            self.records.push(Record::ThroughputPoint {
                name: "point".to_owned(),
                delta: visits,
            });
        }
    }
}
