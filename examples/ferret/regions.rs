//! Segmenting a picture into regions of one colour, and extracting numbers from them.

use crate::picture::{Picture, SIDE};

/// Regions that count: the largest.
const REGIONS: usize = 12;
/// Steps of a colour channel in a histogram.
const STEPS: usize = 3;
/// Numbers that describe a region: histogram, place, size and spread.
pub const NUMBERS: usize = STEPS * STEPS * STEPS + 5;

/// Pixels of about one colour that touch.
pub struct Region {
    pixels: Vec<u32>,
}

/// A region in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Its part of the picture.
    pub weight: f32,
    pub numbers: [f32; NUMBERS],
}

/// A picture in numbers.
pub type Features = Vec<Feature>;

/// The largest regions of a picture, by growing each from its first pixel.
#[inline(never)]
pub fn segment(picture: &Picture) -> Vec<Region> {
    let coarse = |at: usize| picture.pixels[at].map(|channel| channel / 48);
    let mut seen = vec![false; SIDE * SIDE];
    let mut regions = Vec::new();
    for first in 0..SIDE * SIDE {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let colour = coarse(first);
        let mut pixels = vec![first as u32];
        let mut next = 0;
        while let Some(&at) = pixels.get(next) {
            next += 1;
            let at = at as usize;
            let (x, y) = (at % SIDE, at / SIDE);
            let around = [
                (x > 0).then(|| at - 1),
                (x + 1 < SIDE).then_some(at + 1),
                (y > 0).then(|| at - SIDE),
                (y + 1 < SIDE).then_some(at + SIDE),
            ];
            for other in around.into_iter().flatten() {
                if !seen[other] && coarse(other) == colour {
                    seen[other] = true;
                    pixels.push(other as u32);
                }
            }
        }
        regions.push(Region { pixels });
    }
    regions.sort_by_key(|region| std::cmp::Reverse(region.pixels.len()));
    regions.truncate(REGIONS);
    regions
}

/// The numbers of each region.
#[inline(never)]
pub fn extract(picture: &Picture, regions: &[Region]) -> Features {
    regions
        .iter()
        .map(|region| feature(picture, region))
        .collect()
}

fn feature(picture: &Picture, region: &Region) -> Feature {
    let count = region.pixels.len() as f32;
    let mut numbers = [0.0; NUMBERS];
    let (mut x, mut y, mut squares) = (0.0, 0.0, 0.0);
    for &at in &region.pixels {
        let bin = picture.pixels[at as usize].iter().fold(0, |bin, &channel| {
            bin * STEPS + usize::from(channel) * STEPS / 256
        });
        numbers[bin] += 1.0 / count;
        let (column, row) = ((at as usize % SIDE) as f32, (at as usize / SIDE) as f32);
        x += column / SIDE as f32;
        y += row / SIDE as f32;
        squares += (column * column + row * row) / (SIDE * SIDE) as f32;
    }
    let (x, y) = (x / count, y / count);
    let area = count / (SIDE * SIDE) as f32;
    let spread = (squares / count - x * x - y * y).max(0.0);
    numbers[NUMBERS - 5..].copy_from_slice(&[x, y, area, spread.sqrt(), area / (spread + 0.01)]);
    Feature {
        weight: area,
        numbers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::painted;

    #[test]
    fn regions_do_not_overlap_and_cover_most() {
        let picture = painted(3);
        let regions = segment(&picture);
        let mut pixels: Vec<u32> = regions
            .iter()
            .flat_map(|region| region.pixels.clone())
            .collect();
        let count = pixels.len();
        pixels.sort_unstable();
        pixels.dedup();
        assert_eq!(pixels.len(), count);
        assert!(count > SIDE * SIDE / 2, "{count}");
    }

    #[test]
    fn a_histogram_adds_up_to_one() {
        let picture = painted(4);
        for feature in extract(&picture, &segment(&picture)) {
            let sum: f32 = feature.numbers[..NUMBERS - 5].iter().sum();
            assert!((sum - 1.0).abs() < 1e-3, "{sum}");
            assert!((0.0..=1.0).contains(&feature.weight));
        }
    }
}
