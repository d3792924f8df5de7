//! From the instruction at a place to what a breakpoint's handler does in its stead.

use coz_rs_runtime_preload::displaced::{INSTRUCTION_BYTES, NO_DISTANCE, kind};
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpKind,
    Register,
};

/// What stands in place of a displaced instruction, as the runtime is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Displaced {
    /// The bytes of the instruction, or of what its copy is made.
    pub bytes: [u8; INSTRUCTION_BYTES],
    /// Its length.
    pub length: u32,
    /// A [`kind`].
    pub kind: u32,
    /// Condition of a jump, as in the opcode.
    pub condition: u32,
    /// Where it jumps or calls to, or how many bytes its return takes besides.
    pub target: u64,
    /// Where in it a distance to data is, or [`NO_DISTANCE`].
    pub distance: u32,
}

impl Displaced {
    /// Whether the kernel does the instruction by itself at an uprobe, without stepping over a copy
    /// (arch/x86/kernel/uprobes.c), which takes longer than a breakpoint.
    #[must_use]
    pub fn kernel_emulates(&self) -> bool {
        let push = |byte: u8| byte & 0xf8 == 0x50;
        match self.kind {
            kind::NOTHING | kind::JUMP | kind::JUMP_IF | kind::CALL => true,
            kind::COPY => match self.length {
                1 => push(self.bytes[0]),
                2 => self.bytes[0] == 0x41 && push(self.bytes[1]),
                _ => false,
            },
            _ => false,
        }
    }
}

/// What stands in place of the first instruction of `code`, which is loaded at `address`; nothing
/// if it can run nowhere else.
#[must_use]
pub fn displaced(code: &[u8], address: u64) -> Option<Displaced> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let instruction = decoder.decode();
    if instruction.is_invalid() || instruction.len() >= INSTRUCTION_BYTES {
        return None;
    }
    let mut bytes = [0; INSTRUCTION_BYTES];
    let length = instruction.len();
    bytes[..length].copy_from_slice(code.get(..length)?);
    let offsets = decoder.get_constant_offsets(&instruction);
    let mut found = Displaced {
        bytes,
        length: u32::try_from(length).ok()?,
        kind: kind::COPY,
        condition: 0,
        target: 0,
        distance: NO_DISTANCE,
    };
    if instruction.is_ip_rel_memory_operand() {
        // A 32-bit address (a prefix) wraps where it stands.
        if instruction.memory_base() != Register::RIP || offsets.displacement_size() != 4 {
            return None;
        }
        found.distance = u32::try_from(offsets.displacement_offset()).ok()?;
    }
    let near = matches!(instruction.op0_kind(), OpKind::NearBranch64);
    match instruction.flow_control() {
        FlowControl::Next => {
            // Restarted by the kernel, or stopped at by others, at their own address.
            if matches!(
                instruction.code(),
                Code::Syscall | Code::Sysenter | Code::Hlt
            ) {
                return None;
            }
            if instruction.code() == Code::Nopd && length == 1 {
                found.kind = kind::NOTHING;
            }
        }
        FlowControl::IndirectBranch if is_jump(&instruction) => {}
        FlowControl::UnconditionalBranch if near => {
            found.kind = kind::JUMP;
            found.target = instruction.near_branch64();
        }
        FlowControl::ConditionalBranch if near && instruction.is_jcc_short_or_near() => {
            found.kind = kind::JUMP_IF;
            // iced's conditions begin at 1 with "overflow", as the opcodes do at 0.
            found.condition = (instruction.condition_code() as u32).checked_sub(1)?;
            found.target = instruction.near_branch64();
        }
        FlowControl::Call if instruction.code() == Code::Call_rel32_64 => {
            found.kind = kind::CALL;
            found.target = instruction.near_branch64();
        }
        FlowControl::IndirectCall if instruction.code() == Code::Call_rm64 => {
            found.kind = kind::CALL_COPY;
            found.bytes = made_jump(&instruction, bytes)?;
        }
        FlowControl::Return => match instruction.code() {
            Code::Retnq => found.kind = kind::RETURN,
            Code::Retnq_imm16 => {
                found.kind = kind::RETURN;
                found.target = instruction.immediate16().into();
            }
            _ => return None,
        },
        _ => return None,
    }
    Some(found)
}

fn is_jump(instruction: &Instruction) -> bool {
    instruction.code() == Code::Jmp_rm64
}

/// `call r/m64` as `jmp r/m64`, for which the return address has been pushed before: nothing if
/// that changes where it calls to.
fn made_jump(
    instruction: &Instruction,
    mut bytes: [u8; INSTRUCTION_BYTES],
) -> Option<[u8; INSTRUCTION_BYTES]> {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let by_stack = info
        .used_memory()
        .iter()
        // The return address itself is written beneath the stack pointer.
        .any(|used| used.base() == Register::RSP && !is_push(used));
    let from_stack =
        instruction.op0_kind() == OpKind::Register && instruction.op0_register() == Register::RSP;
    if by_stack || from_stack {
        return None;
    }
    // Prefixes, FF /2: of the next byte the middle three bits say what it is.
    let opcode = bytes.iter().position(|byte| *byte == 0xff)?;
    let middle = bytes.get_mut(opcode + 1)?;
    if *middle >> 3 & 7 != 2 {
        return None;
    }
    *middle = *middle & 0b1100_0111 | 4 << 3;
    Some(bytes)
}

