//! How control flows through one function's machine code, as far as placing progress points needs
//! it: which instructions follow which, and which of several places stands for the others.
//!
//! Pure: bytes in, addresses out. Jump tables are followed where they look like what compilers
//! write; landing pads of exceptions have no predecessor and count as further entries.

use std::collections::HashMap;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

/// Longest instruction of x86-64, bytes.
const LONGEST: usize = 15;
/// A jump table with more entries is none.
const MOST_CASES: u64 = 4096;

/// What the kernel or our own trap handler can do in place of an instruction, without stepping
/// over a copy of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Simple {
    /// It does nothing.
    Nop,
    /// It pushes a general register of this number.
    Push(u8),
    /// It jumps to this address.
    Jump(u64),
    /// It jumps to this address if the condition (0 to 15, as in the opcode) holds.
    JumpIf(u8, u64),
    /// It calls this address.
    Call(u64),
    /// It returns and takes so many bytes more off the stack.
    Return(u16),
}

impl Simple {
    /// Whether the kernel does it by itself at an uprobe (arch/x86/kernel/uprobes.c): 0.2 to 0.5 µs
    /// a visit where stepping over a copy takes 14.
    #[must_use]
    pub fn kernel_emulates(self) -> bool {
        !matches!(self, Simple::Return(_))
    }
}

/// One instruction.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Its address, in the file's own addresses.
    pub address: u64,
    /// Its length, bytes.
    pub length: u8,
    /// Whether it can be done without a copy.
    pub simple: Option<Simple>,
    /// Whether a copy of it elsewhere does the same, once distances to data are mended.
    pub copyable: bool,
    /// What it calls, or jumps to and leaves the function: the address, or where that is kept.
    callee: Option<u64>,
    /// What it is, for comparing copies.
    code: Code,
    /// Whether anything but the next instruction may follow, or nothing.
    ends_block: bool,
}

/// A function's instructions and their order.
#[derive(Debug)]
pub struct Flow {
    places: Vec<Place>,
    numbers: HashMap<u64, usize>,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<u32>,
    /// Instructions that a jump leads to.
    targets: Vec<bool>,
    entries: Vec<usize>,
    /// Some jump's targets are not known.
    blind: bool,
}

/// Reads the binary outside the function, for jump tables: bytes from an address on.
pub type ReadData<'a> = &'a dyn Fn(u64, usize) -> Option<Vec<u8>>;

impl Flow {
    /// Decodes a function: its stretches of code with their addresses, the one with its entry
    /// first.
    #[must_use]
    pub fn new(stretches: &[(u64, &[u8])], data: ReadData<'_>) -> Flow {
        let mut flow = Flow {
            places: Vec::new(),
            numbers: HashMap::new(),
            successors: Vec::new(),
            predecessors: Vec::new(),
            targets: Vec::new(),
            entries: Vec::new(),
            blind: false,
        };
        let mut jumps = Vec::new();
        let mut tables = Vec::new();
        for (start, bytes) in stretches {
            flow.decode(*start, bytes, &mut jumps, &mut tables);
        }
        flow.connect(&jumps, &tables, data);
        flow
    }

