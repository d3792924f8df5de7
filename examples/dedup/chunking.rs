//! Content-defined chunks: a boundary is where a rolling hash of the last bytes has zeros, so that
//! an insertion moves the boundaries near it and no others.
//!
//! The rolling hash is a gear hash: shift, and add a random number for the byte. A byte leaves it
//! after 64 shifts.

/// No chunk but the last of a piece is shorter.
const SHORTEST: usize = 1024;
/// No chunk is longer.
const LONGEST: usize = 16 * 1024;
/// A boundary is where these bits are zero; twelve of them make chunks of about 5 KB. The high
/// ones, since they depend on the most bytes.
const MASK: u64 = 0xfff << 52;

/// A random number for each byte, the same in every build.
static GEAR: [u64; 256] = gear();

/// The numbers of splitmix64 (Steele, Lea and Flood 2014).
const fn gear() -> [u64; 256] {
    let mut numbers = [0; 256];
    let mut state = 0_u64;
    let mut at = 0;
    while at < numbers.len() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        numbers[at] = mixed ^ (mixed >> 31);
        at += 1;
    }
    numbers
}

/// Cuts the first chunk off: the chunk and the rest.
pub fn cut(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.len().min(LONGEST);
    let start = end.min(SHORTEST);
    let mut hash = 0_u64;
    for (at, &byte) in bytes[start..end].iter().enumerate() {
        hash = (hash << 1).wrapping_add(GEAR[usize::from(byte)]);
        if hash & MASK == 0 {
            return bytes.split_at(start + at + 1);
        }
    }
    bytes.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, SHORTEST, cut};

    fn chunks(mut bytes: &[u8]) -> Vec<&[u8]> {
        let mut chunks = Vec::new();
        while !bytes.is_empty() {
            let (chunk, rest) = cut(bytes);
            chunks.push(chunk);
            bytes = rest;
        }
        chunks
    }

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn chunks_are_the_whole_and_keep_their_bounds() {
        let bytes = noise(1 << 20);
        let chunks = chunks(&bytes);
        assert_eq!(chunks.concat(), bytes);
        let (last, others) = chunks.split_last().expect("a megabyte has chunks");
        assert!(
            others
                .iter()
                .all(|chunk| (SHORTEST..=LONGEST).contains(&chunk.len()))
        );
        assert!(last.len() <= LONGEST);
        let mean = bytes.len() / chunks.len();
        assert!((3_500..6_500).contains(&mean), "mean {mean}");
    }

    #[test]
    fn an_insertion_changes_few_chunks() {
        let before = noise(1 << 20);
        let mut after = before.clone();
        after.splice(500_000..500_000, *b"inserted");
        let old: std::collections::HashSet<&[u8]> = chunks(&before).into_iter().collect();
        let new = chunks(&after)
            .into_iter()
            .filter(|chunk| !old.contains(chunk))
            .count();
        assert!((1..=6).contains(&new), "{new} new chunks");
    }
}
