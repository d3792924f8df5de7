//! What a breakpoint's handler does in place of the instruction that the breakpoint displaced.
//!
//! Jumps and calls are done by hand, as they depend on where they stand; anything else is run from a
//! copy elsewhere, whose distance to data is mended, and which is followed by a jump back. The
//! controller decodes instructions; here is only arithmetic.

/// What stands in place of a displaced instruction.
pub mod kind {
    /// Run from a copy.
    pub const COPY: u32 = 1;
    /// It does nothing.
    pub const NOTHING: u32 = 2;
    /// Jump to the target,
    pub const JUMP: u32 = 3;
    /// or only if the condition holds.
    pub const JUMP_IF: u32 = 4;
    /// Call the target.
    pub const CALL: u32 = 5;
    /// Return, and take so many bytes more off the stack as the target says.
    pub const RETURN: u32 = 6;
    /// Push the return address, then run the copy, which was made a jump.
    pub const CALL_COPY: u32 = 7;
}

/// Longest instruction of x86-64, bytes, rounded up to words.
pub const INSTRUCTION_BYTES: usize = 16;
/// Room for a copy and the jump after it.
pub const SLOT_BYTES: usize = 32;
/// No distance to data in the instruction.
pub const NO_DISTANCE: u32 = u32::MAX;

/// A copy of an instruction that is to run at address `slot`: the instruction with the 32-bit
/// distance at `distance` of it mended, and a jump to what follows it at its own place. Nothing if
/// the data is too far away, or the description makes no sense.
#[must_use]
pub fn copy(
    bytes: [u8; INSTRUCTION_BYTES],
    length: u32,
    distance: u32,
    place: u64,
    slot: u64,
) -> Option<[u8; SLOT_BYTES]> {
    let length = length as usize;
    if length == 0 || length >= INSTRUCTION_BYTES {
        return None;
    }
    let mut code = [0xcc; SLOT_BYTES];
    code[..length].copy_from_slice(&bytes[..length]);
    if distance != NO_DISTANCE {
        let field =
            code[..length].get_mut(distance as usize..(distance as usize).checked_add(4)?)?;
        let old = i32::from_le_bytes([field[0], field[1], field[2], field[3]]);
        let moved = place.wrapping_sub(slot).cast_signed();
        let new = i32::try_from(i64::from(old).checked_add(moved)?).ok()?;
        field.copy_from_slice(&new.to_le_bytes());
    }
    // jmp [rip + 0], and where to.
    code[length..length + 6].copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
    let next = place.wrapping_add(length as u64);
    code[length + 6..length + 14].copy_from_slice(&next.to_le_bytes());
    Some(code)
}

/// Whether a condition (the low four bits of the opcode) holds with these flags.
#[must_use]
pub fn holds(condition: u32, flags: u64) -> bool {
    let flag = |bit: u32| flags >> bit & 1 != 0;
    let (carry, parity, zero, sign, overflow) = (flag(0), flag(2), flag(6), flag(7), flag(11));
    let plain = match condition >> 1 & 7 {
        0 => overflow,
        1 => carry,
        2 => zero,
        3 => carry || zero,
        4 => sign,
        5 => parity,
        6 => sign != overflow,
        _ => zero || sign != overflow,
    };
    plain != (condition & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(bytes: &[u8]) -> [u8; INSTRUCTION_BYTES] {
        let mut all = [0; INSTRUCTION_BYTES];
        all[..bytes.len()].copy_from_slice(bytes);
        all
    }

    #[test]
    fn a_copy_reaches_the_same_data_and_goes_back() {
        // mov rax, [rip + 0x100]
        let bytes = padded(&[0x48, 0x8b, 0x05, 0, 1, 0, 0]);
        let code = copy(bytes, 7, 3, 0x40_1000, 0x30_0000).unwrap();
        // From the copy it is 0x101000 further.
        assert_eq!(&code[..7], &[0x48, 0x8b, 0x05, 0, 0x11, 0x10, 0]);
        assert_eq!(&code[7..13], &[0xff, 0x25, 0, 0, 0, 0]);
        assert_eq!(code[13..21], 0x40_1007u64.to_le_bytes());
        assert!(copy(bytes, 7, 3, 0x40_1000, 1 << 40).is_none());
        assert!(copy(bytes, 7, 3, u64::MAX, 0).is_some());
        // push rbp
        let push = copy(padded(&[0x55]), 1, NO_DISTANCE, 16, 1 << 40).unwrap();
        assert_eq!((push[0], push[7]), (0x55, 17));
    }

    #[test]
    fn senseless_descriptions_make_no_copy() {
        for (length, distance) in [(0, 0), (16, 0), (99, 1), (5, 2), (5, u32::MAX - 1), (3, 3)] {
            assert_eq!(copy(padded(&[0x90]), length, distance, 1, 2), None);
        }
    }

    #[test]
    fn conditions_are_those_of_the_manual() {
        const CARRY: u64 = 1;
        const PARITY: u64 = 1 << 2;
        const ZERO: u64 = 1 << 6;
        const SIGN: u64 = 1 << 7;
        const OVERFLOW: u64 = 1 << 11;
        for (condition, flags) in [
            (0x0, OVERFLOW),
            (0x2, CARRY),
            (0x4, ZERO),
            (0x6, CARRY),
            (0x6, ZERO),
            (0x8, SIGN),
            (0xa, PARITY),
            (0xc, SIGN),
            (0xc, OVERFLOW),
            (0xe, ZERO),
            (0xe, SIGN),
        ] {
            assert!(holds(condition, flags), "{condition:x}");
            assert!(!holds(condition | 1, flags), "{condition:x}");
            assert!(!holds(condition, 0) && holds(condition | 1, 0));
        }
        assert!(!holds(0xc, SIGN | OVERFLOW) && holds(0xd, SIGN | OVERFLOW));
        assert!(holds(0xe, SIGN | OVERFLOW | ZERO));
    }
}
