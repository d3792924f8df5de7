//! Walking a stack by unwind rows: from one frame's registers to its caller's.
//!
//! Pure but for the memory it is given, so it is tested without signals. It never fails loudly:
//! whatever cannot be followed ends the walk.

use crate::unwind_row::{Cfa, Rbp, Row};

/// The registers that unwinding needs (x86-64).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// Program counter.
    pub rip: u64,
    /// Stack pointer.
    pub rsp: u64,
    /// Frame pointer register.
    pub rbp: u64,
}

/// Reads words of the walked thread's memory.
pub trait StackMemory {
    /// The word at `address`, or `None` where nothing readable is known to be.
    fn word(&self, address: u64) -> Option<u64>;
}

/// What one step of the walk found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The caller, whose `rip` is a return address.
    Caller(Registers),
    /// The frame that a signal interrupted: its `rip` is exact.
    Interrupted(Registers),
    /// The outermost frame was reached.
    End,
    /// The walk cannot go on.
    Cut,
}

/// Offsets of the saved registers from rsp inside glibc's signal return trampoline: rsp points at
/// the ucontext, whose mcontext begins at 40 and whose greg order is that of `sys/ucontext.h`.
const SIGNAL_RBP: u64 = 40 + 10 * 8;
const SIGNAL_RSP: u64 = 40 + 15 * 8;
const SIGNAL_RIP: u64 = 40 + 16 * 8;

/// Leaves the frame that `registers` are in by `row`.
#[must_use]
pub fn step(row: Row, registers: Registers, memory: &impl StackMemory) -> Step {
    match try_step(row, registers, memory) {
        // A caller further in than its callee is no caller; fibres may go either way, and end here.
        Some(Step::Caller(caller)) if caller.rsp <= registers.rsp || caller.rip < 4096 => Step::Cut,
        Some(step) => step,
        None => Step::Cut,
    }
}

fn try_step(row: Row, registers: Registers, memory: &impl StackMemory) -> Option<Step> {
    let offset = i64::from(row.offset);
    let cfa = match row.cfa {
        Cfa::Unknown => return Some(Step::Cut),
        Cfa::End => return Some(Step::End),
        Cfa::Rsp => registers.rsp.checked_add_signed(offset)?,
        Cfa::Rbp => registers.rbp.checked_add_signed(offset)?,
        Cfa::Plt => {
            let pushed = if registers.rip & 15 >= 11 { 8 } else { 0 };
            registers.rsp.checked_add(8 + pushed)?
        }
        Cfa::RbpDeref => memory.word(registers.rbp.checked_add_signed(offset)?)?,
        Cfa::Signal => {
            return Some(Step::Interrupted(Registers {
                rip: memory.word(registers.rsp.checked_add(SIGNAL_RIP)?)?,
                rsp: memory.word(registers.rsp.checked_add(SIGNAL_RSP)?)?,
                rbp: memory.word(registers.rsp.checked_add(SIGNAL_RBP)?)?,
            }));
        }
    };
    let rip = memory.word(cfa.checked_sub(8)?)?;
    let rbp = match row.rbp {
        Rbp::Same => registers.rbp,
        Rbp::AtCfa(at) => memory.word(cfa.checked_add_signed(i64::from(at))?)?,
        Rbp::AtRbp(at) => memory.word(registers.rbp.checked_add_signed(i64::from(at))?)?,
        Rbp::Lost => 0,
    };
    if rip == 0 {
        return Some(Step::End);
    }
    Some(Step::Caller(Registers { rip, rsp: cfa, rbp }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    struct Words(u64, Vec<u64>);
    impl StackMemory for Words {
        fn word(&self, address: u64) -> Option<u64> {
            let offset = address.checked_sub(self.0)?;
            if offset % 8 != 0 {
                return None;
            }
            self.1.get(usize::try_from(offset / 8).ok()?).copied()
        }
    }

    fn row(cfa: Cfa, offset: i32, rbp: Rbp) -> Row {
        Row {
            pc: 0,
            cfa,
            offset,
            rbp,
        }
    }

    #[test]
    fn each_rule_finds_the_caller() {
        let memory = Words(0x1000, (0..64).map(|n| 0x5000 + n * 16).collect());
        let at = |address: u64| memory.word(address).expect("inside the stack");
        let start = Registers {
            rip: 0x7003,
            rsp: 0x1010,
            rbp: 0x1040,
        };
        let by_rsp = step(row(Cfa::Rsp, 24, Rbp::AtCfa(-16)), start, &memory);
        let want = Registers {
            rip: at(0x1020),
            rsp: 0x1028,
            rbp: at(0x1018),
        };
        assert_eq!(by_rsp, Step::Caller(want));
        let by_rbp = step(row(Cfa::Rbp, 16, Rbp::AtRbp(0)), start, &memory);
        let want = Registers {
            rip: at(0x1048),
            rsp: 0x1050,
            rbp: at(0x1040),
        };
        assert_eq!(by_rbp, Step::Caller(want));
        let plt = step(
            row(Cfa::Plt, 0, Rbp::Same),
            Registers {
                rip: 0x700b,
                ..start
            },
            &memory,
        );
        assert_eq!(
            plt,
            Step::Caller(Registers {
                rip: at(0x1018),
                rsp: 0x1020,
                rbp: 0x1040
            })
        );
        let signal = step(row(Cfa::Signal, 0, Rbp::Same), start, &memory);
        let want = Registers {
            rip: at(0x1010 + 168),
            rsp: at(0x1010 + 160),
            rbp: at(0x1010 + 120),
        };
        assert_eq!(signal, Step::Interrupted(want));
        assert_eq!(step(row(Cfa::End, 0, Rbp::Same), start, &memory), Step::End);
        assert_eq!(
            step(row(Cfa::Unknown, 0, Rbp::Same), start, &memory),
            Step::Cut
        );
        let deref = Words(0x1000, std::vec![0x1018, 0, 0x9999, 0]);
        let frame = Registers {
            rip: 0x7000,
            rsp: 0x1000,
            rbp: 0x1008,
        };
        let realigned = step(row(Cfa::RbpDeref, -8, Rbp::Same), frame, &deref);
        assert_eq!(
            realigned,
            Step::Caller(Registers {
                rip: 0x9999,
                rsp: 0x1018,
                rbp: 0x1008
            })
        );
    }

    proptest! {
        #[test]
        fn no_registers_or_rows_make_it_panic_or_go_inward(
            rip: u64, rsp: u64, rbp: u64, words: [u32; 3], content in proptest::collection::vec(any::<u64>(), 64)
        ) {
            let memory = Words(rsp & !7, content);
            let start = Registers { rip, rsp, rbp };
            if let Step::Caller(caller) = step(Row::decode(words), start, &memory) {
                prop_assert!(caller.rsp > rsp);
            }
        }
    }
}
