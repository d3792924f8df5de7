//! Unwind rows compared with what readelf says of the same files, and walks along live stacks
//! compared with what the program's own unwinder finds.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use coz_rs::symbols::{Scope, Symbols, UnwindModule, unwind_rows};
use coz_rs_runtime_preload::stack_walk::{Registers, StackMemory, Step, step};
use coz_rs_runtime_preload::unwind_row::{Cfa, Rbp, Row};

use super::programs::{Directory, Waiting, build, run};

/// What readelf prints of one stretch: CFA, rbp, return address.
type Said = (String, String, String);

enum Block {
    Cie(String),
    Fde { end: u64, last: u64 },
}

/// Stretches of all frame descriptions of a file, by readelf.
fn by_readelf(file: &Path) -> BTreeMap<u64, (u64, Said)> {
    let text = run(Command::new("readelf")
        .args(["--debug-dump=frames-interp", "-wN"])
        .arg(file));
    let mut stretches: BTreeMap<u64, (u64, Said)> = BTreeMap::new();
    let mut cies: BTreeMap<String, Said> = BTreeMap::new();
    let (mut columns, mut block): (Vec<String>, Option<Block>) = (Vec::new(), None);
    for line in text.lines() {
        // A register that holds another's value is printed as two words, `r9 (r9)`.
        let words: Vec<&str> = line
            .split_whitespace()
            .filter(|word| !word.starts_with('('))
            .collect();
        if words.get(3) == Some(&"CIE") {
            block = Some(Block::Cie(words[0].to_owned()));
        } else if words.get(3) == Some(&"FDE") {
            let cie = words[4].strip_prefix("cie=").unwrap();
            let (start, end) = words[5]
                .strip_prefix("pc=")
                .unwrap()
                .split_once("..")
                .unwrap();
            let address = |text| u64::from_str_radix(text, 16).unwrap();
            // A description without rows of its own is its CIE's one row.
            let said = cies.get(cie).cloned().unwrap_or_default();
            let start = address(start);
            stretches.insert(start, (address(end), said));
            block = Some(Block::Fde {
                end: address(end),
                last: start,
            });
        } else if words.first() == Some(&"LOC") {
            columns = words.iter().map(|word| (*word).to_owned()).collect();
        } else if words.len() == columns.len() && words.len() >= 3 && words[1] != "ZERO" {
            let start = u64::from_str_radix(words[0], 16).unwrap();
            let column = |name: &str| {
                let at = columns.iter().position(|column| column == name);
                at.map_or("u", |at| words[at]).to_owned()
            };
            let said = (column("CFA"), column("rbp"), column("ra"));
            match block.as_mut().unwrap() {
                Block::Cie(cie) => drop(cies.insert(cie.clone(), said)),
                Block::Fde { end, last } => {
                    if start > *last {
                        stretches.get_mut(last).unwrap().0 = start;
                    }
                    stretches.insert(start, (*end, said));
                    *last = start;
                }
            }
        }
    }
    stretches
}

fn at(rows: &[Row], pc: u32) -> Option<Row> {
    let after = rows.partition_point(|row| row.pc <= pc);
    rows.get(after.checked_sub(1)?).copied()
}

/// Does the row say what readelf says? `Err` if the row says less.
fn same(row: Row, (cfa, rbp, ra): &Said) -> Result<bool, ()> {
    if ra == "u" {
        return Ok(row.cfa == Cfa::End);
    }
    if row.cfa == Cfa::Unknown {
        return Err(());
    }
    let offset = |text: &str| text.parse::<i64>().ok();
    let cfa_agrees = match (row.cfa, cfa.as_str()) {
        // The stubs of `-z ibtplt`, row by row.
        (Cfa::Rsp, "exp") => matches!(row.offset, 8 | 16) && row.rbp == Rbp::Same,
        (Cfa::Rsp, cfa) => cfa.strip_prefix("rsp").and_then(offset) == Some(i64::from(row.offset)),
        (Cfa::Rbp, cfa) => cfa.strip_prefix("rbp").and_then(offset) == Some(i64::from(row.offset)),
        (Cfa::Plt | Cfa::RbpDeref | Cfa::Signal, cfa) => cfa == "exp",
        _ => false,
    };
    let rbp_agrees = match row.rbp {
        _ if row.cfa == Cfa::Signal => rbp == "exp",
        Rbp::Same => rbp == "u" || rbp == "s",
        Rbp::AtCfa(at) => rbp.strip_prefix('c').and_then(offset) == Some(i64::from(at)),
        Rbp::AtRbp(_) => rbp == "exp",
        Rbp::Lost => return Err(()),
    };
    let ra_agrees = ra == "c-8" || (row.cfa == Cfa::Signal && ra == "exp");
    Ok(cfa_agrees && rbp_agrees && ra_agrees)
}