fn is_push(used: &iced_x86::UsedMemory) -> bool {
    use iced_x86::OpAccess;
    used.access() == OpAccess::Write
}

#[cfg(test)]
mod tests {
    use super::*;
    use coz_rs_runtime_preload::displaced::copy;

    fn of(bytes: &[u8]) -> Option<Displaced> {
        displaced(bytes, 0x1000)
    }

    fn kind_of(bytes: &[u8]) -> Option<(u32, u64, u32)> {
        let found = of(bytes)?;
        assert_eq!(found.length as usize, bytes.len());
        Some((found.kind, found.target, found.condition))
    }

    #[test]
    fn jumps_calls_and_returns_are_done_by_hand() {
        assert_eq!(kind_of(&[0xeb, 0x10]), Some((kind::JUMP, 0x1012, 0)));
        assert_eq!(kind_of(&[0x75, 0xfe]), Some((kind::JUMP_IF, 0x1000, 5)));
        let far = [0x0f, 0x8f, 0, 0, 0, 0];
        assert_eq!(kind_of(&far), Some((kind::JUMP_IF, 0x1006, 15)));
        assert_eq!(kind_of(&[0xe8, 1, 0, 0, 0]), Some((kind::CALL, 0x1006, 0)));
        assert_eq!(kind_of(&[0xc3]), Some((kind::RETURN, 0, 0)));
        assert_eq!(kind_of(&[0xc2, 8, 0]), Some((kind::RETURN, 8, 0)));
        assert_eq!(kind_of(&[0x90]), Some((kind::NOTHING, 0, 0)));
    }

    #[test]
    fn what_the_kernel_emulates_is_known() {
        let emulated = |bytes: &[u8]| of(bytes).unwrap().kernel_emulates();
        for bytes in [&[0x90][..], &[0x55], &[0x41, 0x57], &[0xeb, 0], &[0x74, 0]] {
            assert!(emulated(bytes), "{bytes:x?}");
        }
        for bytes in [
            &[0xc3][..],
            &[0xff, 0xd0],
            &[0x48, 0x89, 0xe5],
            &[0x5d],
            &[0x66, 0x50],
        ] {
            assert!(!emulated(bytes), "{bytes:x?}");
        }
    }

    #[test]
    fn others_are_copied_with_the_distance_to_their_data() {
        for bytes in [&[0x55][..], &[0xf3, 0x0f, 0x1e, 0xfa], &[0x48, 0x89, 0xe5]] {
            let found = of(bytes).unwrap();
            assert_eq!((found.kind, found.distance), (kind::COPY, NO_DISTANCE));
            assert_eq!(&found.bytes[..bytes.len()], bytes);
        }
        // mov rax,[rip+1]; cmp dword ptr [rip+1],5; jmp [rip+1]
        for (bytes, distance) in [
            (&[0x48, 0x8b, 0x05, 1, 0, 0, 0][..], 3),
            (&[0x83, 0x3d, 1, 0, 0, 0, 5], 2),
            (&[0xff, 0x25, 1, 0, 0, 0], 2),
        ] {
            let found = of(bytes).unwrap();
            assert_eq!((found.kind, found.distance), (kind::COPY, distance));
        }
    }

    #[test]
    fn indirect_calls_become_a_push_and_a_jump() {
        // call rax; call r15; call [rip+1]; call [rax+8]
        for (call, jump) in [
            (&[0xff, 0xd0][..], &[0xff, 0xe0][..]),
            (&[0x41, 0xff, 0xd7], &[0x41, 0xff, 0xe7]),
            (&[0xff, 0x15, 1, 0, 0, 0], &[0xff, 0x25, 1, 0, 0, 0]),
            (&[0xff, 0x50, 8], &[0xff, 0x60, 8]),
        ] {
            let found = of(call).unwrap();
            assert_eq!(found.kind, kind::CALL_COPY);
            assert_eq!(&found.bytes[..jump.len()], jump);
        }
        // call [rsp+8], which the push would move.
        assert_eq!(of(&[0xff, 0x54, 0x24, 8]), None);
    }

    #[test]
    fn what_depends_on_its_place_is_refused() {
        // syscall; jrcxz; loop; int3; call far; two bytes of nothing
        for bytes in [
            &[0x0f, 0x05][..],
            &[0xe3, 0],
            &[0xe2, 0],
            &[0xcc],
            &[0xff, 0x18],
            &[0x06],
            &[0x0f],
            &[],
        ] {
            assert_eq!(of(bytes), None, "{bytes:x?}");
        }
    }
    #[test]
    fn any_bytes_are_survived_and_what_is_copied_can_be() {
        let mut state = 1u64;
        let mut copied = 0;
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..15)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(99);
                    (state >> 56) as u8
                })
                .collect();
            let Some(found) = of(&bytes) else { continue };
            assert!((1..INSTRUCTION_BYTES as u32).contains(&found.length));
            if [kind::COPY, kind::CALL_COPY].contains(&found.kind) {
                let place = 0x1000;
                let (length, distance) = (found.length, found.distance);
                // At its own place every distance fits.
                let copy = copy(found.bytes, length, distance, place, place).unwrap();
                assert_eq!(copy[..length as usize], found.bytes[..length as usize]);
                copied += 1;
            }
        }
        assert!(copied > 5000, "{copied}");
    }
}