    fn decode(
        &mut self,
        start: u64,
        bytes: &[u8],
        jumps: &mut Vec<(usize, Jump)>,
        tables: &mut Vec<u64>,
    ) {
        let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            let number = self.places.len();
            let (address, length) = (instruction.ip(), instruction.len());
            self.places.push(Place {
                address,
                length: length.min(LONGEST) as u8,
                simple: simple(&instruction),
                copyable: is_copyable(&instruction),
                callee: callee(&instruction),
                code: instruction.code(),
                ends_block: instruction.is_invalid()
                    || !matches!(
                        instruction.flow_control(),
                        FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall
                    ),
            });
            self.numbers.insert(address, number);
            jumps.push((number, Jump::of(&instruction)));
            if instruction.is_ip_rel_memory_operand() {
                tables.push(instruction.ip_rel_memory_address());
            }
            let scaled = instruction.memory_index_scale() == 8
                && instruction.memory_displacement64() < 1 << 31;
            if scaled && instruction.flow_control() == FlowControl::IndirectBranch {
                tables.push(instruction.memory_displacement64());
            }
        }
    }

    fn connect(&mut self, jumps: &[(usize, Jump)], tables: &[u64], data: ReadData<'_>) {
        let count = self.places.len();
        self.successors = vec![Vec::new(); count];
        self.targets = vec![false; count];
        for place in &mut self.places {
            let jump = matches!(place.simple, Some(Simple::Jump(_)));
            place.callee = place
                .callee
                .filter(|target| !jump || !self.numbers.contains_key(target));
        }
        let mut indirect = Vec::new();
        for &(number, jump) in jumps {
            let place = self.places[number];
            let next = self.numbers.get(&(place.address + u64::from(place.length)));
            if let Some(&next) = next.filter(|_| jump.goes_on) {
                self.successors[number].push(next);
            }
            if let Some(&target) = jump.target.and_then(|target| self.numbers.get(&target)) {
                self.successors[number].push(target);
                self.targets[target] = true;
            }
            if jump.indirect {
                indirect.push(number);
            }
        }
        if !indirect.is_empty() {
            let mut cases: Vec<usize> = tables
                .iter()
                .flat_map(|table| self.cases(*table, data))
                .collect();
            cases.sort_unstable();
            cases.dedup();
            self.blind = cases.is_empty();
            for number in indirect {
                self.successors[number].extend(&cases);
            }
            for case in cases {
                self.targets[case] = true;
            }
        }
        self.predecessors = vec![0; count];
        for successor in self.successors.iter().flatten() {
            self.predecessors[*successor] += 1;
        }
        let orphans = (1..count).filter(|number| self.predecessors[*number] == 0);
        self.entries = (0..count.min(1)).chain(orphans).collect();
    }

    /// Where the entries of a jump table at `table` lead: 32-bit distances from the table, as
    /// position-independent code has them, or whole addresses.
    fn cases(&self, table: u64, data: ReadData<'_>) -> Vec<usize> {
        if self.numbers.contains_key(&table) {
            return Vec::new();
        }
        let relative = (0..MOST_CASES).map_while(|n| {
            let bytes = data(table.checked_add(n * 4)?, 4)?;
            let distance = i32::from_le_bytes(bytes.try_into().ok()?);
            let target = table.checked_add_signed(distance.into())?;
            self.numbers.get(&target).copied()
        });
        let relative: Vec<usize> = relative.collect();
        if !relative.is_empty() {
            return relative;
        }
        let absolute = (0..MOST_CASES).map_while(|n| {
            let bytes = data(table.checked_add(n * 8)?, 8)?;
            let target = u64::from_le_bytes(bytes.try_into().ok()?);
            self.numbers.get(&target).copied()
        });
        absolute.collect()
    }

    /// The number of the instruction that begins at `address`.
    #[must_use]
    pub fn number(&self, address: u64) -> Option<usize> {
        self.numbers.get(&address).copied()
    }

    /// The instruction with this number.
    #[must_use]
    pub fn place(&self, number: usize) -> Option<&Place> {
        self.places.get(number)
    }

    /// Numbers of the instructions that can be reached from the function's entry, nearest first;
    /// with `landings` also from landing pads and other code that nothing jumps to.
    #[must_use]
    pub fn order(&self, landings: bool) -> Vec<usize> {
        let entries = if landings || self.blind {
            &self.entries[..]
        } else {
            &self.entries[..self.entries.len().min(1)]
        };
        self.reach(entries, &[])
    }

    /// What is reached from `from` on without passing `without`; `from` itself included.
    fn reach(&self, from: &[usize], without: &[usize]) -> Vec<usize> {
        let mut seen = vec![false; self.places.len()];
        for blocked in without {
            seen[*blocked] = true;
        }
        let mut order = Vec::new();
        for &number in from {
            if !std::mem::replace(&mut seen[number], true) {
                order.push(number);
            }
        }
        let mut next = 0;
        while let Some(&number) = order.get(next) {
            next += 1;
            for &successor in &self.successors[number] {
                if !std::mem::replace(&mut seen[successor], true) {
                    order.push(successor);
                }
            }
        }
        order
    }

    /// Whether each passage of `number` was preceded by a passage of one of `by` of its own:
    /// without them, control neither comes from the entry nor from an earlier passage.
    #[must_use]
    pub fn is_covered(&self, number: usize, by: &[usize]) -> bool {
        if by.is_empty() || by.contains(&number) {
            return false;
        }
        let mut from = self.entries.clone();
        from.retain(|entry| !by.contains(entry));
        if self.reach(&from, by).contains(&number) {
            return false;
        }
        let again = &self.successors[number];
        let again: Vec<usize> = again.iter().copied().filter(|n| !by.contains(n)).collect();
        !self.reach(&again, by).contains(&number)
    }

    /// The straight stretch that begins at `number`: all of it runs as often as its beginning,
    /// up to and including the first call or jump.
    fn stretch(&self, number: usize) -> impl Iterator<Item = usize> + '_ {
        let mut next = Some(number);
        std::iter::from_fn(move || {
            let here = next?;
            let place = self.places[here];
            let is_call = matches!(
                self.successors[here].as_slice(),
                [_] if !is_next_only(place.code)
            );
            next = (!place.ends_block && !is_call)
                .then(|| self.successors[here].first().copied())
                .flatten()
                .filter(|next| !self.targets[*next] && self.predecessors[*next] == 1);
            Some(here)
        })
    }

    /// The cheapest instruction to count at that runs exactly as often as `number`, before any of
    /// `stops`.
    #[must_use]
    pub fn cheapest(&self, number: usize, stops: &[usize]) -> usize {
        if self.blind {
            return number;
        }
        let stretch = || {
            let own = |here: &usize| *here == number || !stops.contains(here);
            self.stretch(number).take_while(own)
        };
        let by_kernel = |here: &usize| {
            let simple = self.places[*here].simple;
            simple.is_some_and(Simple::kernel_emulates)
        };
        let by_us = |here: &usize| {
            let place = &self.places[*here];
            place.copyable || place.simple.is_some()
        };
        let cheap = stretch().find(by_kernel);
        cheap.or_else(|| stretch().find(by_us)).unwrap_or(number)
    }

    /// Where control goes from `number` on: the first of `stops`, or the first place outside of the
    /// stretches `own`; nothing if it may go to several places, or something is called before.
    #[must_use]
    pub fn after(&self, number: usize, own: &[(u64, u64)], stops: &[usize]) -> Option<usize> {
        let mut here = number;
        // Each instruction once: a loop leads nowhere.
        for _ in 0..self.places.len() {
            let place = self.places[here];
            let mut stretches = own.iter();
            let own = stretches.any(|(start, end)| (*start..*end).contains(&place.address));
            if !own || here != number && stops.contains(&here) {
                return Some(here);
            }
            let &[next] = self.successors[here].as_slice() else {
                return None;
            };
            let jump = matches!(place.simple, Some(Simple::Jump(_)));
            if !jump && !is_next_only(place.code) {
                return None;
            }
            here = next;
        }
        None
    }

    /// The first call in the straight stretch at `number`.
    #[must_use]
    pub fn first_call(&self, number: usize) -> Option<(usize, u64)> {
        let mut stretch = self.stretch(number);
        stretch.find_map(|here| Some((here, self.places[here].callee?)))
    }

    /// The instructions from `start` to `end` that call `callee`.
    pub fn calls(&self, start: u64, end: u64, callee: u64) -> impl Iterator<Item = usize> + '_ {
        let inside = move |place: &Place| (start..end).contains(&place.address);
        let calls = self.places.iter().enumerate();
        let calls = calls.filter(move |(_, place)| inside(place) && place.callee == Some(callee));
        calls.map(|(number, _)| number)
    }

    /// Whether the stretches at two places begin with the same kinds of instructions: copies, as
    /// unrolling leaves them.
    #[must_use]
    pub fn look_alike(&self, one: usize, other: usize) -> bool {
        /// So many instructions are compared.
        const COMPARED: usize = 3;
        let kinds = |from: usize| {
            let numbers = self.stretch(from).take(COMPARED);
            numbers.map(|n| self.places[n].code).collect::<Vec<_>>()
        };
        kinds(one) == kinds(other)
    }
}

