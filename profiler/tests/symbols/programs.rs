//! Builds the programs under test and runs them until they wait.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use object::{Object as _, ObjectSymbol as _};

/// A directory of one test, removed with it.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new() -> Directory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("symbols-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A source file under `tests/programs/symbols`.
pub fn source(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("tests/programs/symbols")
        .join(name)
        .canonicalize()
        .unwrap()
}

/// The line of a source file that carries the comment `line: NAME`.
pub fn line(source: &Path, name: &str) -> u32 {
    let text = std::fs::read_to_string(source).unwrap();
    let mark = format!("line: {name}");
    let at = text.lines().position(|line| {
        line.split_once(&mark)
            .is_some_and(|(_, rest)| !rest.starts_with(|c: char| c == '-' || c.is_alphanumeric()))
    });
    at.unwrap_or_else(|| panic!("no line {name}")) as u32 + 1
}

/// Runs a tool to its end.
pub fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// Compiles `tests/programs/symbols/SOURCE` with the words of `compiler`.
pub fn build(directory: &Directory, compiler: &str, name: &str) -> PathBuf {
    let words: Vec<&str> = compiler.split_whitespace().collect();
    let program = directory.join("program");
    let (tool, flags) = words.split_first().unwrap();
    let mut command = Command::new(tool);
    command
        .current_dir(&directory.0)
        .arg(source(name))
        .arg("-o")
        .arg(&program)
        .args(flags);
    run(&mut command);
    program
}

/// A program that has printed its addresses and waits.
pub struct Waiting {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    pub said: Vec<(String, u64)>,
}

impl Waiting {
    pub fn start(program: &Path, arguments: &[&str]) -> Waiting {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut waiting = Waiting {
            child,
            input,
            output,
            said: Vec::new(),
        };
        waiting.listen();
        waiting
    }

    /// Lets the program run until it waits again.
    pub fn go_on(&mut self) {
        self.input.write_all(b"\n").unwrap();
        self.said.clear();
        self.listen();
    }

    fn listen(&mut self) {
        for text in self.output.by_ref() {
            let text = text.unwrap();
            if text == "ready" {
                return;
            }
            let (word, value) = text.split_once(' ').unwrap();
            let value = match value.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
                None => value.parse().unwrap(),
            };
            self.said.push((word.to_owned(), value));
        }
        panic!("the program ended early");
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// What the program printed after this word.
    pub fn address(&self, word: &str) -> u64 {
        self.said
            .iter()
            .find(|(said, _)| said == word)
            .unwrap_or_else(|| panic!("no {word}"))
            .1
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Address of a symbol in the file.
pub fn symbol(program: &Path, name: &str) -> Option<u64> {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    file.symbols()
        .find(|symbol| symbol.name() == Ok(name))
        .map(|symbol| symbol.address())
}

/// Executable sections of a file: address and end.
pub fn code(program: &Path) -> Vec<(u64, u64)> {
    use object::ObjectSection as _;
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let text = file
        .sections()
        .filter(|section| section.kind() == object::SectionKind::Text);
    text.map(|section| (section.address(), section.address() + section.size()))
        .collect()
}

/// The C compilers and flags that people use.
pub const C: &[&str] = &[
    "gcc -O2 -g",
    "gcc -O2 -g -gdwarf-4 -no-pie",
    "gcc -O3 -g -gdwarf-2",
    "gcc -O2 -g -gdwarf-3 -fno-omit-frame-pointer",
    "gcc -O1 -g -gz=zlib -ffunction-sections -Wl,--gc-sections",
    "gcc -O2 -g -fuse-ld=gold",
    "gcc -O2 -g -flto",
    "clang -O2 -g -fuse-ld=lld",
    "clang -O2 -g -gdwarf-4 -fuse-ld=bfd",
    "clang -O2 -g -gdwarf-2 -fuse-ld=gold",
    "clang -O2 -g -gdwarf-3 -fuse-ld=lld -no-pie",
    "gcc -O2 -g -gdwarf-5 -fuse-ld=gold -no-pie -gz=zlib",
    "clang -O2 -g -fuse-ld=lld -no-pie -gdwarf-5 -ffunction-sections -Wl,--gc-sections,--icf=all",
];

/// Rust as cargo's release profile with debug information builds it: rustc's own linker (lld) and
/// GNU ld, and with link-time optimisation.
pub const RUST: &[&str] = &[
    "rustc --edition=2021 -Copt-level=3 -g",
    "rustc --edition=2021 -Copt-level=3 -g -Clinker-features=-lld -Clink-arg=-fuse-ld=bfd",
    "rustc --edition=2021 -Copt-level=2 -g -Clto=fat -Ccodegen-units=1 -Cpanic=abort",
];
