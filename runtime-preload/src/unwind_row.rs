//! One row of the compact unwind table: how to leave a frame when the program counter is in it.
//!
//! Built by the controller from `.eh_frame`, walked by the runtime's sample handler. A row holds
//! from its own address to the next row's. x86-64 only: the return address is at CFA − 8, unless
//! the row's kind says otherwise.

/// How the canonical frame address is found (System V AMD64 ABI, DWARF 5 section 6.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cfa {
    /// No rule known: the walk ends here, cut short.
    Unknown = 0,
    /// CFA = rsp + offset.
    Rsp = 1,
    /// CFA = rbp + offset.
    Rbp = 2,
    /// CFA = rsp + 8 + (8 if (rip & 15) >= 11): the rule linkers give for PLT stubs.
    Plt = 3,
    /// CFA = the word at rbp + offset: frames that gcc realigned.
    RbpDeref = 4,
    /// A signal frame: registers lie in the ucontext at rsp (+ offset to its `mcontext`).
    Signal = 5,
    /// The outermost frame (return address undefined): the walk is complete.
    End = 6,
}

/// Where the caller's rbp is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rbp {
    /// Unchanged.
    Same,
    /// Saved at CFA + offset.
    AtCfa(i16),
    /// Saved at rbp + offset, the callee's rbp (realigned frames).
    AtRbp(i16),
    /// Unknown: frames further out that need it cut the walk.
    Lost,
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// First address, counted from the module's base.
    pub pc: u32,
    /// How to find the CFA.
    pub cfa: Cfa,
    /// Offset of the CFA rule.
    pub offset: i32,
    /// How to find the caller's rbp.
    pub rbp: Rbp,
}

impl Row {
    /// The three words stored in shared memory.
    #[must_use]
    pub const fn encode(self) -> [u32; 3] {
        let (tag, at) = match self.rbp {
            Rbp::Same => (0u32, 0i16),
            Rbp::AtCfa(at) => (1, at),
            Rbp::AtRbp(at) => (2, at),
            Rbp::Lost => (3, 0),
        };
        let flags = (self.cfa as u32) | (tag << 8) | ((at as u16 as u32) << 16);
        [self.pc, self.offset as u32, flags]
    }

    /// The row of three words; words that no row has mean [`Cfa::Unknown`].
    #[must_use]
    pub const fn decode(words: [u32; 3]) -> Row {
        let cfa = match words[2] & 0xff {
            1 => Cfa::Rsp,
            2 => Cfa::Rbp,
            3 => Cfa::Plt,
            4 => Cfa::RbpDeref,
            5 => Cfa::Signal,
            6 => Cfa::End,
            _ => Cfa::Unknown,
        };
        let at = (words[2] >> 16) as u16 as i16;
        let rbp = match (words[2] >> 8) & 0xff {
            0 => Rbp::Same,
            1 => Rbp::AtCfa(at),
            2 => Rbp::AtRbp(at),
            _ => Rbp::Lost,
        };
        Row {
            pc: words[0],
            cfa,
            offset: words[1] as i32,
            rbp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decoding_undoes_encoding(pc: u32, offset: i32, at: i16, cfa in 0u32..7, tag in 0u32..4) {
            let words = [pc, offset as u32, cfa | (tag << 8)
                | if tag == 1 || tag == 2 { u32::from(at as u16) << 16 } else { 0 }];
            prop_assert_eq!(Row::decode(words).encode(), words);
        }
    }
}
