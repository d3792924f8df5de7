//! The pictures that are searched: an index of pictures that might be alike, and their ranking.

use crate::picture::painted;
use crate::regions::{Feature, Features, NUMBERS, extract, segment};

/// Bits of a picture's signature.
const BITS: usize = 16;
/// Pictures whose signatures differ in more bits are not compared.
const FARTHEST: u32 = 7;
/// Matches that are kept.
const BEST: usize = 10;

/// A picture that is like the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    pub picture: u32,
    /// 0 for the same.
    pub distance: f32,
}

struct Entry {
    features: Features,
    signature: u16,
}

/// All pictures.
pub struct Database {
    entries: Vec<Entry>,
}

impl Database {
    /// A database of the pictures below a number.
    pub fn of(pictures: u64) -> Self {
        let entry = |number| {
            let picture = painted(number);
            let features = extract(&picture, &segment(&picture));
            let signature = signature(&features);
            Entry {
                features,
                signature,
            }
        };
        Self {
            entries: (0..pictures).map(entry).collect(),
        }
    }

    /// The pictures whose signatures are near the query's.
    #[inline(never)]
    pub fn candidates(&self, query: &Features) -> Vec<u32> {
        let wanted = signature(query);
        let near = |entry: &Entry| (entry.signature ^ wanted).count_ones() <= FARTHEST;
        (0..)
            .zip(&self.entries)
            .filter_map(|(number, entry)| near(entry).then_some(number))
            .collect()
    }

    /// The best of the candidates, the best first.
    #[inline(never)]
    pub fn rank(&self, query: &Features, candidates: &[u32]) -> Vec<Match> {
        let matched = |&picture: &u32| Match {
            picture,
            distance: distance(query, &self.entries[picture as usize].features),
        };
        let mut matches: Vec<Match> = candidates.iter().map(matched).collect();
        matches.sort_by(|a, b| {
            let by_number = a.picture.cmp(&b.picture);
            a.distance.total_cmp(&b.distance).then(by_number)
        });
        matches.truncate(BEST);
        matches
    }
}

/// On which side of some random planes the weighted mean of the regions is.
fn signature(features: &Features) -> u16 {
    let mut mean = [0.0; NUMBERS];
    let weight: f32 = features.iter().map(|feature| feature.weight).sum();
    for feature in features {
        for (mean, number) in mean.iter_mut().zip(feature.numbers) {
            *mean += number * feature.weight / weight;
        }
    }
    let mut state = 5_u64;
    let mut signature = 0;
    for bit in 0..BITS {
        let mut side = 0.0;
        for number in mean {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let direction = (state >> 40) as f32 / (1 << 23) as f32 - 1.0;
            side += direction * (number - 1.0 / NUMBERS as f32);
        }
        signature |= u16::from(side > 0.0) << bit;
    }
    signature
}

/// How much has to be moved how far to make one picture's regions of the other's: a greedy earth
/// mover, which always moves to the nearest region that has room.
fn distance(from: &Features, to: &Features) -> f32 {
    let mut room: Vec<f32> = to.iter().map(|feature| feature.weight).collect();
    let mut total = 0.0;
    for feature in from {
        let ways: Vec<f32> = to.iter().map(|other| way(feature, other)).collect();
        let mut left = feature.weight;
        while left > 1e-6 {
            let open = (0..ways.len()).filter(|&at| room[at] > 1e-6);
            let Some(nearest) = open.min_by(|&a, &b| ways[a].total_cmp(&ways[b])) else {
                // Nowhere to go: as far as any two regions can be apart.
                total += left * 4.0;
                break;
            };
            let moved = left.min(room[nearest]);
            total += moved * ways[nearest];
            room[nearest] -= moved;
            left -= moved;
        }
    }
    total
}

/// Euclidean distance of two regions.
fn way(a: &Feature, b: &Feature) -> f32 {
    let squares = a
        .numbers
        .iter()
        .zip(b.numbers)
        .map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_finds_itself_first() {
        let database = Database::of(60);
        for number in [0, 30, 59] {
            let features = database.entries[number].features.clone();
            let candidates = database.candidates(&features);
            assert!(candidates.contains(&(number as u32)));
            let ranked = database.rank(&features, &candidates);
            assert_eq!(ranked[0].picture as usize, number);
            assert!(ranked[0].distance < 1e-3, "{ranked:?}");
            assert!(
                ranked
                    .windows(2)
                    .all(|pair| pair[0].distance <= pair[1].distance)
            );
        }
    }
}