fn compare(file: &Path) -> (usize, usize) {
    let bytes = std::fs::read(file).unwrap();
    let (base, rows) = unwind_rows(&bytes).unwrap();
    assert!(
        rows.windows(2).all(|pair| pair[0].pc < pair[1].pc),
        "ascending"
    );
    let equal = |a: &Row, b: &Row| (a.cfa, a.offset, a.rbp) == (b.cfa, b.offset, b.rbp);
    assert!(
        !rows.windows(2).any(|pair| equal(&pair[0], &pair[1])),
        "neighbours merged"
    );

    let stretches = by_readelf(file);
    let mut less = 0;
    let mut covered = 0;
    for (&start, (end, said)) in &stretches {
        // Between frame descriptions nothing is known.
        for pc in [covered, start - 1] {
            if covered != 0 && covered < start {
                assert_eq!(
                    at(&rows, (pc - base) as u32).unwrap().cfa,
                    Cfa::Unknown,
                    "{pc:#x}"
                );
            }
        }
        covered = *end;
        // Every row of ours that begins inside, and the one in force at its start.
        let first = at(&rows, (start - base) as u32).unwrap();
        let inside = rows.partition_point(|row| base + u64::from(row.pc) < start);
        let inside = rows[inside..]
            .iter()
            .take_while(|row| base + u64::from(row.pc) < *end);
        for row in std::iter::once(first).chain(inside.copied()) {
            match same(row, said) {
                Ok(agrees) => assert!(
                    agrees,
                    "{}: {start:#x}..{end:#x} {said:?} {row:?}",
                    file.display()
                ),
                Err(()) => less += 1,
            }
        }
    }
    let last = at(&rows, (covered - base) as u32).unwrap();
    assert_eq!(last.cfa, Cfa::Unknown, "after the last description");
    (stretches.len(), less)
}

fn library(name: &str) -> PathBuf {
    let path = run(Command::new("gcc").arg(format!("-print-file-name={name}")));
    PathBuf::from(path.trim()).canonicalize().unwrap()
}

#[test]
fn rows_of_system_libraries_say_what_readelf_says() {
    for (name, allowed) in [
        ("libc.so.6", 24),
        ("libm.so.6", 8),
        ("libstdc++.so.6", 8),
        ("ld-linux-x86-64.so.2", 24),
    ] {
        let file = library(name);
        let (stretches, less) = compare(&file);
        eprintln!("{name}: {stretches} stretches, {less} not expressible");
        assert!(stretches > 300, "{name}: {stretches} stretches");
        assert!(
            less <= allowed,
            "{name}: {less} of {stretches} not expressible"
        );
    }
}

#[test]
fn rows_of_programs_say_what_readelf_says() {
    let directory = Directory::new();
    for (compiler, source) in [
        ("gcc -O2 -g", "chain.c"),
        (
            "gcc -O2 -mstackrealign -mpreferred-stack-boundary=5",
            "chain.c",
        ),
        ("gcc -O2 -Wl,-z,lazy,-z,ibtplt -fcf-protection", "chain.c"),
        ("clang -O2 -g -fuse-ld=lld", "chain.c"),
        ("rustc --edition=2021 -Copt-level=3 -g", "chain.rs"),
    ] {
        let program = build(&directory, compiler, source);
        let (stretches, less) = compare(&program);
        eprintln!("{compiler}: {stretches} stretches, {less} not expressible");
        assert!(stretches > 30);
    }
}

/// The stack of a thread that waits in a system call.
struct Stack(File);

impl StackMemory for Stack {
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(u64::from_le_bytes(bytes))
    }
}

/// Waits until the thread blocks in `read`: from then on its stack does not change.
fn wait_for_read(pid: i32, tid: u64) {
    for _ in 0..5000 {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).unwrap();
        if text.starts_with("0 ") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("thread {tid} never waits");
}

/// The registers of a thread of a child, which is stopped for a moment.
fn stopped_registers(tid: i32) -> Registers {
    // SAFETY: attaching takes no pointers.
    let attached = unsafe { libc::ptrace(libc::PTRACE_ATTACH, tid, 0, 0) };
    assert_eq!(attached, 0);
    // SAFETY: a null status is allowed.
    let stopped = unsafe { libc::waitpid(tid, std::ptr::null_mut(), libc::__WALL) };
    assert_eq!(stopped, tid);
    // SAFETY: the struct is plain integers.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the thread is stopped by us, and the struct is the one the kernel fills.
    let read = unsafe { libc::ptrace(libc::PTRACE_GETREGS, tid, 0, &raw mut registers) };
    assert_eq!(read, 0);
    // SAFETY: detaching takes no pointers.
    let detached = unsafe { libc::ptrace(libc::PTRACE_DETACH, tid, 0, 0) };
    assert_eq!(detached, 0);
    Registers {
        rip: registers.rip,
        rsp: registers.rsp,
        rbp: registers.rbp,
    }
}