/// Where an instruction leads besides the next one.
#[derive(Debug, Clone, Copy)]
struct Jump {
    goes_on: bool,
    target: Option<u64>,
    indirect: bool,
}

impl Jump {
    fn of(instruction: &Instruction) -> Jump {
        let near = || {
            let is_near = matches!(instruction.op0_kind(), OpKind::NearBranch64);
            is_near.then(|| instruction.near_branch64())
        };
        let (goes_on, target, indirect) = match instruction.flow_control() {
            FlowControl::Next
            | FlowControl::Call
            | FlowControl::IndirectCall
            | FlowControl::XbeginXabortXend => (true, None, false),
            FlowControl::Interrupt => (true, None, false),
            FlowControl::ConditionalBranch => (true, near(), false),
            FlowControl::UnconditionalBranch => (false, near(), false),
            FlowControl::IndirectBranch => (false, None, true),
            FlowControl::Return | FlowControl::Exception => (false, None, false),
        };
        Jump {
            goes_on: goes_on && !instruction.is_invalid(),
            target,
            indirect,
        }
    }
}

fn callee(instruction: &Instruction) -> Option<u64> {
    match instruction.flow_control() {
        FlowControl::Call | FlowControl::UnconditionalBranch => {
            let near = matches!(instruction.op0_kind(), OpKind::NearBranch64);
            near.then(|| instruction.near_branch64())
        }
        FlowControl::IndirectCall | FlowControl::IndirectBranch => {
            let kept = instruction.is_ip_rel_memory_operand();
            kept.then(|| instruction.ip_rel_memory_address())
        }
        _ => None,
    }
}

