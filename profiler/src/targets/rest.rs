//! When the samples of a target are not wanted: no experiment is under way or could begin, because no
//! progress point is visited or no line in scope is sampled, and what it does is known by now. The perf event is then switched off but for a moment each second,
//! in which changes of what the program does are seen.

/// Samples that are taken before the first rest, and again after something new: lines with a
/// hundredth of the time are among them.
const ENOUGH: u64 = 1_000;
/// The moment, ns of wall time,
const MOMENT: u64 = 50_000_000;
/// and how long a rest lasts, ns.
const REST: u64 = 950_000_000;

/// What is known of a target now.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// ns of `CLOCK_MONOTONIC`.
    pub time: u64,
    /// Samples of it so far,
    pub samples: u64,
    /// and those of them on lines in scope.
    pub in_scope: u64,
    /// Lines in scope would let experiments begin: points are visited.
    pub wants_lines: bool,
}

impl Seen {
    /// Whether lines that are wanted were sampled since then.
    fn finds_lines_since(&self, begin: &Seen) -> bool {
        self.wants_lines && self.in_scope > begin.in_scope
    }
}

/// Whether a target's samples rest.
#[derive(Debug, Default)]
pub struct Rest {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// Nothing is known.
    #[default]
    New,
    /// Samples are taken until there are enough, counted from here.
    Learning(Seen),
    /// Samples are taken for a moment, from here on.
    Moment(Seen),
    /// None are taken, until this time.
    Resting(u64),
}

impl Rest {
    /// Whether samples rest from now on. To be asked every few dozen ms.
    pub fn go_on(&mut self, seen: Seen) -> bool {
        match &self.state {
            State::New => self.state = State::Learning(seen),
            State::Learning(begin) => {
                if seen.samples.saturating_sub(begin.samples) >= ENOUGH {
                    self.state = if seen.finds_lines_since(begin) {
                        State::Learning(seen)
                    } else {
                        State::Resting(seen.time + REST)
                    };
                }
            }
            State::Moment(begin) => {
                if seen.finds_lines_since(begin) {
                    self.state = State::Learning(seen);
                } else if seen.time.saturating_sub(begin.time) >= MOMENT {
                    self.state = State::Resting(seen.time + REST);
                }
            }
            State::Resting(until) => {
                if seen.time >= *until {
                    self.state = State::Moment(seen);
                }
            }
        }
        matches!(self.state, State::Resting(_))
    }

    /// Samples are wanted: what was learned is not new any more.
    pub fn wake(&mut self) {
        self.state = State::New;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of 20 ms with so many samples a step; the part of them that is not at rest.
    fn awake(rest: &mut Rest, seen: &mut Seen, steps: u32, samples: u64, in_scope: u64) -> f64 {
        let mut awake = 0;
        for _ in 0..steps {
            seen.time += 20_000_000;
            if !rest.go_on(*seen) {
                awake += 1;
                seen.samples += samples;
                seen.in_scope += in_scope;
            }
        }
        f64::from(awake) / f64::from(steps)
    }

    #[test]
    fn it_learns_and_then_rests() {
        let (mut rest, mut seen) = (Rest::default(), Seen::default());
        assert!(awake(&mut rest, &mut seen, 10, 20, 0) > 0.99);
        awake(&mut rest, &mut seen, 50, 20, 0);
        let later = awake(&mut rest, &mut seen, 5_000, 20, 0);
        assert!((0.03..0.12).contains(&later), "{later}");
    }

    #[test]
    fn a_program_that_hardly_runs_is_always_sampled() {
        let (mut rest, mut seen) = (Rest::default(), Seen::default());
        assert!(awake(&mut rest, &mut seen, 999, 1, 0) > 0.99);
    }

    #[test]
    fn lines_that_appear_are_learned_if_they_are_wanted() {
        for (wants_lines, most_of_the_time) in [(true, true), (false, false)] {
            let (mut rest, mut seen) = (Rest::default(), Seen::default());
            seen.wants_lines = wants_lines;
            awake(&mut rest, &mut seen, 200, 20, 0);
            let later = awake(&mut rest, &mut seen, 500, 20, 1);
            assert_eq!(later > 0.8, most_of_the_time, "{later}");
        }
    }

    #[test]
    fn whoever_is_woken_learns_anew() {
        let (mut rest, mut seen) = (Rest::default(), Seen::default());
        awake(&mut rest, &mut seen, 100, 20, 0);
        rest.wake();
        assert!(awake(&mut rest, &mut seen, 20, 20, 0) > 0.99);
    }
}
