//! Stretches of a thread's work between two hooks, and the share of hits in each.
//!
//! Threads can act on each other only in hooks, so credit must have reached G by the next hook, and
//! must be that of the work since the last one. One smoothed share a thread would spread it: a
//! thread that runs the selected line inside a lock and other lines outside would be credited in
//! both, and what it is credited outside comes too late for who waited for the lock. So a thread
//! keeps a share for each kind of stretch, told apart by the hook that it follows and that hook's
//! object. Stretches that are too short to be credited one by one, and those that found no place,
//! go by the share of the whole thread.

/// Stretches that a thread tells apart.
pub const SEGMENTS: usize = 8;

/// The key of the stretch behind a hook: `hook` names the function, `object` is what it was called
/// for. Never 0, which is the stretch from a thread's start to its first hook.
#[must_use]
pub const fn key(hook: &str, object: u64) -> u64 {
    key_of(hash(hook), object)
}

/// [`key`], of a hook's [`hash`].
#[must_use]
pub const fn key_of(hook: u64, object: u64) -> u64 {
    // One multiplication to mix the object in.
    (hook ^ object).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

/// A number for the name of a hook: FNV-1a.
#[must_use]
pub const fn hash(hook: &str) -> u64 {
    let bytes = hook.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// Whether credit for the last `uncredited` ns goes by the share of the present stretch, which is
/// `since_hook` ns old, or by that of the whole thread: a stretch that makes up less than half of
/// it would be taken for the others.
#[must_use]
pub fn is_mostly_this(since_hook: u64, uncredited: u64) -> bool {
    since_hook >= uncredited / 2
}

/// The first place that is looked at for a key, of [`SEGMENTS`].
#[must_use]
pub fn place(key: u64) -> usize {
    (key >> 61) as usize % SEGMENTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hooks_and_objects_are_told_apart() {
        let keys = [
            key("lock", 0x1000),
            key("unlock", 0x1000),
            key("lock", 0x1028),
            key("unlock", 0x1028),
        ];
        for (at, one) in keys.iter().enumerate() {
            assert!(!keys[at + 1..].contains(one));
            assert_ne!(*one, 0);
        }
    }

    #[test]
    fn short_stretches_are_credited_as_a_mixture() {
        assert!(is_mostly_this(900_000, 901_000));
        assert!(is_mostly_this(900_000, 0));
        assert!(!is_mostly_this(5_000, 22_000));
    }

    proptest! {
        #[test]
        fn every_key_has_a_place(key: u64) {
            prop_assert!(place(key) < SEGMENTS);
        }
    }
}
