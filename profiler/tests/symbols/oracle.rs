//! Unwind rows compared with `framehop`, which unwinds by the call frame information itself: from
//! the same made-up registers and memory, both must find the same caller.

use std::path::{Path, PathBuf};
use std::process::Command;

use coz_rs::symbols::unwind_rows;
use coz_rs_runtime_preload::stack_walk::{Registers, StackMemory, Step, step};
use coz_rs_runtime_preload::unwind_row::{Cfa, Rbp};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};
use object::{Object as _, ObjectSection as _};

use super::programs::{Directory, build, code, run};

/// Where the file is mapped.
const BIAS: u64 = 0x7f12_3450_0000;

/// Memory in which every word points a little further up, so that words serve as addresses too.
struct Stairs;

const STEP: u64 = 64;

impl StackMemory for Stairs {
    fn word(&self, address: u64) -> Option<u64> {
        address.checked_add(STEP)
    }
}

struct Oracle {
    unwinder: UnwinderX86_64<Vec<u8>>,
    cache: CacheX86_64,
}

impl Oracle {
    fn new(bytes: &[u8]) -> Oracle {
        let file = object::File::parse(bytes).unwrap();
        let section = |name: &str| {
            let section = file.section_by_name(name)?;
            let start = section.address();
            let data = section.data().ok()?.to_vec();
            Some((start..start + section.size(), data))
        };
        let (text, got, frames, header) = (
            section(".text"),
            section(".got"),
            section(".eh_frame"),
            section(".eh_frame_hdr"),
        );
        let info = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: text.as_ref().map(|text| text.0.clone()),
            text: text.map(|text| text.1),
            got_svma: got.map(|got| got.0),
            eh_frame_svma: frames.as_ref().map(|frames| frames.0.clone()),
            eh_frame: frames.map(|frames| frames.1),
            eh_frame_hdr_svma: header.as_ref().map(|header| header.0.clone()),
            eh_frame_hdr: header.map(|header| header.1),
            ..ExplicitModuleSectionInfo::default()
        };
        let end = BIAS + (1 << 40);
        let module = Module::new("module".to_owned(), BIAS..end, BIAS, info);
        let mut unwinder = UnwinderX86_64::new();
        unwinder.add_module(module);
        Oracle {
            unwinder,
            cache: CacheX86_64::new(),
        }
    }

    /// The caller's registers; `None`: it knows none.
    fn caller(&mut self, frame: FrameAddress, registers: Registers) -> Option<Registers> {
        let Registers { rip, rsp, rbp } = registers;
        let mut theirs = UnwindRegsX86_64::new(rip, rsp, rbp);
        let mut read = |address: u64| Stairs.word(address).ok_or(());
        let rip = self
            .unwinder
            .unwind_frame(frame, &mut theirs, &mut self.cache, &mut read)
            .ok()??;
        Some(Registers {
            rip,
            rsp: theirs.sp(),
            rbp: theirs.bp(),
        })
    }
}

/// A sequence that is the same each time (Knuth's linear congruential generator).
fn places(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |state| {
        Some(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        )
    })
    .map(|state| state >> 20)
}

/// Compares at so many places, of which at most so many in a hundred may have no rows to compare.
fn compare(path: &Path, count: usize, most: usize) {
    let bytes = std::fs::read(path).unwrap();
    let (base, rows) = unwind_rows(&bytes).unwrap();
    let mut oracle = Oracle::new(&bytes);
    let code = code(path);
    let total: u64 = code.iter().map(|(start, end)| end - start).sum();
    let (mut equal, mut unknown, mut apart) = (0, 0, 0);
    for place in places(17).take(count) {
        let mut inside = place % total;
        let (start, _) = *code
            .iter()
            .find(|(start, end)| {
                let here = inside < end - start;
                inside -= if here { 0 } else { end - start };
                here
            })
            .unwrap();
        let address = start + inside;
        let after = rows.partition_point(|row| u64::from(row.pc) <= address - base);
        let row = after.checked_sub(1).map(|at| rows[at]);
        let Some(row) = row.filter(|row| row.cfa != Cfa::Unknown) else {
            unknown += 1;
            continue;
        };
        // The oracle reads no memory for a CFA, and no contexts of signals; the tests of live stacks
        // meet both.
        if matches!(row.cfa, Cfa::RbpDeref | Cfa::Signal) {
            apart += 1;
            continue;
        }
        let registers = Registers {
            rip: BIAS + address,
            rsp: 0x7ffc_0000_1000,
            rbp: 0x7ffc_0000_1400,
        };
        let ours = step(row, registers, &Stairs);
        let frame = FrameAddress::from_instruction_pointer(registers.rip);
        let theirs = oracle.caller(frame, registers);
        match (ours, theirs) {
            (Step::Caller(mut ours), Some(mut theirs)) => {
                if row.rbp == Rbp::Lost {
                    (ours.rbp, theirs.rbp) = (0, 0);
                }
                assert_eq!(ours, theirs, "{}: {address:#x} {row:?}", path.display());
                equal += 1;
            }
            (Step::End, None) => equal += 1,
            (ours, theirs) => {
                panic!(
                    "{}: {address:#x} {row:?}: {ours:?}, not {theirs:?}",
                    path.display()
                )
            }
        }
    }
    eprintln!(
        "{}: {equal} equal, {apart} not asked, {unknown} unknown",
        path.display()
    );
    assert_eq!(equal + apart + unknown, count);
    // Padding, and assembly that nothing describes.
    assert!(
        (unknown + apart) * 100 <= count * most,
        "{}: {unknown} unknown and {apart} not asked of {count}",
        path.display()
    );
}

fn library(name: &str) -> PathBuf {
    let path = run(Command::new("gcc").arg(format!("-print-file-name={name}")));
    PathBuf::from(path.trim()).canonicalize().unwrap()
}

#[test]
fn callers_in_system_libraries() {
    for name in ["libc.so.6", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1"] {
        compare(&library(name), 40_000, 5);
    }
}

#[test]
fn callers_in_programs() {
    let directory = Directory::new();
    // A small program is start-up code and padding in good part.
    for (compiler, source, most) in [
        ("gcc -O2 -g", "chain.c", 40),
        ("rustc --edition=2021 -Copt-level=3 -g", "chain.rs", 10),
        (
            "rustc --edition=2021 -Copt-level=2 -Clto=fat -Ccodegen-units=1",
            "chain.rs",
            10,
        ),
    ] {
        compare(&build(&directory, compiler, source), 40_000, most);
    }
}
