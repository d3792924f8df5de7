//! What the servers do for a request: Adler-32 (RFC 1950) stands for parsing and rendering.

/// The modulus of Adler-32.
const PRIME: u32 = 65_521;

/// What is done with bytes.
pub type Work = fn(&[u8]) -> u32;

/// Adler-32, with two remainders for every byte.
#[inline(never)]
pub fn checksum(text: &[u8]) -> u32 {
    let (mut low, mut high) = (1, 0);
    for byte in text.iter().copied().map(u32::from) {
        (low, high) = ((low + byte) % PRIME, (high + low + byte) % PRIME);
    }
    high << 16 | low
}

/// The same with remainders only where the sums might overflow, as zlib does.
#[inline(never)]
pub fn checksum_rarely(text: &[u8]) -> u32 {
    let (mut low, mut high) = (1, 0);
    for stretch in text.chunks(5552) {
        for &byte in stretch {
            low += u32::from(byte);
            high += low;
        }
        low %= PRIME;
        high %= PRIME;
    }
    high << 16 | low
}
