//! Chains compared with those of the `addr2line` crate and of binutils.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use coz_rs::symbols::{Scope, Symbols};

use super::programs::{C, Directory, RUST, Waiting, build, code, symbol};

type Line = (String, u32);

fn file_name(path: &str) -> String {
    Path::new(path)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn by_crate(loader: &addr2line::Loader, address: u64) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut frames = loader.find_frames(address).unwrap();
    while let Some(frame) = frames.next().unwrap() {
        let location = frame.location;
        let file = location
            .as_ref()
            .and_then(|l| l.file)
            .map(file_name)
            .unwrap_or_default();
        lines.push((file, location.and_then(|l| l.line).unwrap_or(0)));
    }
    lines
}

fn by_binutils(program: &Path, addresses: &[u64]) -> Vec<Vec<Line>> {
    let mut tool = Command::new("addr2line")
        .args(["-a", "-i", "-e"])
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = tool.stdin.take().unwrap();
    let text: String = addresses
        .iter()
        .map(|address| format!("{address:#x}\n"))
        .collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = tool.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let mut chains: Vec<Vec<Line>> = Vec::new();
    for text in String::from_utf8_lossy(&output.stdout).lines() {
        if text.starts_with("0x") {
            chains.push(Vec::new());
            continue;
        }
        let text = text.split(" (discriminator").next().unwrap();
        let (file, line) = text.rsplit_once(':').unwrap();
        chains
            .last_mut()
            .unwrap()
            .push((file_name(file), line.parse().unwrap_or(0)));
    }
    chains
}

fn compare(compiler: &str, source: &str, binutils: bool) {
    let directory = Directory::new();
    let program = build(&directory, compiler, source);
    let running = Waiting::start(&program, &[]);
    let mut symbols = Symbols::new(Scope::default(), &program);
    symbols.update_modules(running.pid()).unwrap();
    let bias = running
        .address("mark_inner")
        .wrapping_sub(symbol(&program, "mark_inner").unwrap());
    let loader = addr2line::Loader::new(&program).unwrap();

    let all: Vec<u64> = code(&program)
        .into_iter()
        .flat_map(|(start, end)| start..end)
        .collect();
    let addresses: Vec<u64> = all
        .iter()
        .copied()
        .step_by(all.len() / 20_000 + 1)
        .collect();
    let tool = if binutils {
        by_binutils(&program, &addresses)
    } else {
        Vec::new()
    };
    let (mut known, mut asked) = (0u32, 0u32);
    for (n, &address) in addresses.iter().enumerate() {
        let chain = symbols.chain(address.wrapping_add(bias));
        let ours: Vec<Line> = chain
            .iter()
            .map(|frame| (file_name(&frame.file), frame.line))
            .filter(|(file, _)| !file.is_empty())
            .collect();
        let theirs: Vec<Line> = by_crate(&loader, address)
            .into_iter()
            .filter(|(file, _)| !file.is_empty())
            .collect();
        assert_eq!(ours, theirs, "{compiler}: {address:#x}: {chain:?}");
        // Where there is no line, binutils names the symbol table's last FILE entry instead.
        if let Some(theirs) = tool
            .get(n)
            .filter(|chain| chain.len() > 1 || chain[0].1 != 0)
        {
            assert_eq!(ours, *theirs, "{compiler}: {address:#x} by binutils");
            asked += 1;
        }
        known += u32::from(!ours.is_empty());
    }
    assert!(known > 100, "{compiler}: {known} addresses with lines");
    assert!(
        !binutils || asked > 100,
        "{compiler}: {asked} addresses compared with binutils"
    );
}

#[test]
fn c() {
    for compiler in C {
        compare(compiler, "chain.c", !compiler.contains("lto"));
    }
}

#[test]
fn rust() {
    for compiler in RUST {
        compare(compiler, "chain.rs", true);
    }
}
