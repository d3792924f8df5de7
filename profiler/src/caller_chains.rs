//! The chains of calls that led to lines, counted: for the report, and for flame graphs.
//!
//! Addresses become frames once each; a sample then costs a few look-ups. What is kept is bounded: so
//! many frames of a chain, so many chains of a line.

use std::collections::HashMap;

use coz_rs_plot::record::{CallerChain, CallerFrame};

use crate::symbols::Frame;

/// Frames kept of one chain, innermost first.
const DEPTH: usize = 24;
/// Different chains kept of one line.
const CHAINS: usize = 200;
/// Chains of one line that are told at a time, those with most new samples.
const TOLD: usize = 8;

/// A frame at an address.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Its number, if it is worth telling.
    frame: Option<u32>,
    /// Whether samples may belong to its line.
    in_scope: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    all: u64,
    /// Of which the profile already tells.
    told: u64,
}

/// The chains of all lines.
#[derive(Debug, Clone, Default)]
pub struct CallerChains {
    frames: Vec<CallerFrame>,
    numbers: HashMap<CallerFrame, u32>,
    /// The frames at each address of each target, innermost first.
    places: HashMap<(u32, u64), Box<[Place]>>,
    /// By target, which state of its modules the places are of.
    generations: HashMap<u32, u64>,
    by_line: HashMap<usize, HashMap<Box<[u32]>, Count>>,
}

impl CallerChains {
    /// Counts a sample of a line of a target: `addresses` go outwards, `generation` changes when
    /// they come to mean something else, `frames` gives the frames at one of them, innermost first.
    pub fn count(
        &mut self,
        (target, generation): (u32, u64),
        line: usize,
        addresses: &[u64],
        weight: u64,
        mut frames: impl FnMut(u64) -> Vec<Frame>,
    ) {
        if self.generations.insert(target, generation) != Some(generation) {
            self.places.retain(|(owner, _), _| *owner != target);
        }
        let mut chain: Vec<u32> = Vec::new();
        let mut owner_seen = false;
        for &address in addresses {
            let key = (target, address);
            if !self.places.contains_key(&key) {
                let places = frames(address).into_iter().map(|frame| self.place(frame));
                let places = places.collect();
                self.places.insert(key, places);
            }
            for place in self.places.get(&key).into_iter().flatten() {
                match place.frame {
                    // Recursion on one line is one frame.
                    Some(frame) if owner_seen && chain.last() != Some(&frame) => chain.push(frame),
                    _ => {}
                }
                owner_seen |= place.in_scope;
            }
            if chain.len() >= DEPTH {
                chain.truncate(DEPTH);
                break;
            }
        }
        let chains = self.by_line.entry(line).or_default();
        if let Some(count) = chains.get_mut(&chain[..]) {
            count.all += weight;
        } else if chains.len() < CHAINS {
            let count = Count {
                all: weight,
                told: 0,
            };
            chains.insert(chain.into_boxed_slice(), count);
        }
    }

    fn place(&mut self, frame: Frame) -> Place {
        let in_scope = frame.in_scope;
        if !frame.is_users {
            return Place {
                frame: None,
                in_scope,
            };
        }
        let location = format!("{}:{}", frame.file, frame.line);
        let frame = CallerFrame(frame.function, location);
        let number = match self.numbers.get(&frame) {
            Some(number) => *number,
            None => {
                // Frames come from addresses of 32-bit distances, as lines do.
                let number = self.frames.len() as u32;
                self.frames.push(frame.clone());
                self.numbers.insert(frame, number);
                number
            }
        };
        Place {
            frame: Some(number),
            in_scope,
        }
    }