/// All frames of the thread: exact addresses, return addresses as they are. `true`: the walk
/// reached the outermost frame.
fn walk(modules: &[UnwindModule], pid: i32, tid: u64) -> (Vec<u64>, bool) {
    wait_for_read(pid, tid);
    let mut registers = stopped_registers(tid as i32);
    let memory = Stack(File::open(format!("/proc/{pid}/mem")).unwrap());
    let (mut frames, mut exact) = (Vec::new(), true);
    for _ in 0..100 {
        frames.push(registers.rip);
        let look_up = if exact {
            registers.rip
        } else {
            registers.rip - 1
        };
        let module = modules
            .iter()
            .find(|module| module.start <= look_up && look_up < module.end);
        let Some(module) = module else {
            return (frames, false);
        };
        let row = at(&module.rows, (look_up - module.base) as u32);
        let Some(row) = row else {
            return (frames, false);
        };
        match step(row, registers, &memory) {
            Step::Caller(caller) => (registers, exact) = (caller, false),
            Step::Interrupted(interrupted) => (registers, exact) = (interrupted, true),
            Step::End => return (frames, true),
            Step::Cut => return (frames, false),
        }
    }
    panic!("the walk does not end: {frames:x?}");
}

#[test]
fn live_stacks_are_walked_as_the_programs_own_unwinder_walks_them() {
    for compiler in [
        "gcc -O2 -g -fomit-frame-pointer",
        "gcc -O2 -g -fno-omit-frame-pointer -gdwarf-4 -no-pie",
        "gcc -O2 -g -Wl,-z,lazy",
        "clang -O2 -g -fuse-ld=lld",
    ] {
        for mode in ["plain", "sort", "signal", "realigned", "thread"] {
            let directory = Directory::new();
            let program = build(&directory, compiler, "chain.c");
            let running = Waiting::start(&program, &[mode]);
            let mut symbols = Symbols::new(Scope::default(), &program);
            symbols.update_modules(running.pid()).unwrap();
            let modules = symbols.unwind_modules();
            let (frames, complete) = walk(&modules, running.pid(), running.address("thread"));
            let theirs: Vec<u64> = running
                .said
                .iter()
                .filter(|(word, _)| word == "frame")
                .map(|(_, a)| *a)
                .collect();
            // Ours begin in read(), theirs in the function that calls it.
            let caller = theirs[1];
            let from = frames.iter().position(|frame| *frame == caller);
            let from = from.unwrap_or_else(|| panic!("{compiler} {mode}: {frames:x?} {theirs:x?}"));
            assert!(from >= 2, "read, then the function that waits");
            assert_eq!(&frames[from..], &theirs[1..], "{compiler} {mode}");
            assert!(complete, "{compiler} {mode}: the outermost frame");
        }
    }
}

#[test]
fn frames_that_gcc_realigned_are_expressible() {
    let directory = Directory::new();
    let program = build(&directory, "gcc -O2 -g", "chain.c");
    let (_, rows) = unwind_rows(&std::fs::read(program).unwrap()).unwrap();
    let realigned = |row: &&Row| row.cfa == Cfa::RbpDeref && matches!(row.rbp, Rbp::AtRbp(0));
    assert!(rows.iter().find(realigned).is_some());
}

#[test]
fn the_vdso_has_a_table() {
    let directory = Directory::new();
    let program = build(&directory, "gcc -O2 -g", "chain.c");
    let running = Waiting::start(&program, &[]);
    let mut symbols = Symbols::new(Scope::default(), &program);
    symbols.update_modules(running.pid()).unwrap();
    let modules = symbols.unwind_modules();
    let names: Vec<&str> = modules.iter().map(|module| module.name.as_str()).collect();
    let vdso = modules.iter().find(|module| module.name == "[vdso]");
    let vdso = vdso.unwrap_or_else(|| panic!("{names:?}"));
    assert!(vdso.rows.len() > 4);
    assert!(names.iter().any(|name| name.contains("libc.so")));
    assert!(names.iter().any(|name| name.contains("ld-linux")));
    assert!(modules.windows(2).all(|pair| pair[0].end <= pair[1].start));
    assert!(symbols.knows(vdso.start) && symbols.knows(vdso.end - 1));
    let named = (vdso.start..vdso.end).step_by(16).filter(|address| {
        let chain = symbols.chain(*address);
        chain
            .iter()
            .any(|frame| frame.function.contains("clock_gettime"))
    });
    assert!(named.count() > 0);
}