/// Whether a copy does the same elsewhere: what follows it or where it leads does not depend on its
/// own address, and no return address is pushed.
fn is_copyable(instruction: &Instruction) -> bool {
    let flow = instruction.flow_control();
    !instruction.is_invalid() && matches!(flow, FlowControl::Next | FlowControl::IndirectBranch)
}

/// Whether nothing but the next instruction can follow: no call either, which may not return.
fn is_next_only(code: Code) -> bool {
    code.flow_control() == FlowControl::Next && code != Code::Syscall
}

fn simple(instruction: &Instruction) -> Option<Simple> {
    // A prefix (bnd, lock, a far segment) makes it another thing.
    if instruction.has_repne_prefix() || instruction.has_rep_prefix() {
        return None;
    }
    match instruction.code() {
        Code::Nopd if instruction.len() == 1 => Some(Simple::Nop),
        Code::Push_r64 => {
            let register = instruction.op0_register().number();
            Some(Simple::Push(u8::try_from(register).ok()?))
        }
        Code::Jmp_rel8_64 | Code::Jmp_rel32_64 => Some(Simple::Jump(instruction.near_branch64())),
        Code::Call_rel32_64 => Some(Simple::Call(instruction.near_branch64())),
        Code::Retnq => Some(Simple::Return(0)),
        Code::Retnq_imm16 => Some(Simple::Return(instruction.immediate16())),
        code if code.is_jcc_short_or_near() => Some(Simple::JumpIf(
            // iced's conditions begin at 1 with "overflow", as the opcodes do at 0.
            (code.condition_code() as u8).checked_sub(1)?,
            instruction.near_branch64(),
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_data(_: u64, _: usize) -> Option<Vec<u8>> {
        None
    }

    fn flow(bytes: &[u8]) -> Flow {
        Flow::new(&[(0x1000, bytes)], &no_data)
    }

    fn at(flow: &Flow, address: u64) -> usize {
        flow.number(address).unwrap()
    }

    /// xor eax,eax; test edi,edi; jle out; top: add eax,1; add eax,2; cmp eax,edi; jl top; ret
    const LOOP: &[u8] = &[
        0x31, 0xc0, 0x85, 0xff, 0x7e, 0x0a, 0x83, 0xc0, 0x01, 0x83, 0xc0, 0x02, 0x39, 0xf8, 0x7c,
        0xf6, 0xc3,
    ];

    #[test]
    fn within_a_round_one_place_stands_for_the_rest() {
        let flow = flow(LOOP);
        let (before, first, second, out) = (
            at(&flow, 0x1000),
            at(&flow, 0x1006),
            at(&flow, 0x1009),
            at(&flow, 0x1010),
        );
        assert!(flow.is_covered(second, &[first]));
        assert!(flow.is_covered(at(&flow, 0x1002), &[before]));
        // Each round is a passage of its own, and the loop may be passed by.
        assert!(!flow.is_covered(first, &[before]));
        assert!(!flow.is_covered(first, &[second]));
        assert!(flow.is_covered(out, &[before]) && !flow.is_covered(out, &[first]));
        assert!(!flow.is_covered(first, &[]) && !flow.is_covered(first, &[first]));
    }

    #[test]
    fn the_cheapest_place_is_in_the_same_straight_stretch() {
        let flow = flow(LOOP);
        let address = |from: u64| flow.places[flow.cheapest(at(&flow, from), &[])].address;
        assert_eq!(address(0x1000), 0x1004);
        assert_eq!(address(0x1006), 0x100e);
        // mov eax,1; call +0; nop: what follows the call may never run.
        let calls = super::tests::flow(&[0xb8, 1, 0, 0, 0, 0xff, 0xd0, 0x90, 0xc3]);
        assert_eq!(calls.cheapest(0, &[]), 0);
        assert_eq!(
            flow.cheapest(at(&flow, 0x1006), &[at(&flow, 0x1009)]),
            at(&flow, 0x1006)
        );
    }

    #[test]
    fn what_comes_after_a_stretch_is_known_if_it_is_one_place() {
        // jmp 0x1004; nop; nop; inc eax; jne 0x1002; ret
        let flow = flow(&[0xeb, 2, 0x90, 0x90, 0xff, 0xc0, 0x75, 0xfa, 0xc3]);
        let (body, condition) = (at(&flow, 0x1002), at(&flow, 0x1004));
        let after = |from, end, stops: &[usize]| flow.after(from, &[(0x1000, end)], stops);
        assert_eq!(after(0, 0x1002, &[]), Some(condition));
        assert_eq!(after(0, 0x1009, &[0, condition]), Some(condition));
        assert_eq!(after(body, 0x1004, &[]), Some(condition));
        assert_eq!(after(condition, 0x1008, &[]), None);
        assert_eq!(after(0, 0x1009, &[]), None);
        // call +0; nop
        let calls = super::tests::flow(&[0xe8, 0, 0, 0, 0, 0x90]);
        assert_eq!(calls.after(0, &[(0x1000, 0x1005)], &[]), None);
    }

    #[test]
    fn simple_instructions_are_told_apart() {
        let simple = |bytes: &[u8]| flow(bytes).places[0].simple;
        assert_eq!(simple(&[0x90]), Some(Simple::Nop));
        assert_eq!(simple(&[0x53]), Some(Simple::Push(3)));
        assert_eq!(simple(&[0x41, 0x57]), Some(Simple::Push(15)));
        assert_eq!(simple(&[0xeb, 0x10]), Some(Simple::Jump(0x1012)));
        assert_eq!(simple(&[0x75, 0xfe]), Some(Simple::JumpIf(5, 0x1000)));
        assert_eq!(
            simple(&[0x0f, 0x8f, 0, 0, 0, 0]),
            Some(Simple::JumpIf(15, 0x1006))
        );
        assert_eq!(simple(&[0xe8, 1, 0, 0, 0]), Some(Simple::Call(0x1006)));
        assert_eq!(simple(&[0xf3, 0x90]), None);
        assert_eq!(simple(&[0xff, 0xd0]), None);
        assert_eq!(simple(&[0x66, 0x50]), None);
        assert_eq!(simple(&[0xc3]), Some(Simple::Return(0)));
        assert_eq!(simple(&[0xc2, 8, 0]), Some(Simple::Return(8)));
    }

    #[test]
    fn jump_tables_are_followed_and_landing_pads_are_no_way_in() {
        // cmp; lea rdx,[rip+0xff9] (0x2000+); movsxd rax,[rdx+rax*4]; add rax,rdx; jmp rax; then
        // two cases: nop; ret  nop; ret
        let bytes = [
            0x48, 0x8d, 0x15, 0xf9, 0x0f, 0, 0, 0x48, 0x63, 0x04, 0x82, 0x48, 0x01, 0xd0, 0xff,
            0xe0, 0x90, 0xc3, 0x90, 0xc3,
        ];
        let table = |at: u64, _: usize| {
            let cases = [0x1010i64 - 0x2000, 0x1012 - 0x2000];
            let case = cases.get(usize::try_from((at - 0x2000) / 4).ok()?)?;
            Some((*case as i32).to_le_bytes().to_vec())
        };
        let known = Flow::new(&[(0x1000, &bytes)], &table);
        assert!(known.is_covered(at(&known, 0x1012), &[0]));
        assert_eq!(known.order(false).len(), known.places.len());
        let blind = flow(&bytes);
        assert!(!blind.is_covered(at(&blind, 0x1012), &[0]));
        // ret; nop; ret: the second part is a landing pad.
        let landing = flow(&[0xc3, 0x90, 0xc3]);
        assert_eq!(landing.order(false), [0]);
        assert_eq!(landing.order(true), [0, 1, 2]);
    }

    #[test]
    fn any_bytes_are_survived() {
        let mut state = 1u64;
        for _ in 0..300 {
            let bytes: Vec<u8> = (0..64)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(99);
                    (state >> 56) as u8
                })
                .collect();
            let flow = flow(&bytes);
            for number in flow.order(true) {
                assert!(flow.place(flow.cheapest(number, &[])).is_some());
                assert!(number != 0 || !flow.is_covered(number, &[0]));
            }
        }
    }
}
