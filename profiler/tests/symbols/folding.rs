//! Functions of the same code, folded by the linker, are one finding that names all of them.

use coz_rs::symbols::{Owner, Scope, Symbols, Unit};

use super::programs::{Directory, Waiting, build, line, source};

#[test]
fn one_finding_with_its_aliases() {
    for compiler in [
        "clang -O2 -g -ffunction-sections -fuse-ld=lld -Wl,--icf=all",
        "gcc -O2 -g -ffunction-sections -fuse-ld=gold -Wl,--icf=all",
    ] {
        for unit in [Unit::Line, Unit::Function] {
            let directory = Directory::new();
            let program = build(&directory, compiler, "folded.c");
            let running = Waiting::start(&program, &[]);
            let mut symbols = Symbols::new(Scope::default().with_unit(unit), &program);
            symbols.update_modules(running.pid()).unwrap();
            let first = running.address("first");
            assert_eq!(first, running.address("second"), "{compiler} folds");
            let Owner::Line(owner) = symbols.owner(&[first]) else {
                panic!("{compiler}: nobody's");
            };
            let info = symbols.line(owner).clone();
            let mut names = vec![info.function.clone()];
            names.extend(info.aliases.iter().cloned());
            names.sort();
            assert_eq!(names, ["first", "second"], "{compiler}");
            let told = info.function_and_aliases();
            assert!(told.contains(" (same code as "), "{told}");
            // Every address of the function belongs to it, and to nothing else.
            for address in first..first + 8 {
                let Owner::Line(line) = symbols.owner(&[address]) else {
                    panic!("{compiler}: {address:#x} is nobody's");
                };
                assert_eq!(symbols.line(line).function, info.function, "{compiler}");
                let ranges = symbols.ranges(line);
                let inside = ranges.iter().any(|r| r.0 <= address && address < r.1);
                assert!(inside, "{compiler}: {address:#x}");
            }
        }
    }
}

/// Functions that the compiler has merged: the symbol table alone still names the other one, and
/// whoever asks for its line hears why it is not there.
#[test]
fn functions_merged_by_the_compiler_are_one_finding() {
    let directory = Directory::new();
    let compiler = "rustc --edition=2024 -Copt-level=3 -g";
    let program = build(&directory, compiler, "merged.rs");
    let running = Waiting::start(&program, &[]);
    let mut symbols = Symbols::new(Scope::default(), &program);
    symbols.update_modules(running.pid()).unwrap();
    let first = running.address("first");
    if first != running.address("second") {
        println!("skipped: this compiler does not merge functions");
        return;
    }
    let Owner::Line(owner) = symbols.owner(&[first]) else {
        panic!("nobody's");
    };
    let told = symbols.line(owner).function_and_aliases();
    assert!(
        told.contains("first") && told.contains("second") && told.contains("same code"),
        "{told}"
    );
    let lines = ["folded"].map(|name| line(&source("merged.rs"), name));
    let kept = symbols.line(owner).function.starts_with("second");
    let error = symbols.find_line(&format!("merged.rs:{}", lines[0]));
    let said = error.map(|_| ()).map_err(|error| error.to_string());
    assert!(
        kept || said.clone().is_err_and(|text| text.contains("folded into")),
        "{said:?}"
    );
}

/// Code of no line (0) is nobody's: it belongs to the line that calls it, or to none.
#[test]
fn line_0_is_never_selected() {
    let directory = Directory::new();
    let source = directory.join("zero.c");
    let text = "extern int x;\nint x;\n#line 0 \"zero.c\"\nint zero(void) { x++; return x; }\n#line 9 \"zero.c\"\nint main(void) { return zero(); }\n";
    std::fs::write(&source, text).unwrap();
    let program = directory.join("zero");
    let mut clang = std::process::Command::new("clang");
    super::programs::run(clang.args(["-O0", "-g", "-o"]).arg(&program).arg(&source));
    let mut symbols = Symbols::new(Scope::default(), &program);
    let error = symbols.find_line("zero.c:0").unwrap_err().to_string();
    assert!(error.contains("FILE:LINE"), "{error}");
    assert!(symbols.find_line("zero.c:9").is_ok());
}
