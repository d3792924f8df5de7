//! Random numbers of the suite and of the simulator: one seed, the same numbers everywhere.

/// SplitMix64 (G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between 0 and 1, never either.
    pub fn part(&mut self) -> f64 {
        ((self.any() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Less than `count`, which is not 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.part() * count as f64) as usize
    }

    /// The standard normal distribution (G. Box and M. Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.part().ln()).sqrt() * (std::f64::consts::TAU * self.part()).cos()
    }

    /// The exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.part().ln()
    }

    /// Puts a list into random order (R. Fisher and F. Yates, 1938).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = Random::new(1);
        let mut mean = |draw: fn(&mut Random) -> f64| -> f64 {
            (0..20_000).map(|_| draw(&mut random)).sum::<f64>() / 20_000.0
        };
        assert!((mean(Random::part) - 0.5).abs() < 0.01);
        assert!(mean(Random::normal).abs() < 0.03);
        assert!((mean(|random| random.normal().powi(2)) - 1.0).abs() < 0.05);
        assert!((mean(Random::exponential) - 1.0).abs() < 0.03);
    }

    #[test]
    fn shuffling_keeps_all_and_reaches_every_order() {
        let mut random = Random::new(2);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let mut list = [1, 2, 3];
            random.shuffle(&mut list);
            seen.insert(list);
        }
        assert_eq!(seen.len(), 6);
    }
}