    /// The chains counted since they were told last, by line. Before the end, only those that have
    /// at least doubled: a long run tells each a few times.
    pub fn news(&mut self, is_end: bool) -> Vec<(usize, Vec<CallerChain>)> {
        let mut news = Vec::new();
        for (line, chains) in &mut self.by_line {
            let mut open: Vec<(&Box<[u32]>, &mut Count)> = chains
                .iter_mut()
                .filter(|(_, count)| count.all > count.told)
                .filter(|(_, count)| is_end || count.all >= 2 * count.told)
                .collect();
            open.sort_by(|(a, x), (b, y)| (y.all - y.told).cmp(&(x.all - x.told)).then(a.cmp(b)));
            let mut told = Vec::new();
            for (chain, count) in open.into_iter().take(TOLD) {
                let frames = chain
                    .iter()
                    .filter_map(|frame| self.frames.get(*frame as usize));
                told.push(CallerChain {
                    count: count.all - count.told,
                    frames: frames.cloned().collect(),
                });
                count.told = count.all;
            }
            if !told.is_empty() {
                news.push((*line, told));
            }
        }
        // The map's order is random; a profile should not be.
        news.sort_by_key(|(line, _)| *line);
        news
    }

    /// Forgets the addresses of a target that has ended.
    pub fn forget_target(&mut self, target: u32) {
        self.places.retain(|(owner, _), _| *owner != target);
        self.generations.remove(&target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Address 10 is the line `leaf`, inlined into `middle`; 20 and 30 are callers, 40 is of the
    /// system, 50 is `main`.
    fn frames(address: u64) -> Vec<Frame> {
        let frame = |function: &str, line: u32, users: bool| Frame {
            file: if users { "a.c" } else { "/usr/lib/start.c" }.to_owned(),
            line,
            function: function.to_owned(),
            in_scope: users,
            is_users: users,
        };
        match address {
            10 => vec![frame("leaf", 1, true), frame("middle", 2, true)],
            20 => vec![frame("first", 3, true)],
            30 => vec![frame("second", 4, true)],
            40 => vec![frame("start", 9, false)],
            _ => vec![frame("main", 5, true)],
        }
    }

    fn told(chains: &mut CallerChains, is_end: bool) -> Vec<(String, u64)> {
        let news = chains.news(is_end);
        let chain = |chain: &CallerChain| {
            let names: Vec<&str> = chain.frames.iter().map(CallerFrame::function).collect();
            (names.join(" < "), chain.count)
        };
        news.iter()
            .flat_map(|(_, chains)| chains.iter().map(chain))
            .collect()
    }

    #[test]
    fn chains_begin_above_the_line_and_leave_out_the_system() {
        let mut chains = CallerChains::default();
        for (stack, weight) in [(vec![10, 20, 40, 50], 3), (vec![40, 10, 30, 30, 50], 5)] {
            chains.count((1, 1), 0, &stack, weight, frames);
        }
        assert_eq!(
            told(&mut chains, false),
            [
                ("middle < second < main".to_owned(), 5),
                ("middle < first < main".to_owned(), 3)
            ]
        );
        assert_eq!(told(&mut chains, true), []);
        chains.count((1, 1), 0, &[10, 20, 50], 2, frames);
        assert_eq!(told(&mut chains, false), [], "3 have not doubled");
        assert_eq!(
            told(&mut chains, true),
            [("middle < first < main".to_owned(), 2)]
        );
    }

    #[test]
    fn addresses_mean_something_else_when_modules_change() {
        let mut chains = CallerChains::default();
        let other = |_| frames(30);
        chains.count((1, 1), 0, &[10, 20], 1, frames);
        chains.count((1, 1), 0, &[10, 20], 1, other);
        chains.count((2, 1), 0, &[20, 20], 1, other);
        assert_eq!(told(&mut chains, true).len(), 2);
        chains.count((1, 2), 0, &[10, 20], 1, |address| frames(address + 10));
        assert_eq!(told(&mut chains, true), [("second".to_owned(), 1)]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut chains = CallerChains::default();
        let deep = |address: u64| {
            let mut all = frames(50);
            all[0].line = address as u32;
            all
        };
        for number in 0..1000 {
            let stack: Vec<u64> = (0..100).map(|frame| number * 100 + frame).collect();
            chains.count((1, 1), 7, &stack, 1, deep);
        }
        let news = chains.news(true);
        assert_eq!((news[0].0, news[0].1.len()), (7, TOLD));
        assert!(news[0].1.iter().all(|chain| chain.frames.len() == DEPTH));
        assert_eq!(chains.by_line[&7].len(), CHAINS);
    }
}
