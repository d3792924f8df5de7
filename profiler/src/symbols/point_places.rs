//! What placing progress points needs to know of binaries: where lines and functions begin, the
//! code around, and where it is loaded.

use std::path::{Path, PathBuf};

use super::attribution::{LineId, Symbols};
use super::function_names::demangled;

/// A place in the code of a binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CodePlace {
    /// Number of the binary in these symbols.
    pub binary: usize,
    /// Address in the binary's own addresses.
    pub address: u64,
}

/// A row of the line table that may begin an execution of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineStart {
    /// Address in the binary's own addresses.
    pub address: u64,
    /// Where the code of this line and column ends that begins here; all ones if unknown.
    pub end: u64,
    /// The column that the compiler names.
    pub column: u64,
    /// The compiler recommends to stop here.
    pub statement: bool,
    /// The instruction at the address is of the line; else only the mark stands here.
    pub own: bool,
    /// Tells the function itself and each copy inlined into it apart.
    pub copy: u32,
}

/// A function that has code of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCode {
    /// Number of the binary.
    pub binary: usize,
    /// The function's stretches of code, start and end, ascending; empty if unknown.
    pub code: Vec<(u64, u64)>,
    /// Where the line may begin in it.
    pub starts: Vec<LineStart>,
}

/// Why a function is not to be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionNotFound {
    /// No symbol of that name.
    #[error("no function `{name}` is in {binary}{}", similar(.nearest))]
    NoSuchFunction {
        /// What was asked for.
        name: String,
        /// Where it was searched.
        binary: String,
        /// Functions with similar names.
        nearest: Vec<String>,
    },
    /// Several functions fit.
    #[error("`{name}` may be {}; write the whole name", .names.join(" or "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The functions that fit.
        names: Vec<String>,
    },
}

fn similar(names: &[String]) -> String {
    if names.is_empty() {
        return "; name a line, FILE:LINE, if it was inlined".to_owned();
    }
    format!("; there are {}", names.join(", "))
}

/// How many names an error suggests.
const SUGGESTIONS: usize = 6;

impl Symbols {
    /// The functions that have code of the line, in all binaries in scope.
    pub fn line_code(&mut self, id: LineId) -> Vec<FunctionCode> {
        let Some((file, line)) = self.file_and_line(id) else {
            return Vec::new();
        };
        let mut functions = Vec::new();
        for number in self.binaries_in_scope() {
            let Symbols {
                modules,
                files,
                directories,
                ..
            } = self;
            let Some(binary) = modules.binaries.get_mut(number) else {
                continue;
            };
            let first = binary.span.0;
            let Some(debug) = binary.debug(directories) else {
                continue;
            };
            for found in debug.statement_starts(file, line, files) {
                let address = |distance: u32| first + u64::from(distance);
                functions.push(FunctionCode {
                    binary: number,
                    code: (found.code.iter())
                        .map(|(start, end)| (address(*start), address(*end)))
                        .collect(),
                    starts: (found.starts.iter())
                        .map(|start| LineStart {
                            address: address(start.address),
                            end: match start.end {
                                u32::MAX => u64::MAX,
                                end => address(end),
                            },
                            column: start.column,
                            statement: start.statement,
                            own: start.own,
                            copy: start.copy,
                        })
                        .collect(),
                });
            }
        }
        functions
    }

    /// The entries of the functions of this name: as the linker sees it, or as people write it,
    /// of which the last parts are enough. The executable's come before those of libraries.
    ///
    /// # Errors
    /// See [`FunctionNotFound`].
    pub fn functions_named(&mut self, name: &str) -> Result<Vec<CodePlace>, FunctionNotFound> {
        let mut order: Vec<usize> = (0..self.modules.binaries.len()).collect();
        order.sort_by_key(|number| self.modules.main != Some(*number));
        let mut nearest = Vec::new();
        for number in order {
            let directories = &self.directories;
            let Some(binary) = self.modules.binaries.get(number) else {
                continue;
            };
            let mut functions = binary.elf.function_entries();
            // A stripped binary's full symbol table is in its separate debug file.
            if !binary.elf.has_section(".symtab")
                && let Some((_, file)) = directories.separate(&binary.elf, &binary.path).file
            {
                functions.extend(file.function_entries());
            }
            let found = select(&functions, name)?;
            if !found.is_empty() {
                return Ok((found.into_iter())
                    .map(|address| CodePlace {
                        binary: number,
                        address,
                    })
                    .collect());
            }
            if self.modules.main == Some(number) {
                nearest = similar_names(&functions, name);
            }
        }
        let binary = self.modules.main();
        Err(FunctionNotFound::NoSuchFunction {
            name: name.to_owned(),
            binary: binary.map_or_else(String::new, |main| main.path.display().to_string()),
            nearest,
        })
    }

    /// The executable's number.
    #[must_use]
    pub fn executable(&self) -> Option<usize> {
        self.modules.main
    }

    /// The bytes that are loaded at an address of a binary.
    #[must_use]
    pub fn code(&self, place: CodePlace, size: usize) -> Option<&[u8]> {
        let binary = self.modules.binaries.get(place.binary)?;
        binary.elf.loaded(place.address, size)
    }

    /// Start and size of the function around an address, by the symbol table.
    #[must_use]
    pub fn function_around(&self, place: CodePlace) -> Option<(u64, u64)> {
        let binary = self.modules.binaries.get(place.binary)?;
        let holds = |functions: Vec<(u64, u64, String)>| {
            let after = functions.partition_point(|function| function.0 <= place.address);
            let (start, size, _) = functions.get(after.checked_sub(1)?)?;
            (place.address - start < *size).then_some((*start, *size))
        };
        holds(binary.elf.functions()).or_else(|| {
            let separate = self.directories.separate(&binary.elf, &binary.path).file;
            holds(separate?.1.functions())
        })
    }

    /// Whether the address is in executable code.
    #[must_use]
    pub fn is_code(&self, place: CodePlace) -> bool {
        let binary = self.modules.binaries.get(place.binary);
        binary.is_some_and(|binary| {
            let mut code = binary.elf.code().into_iter();
            code.any(|(start, end)| (start..end).contains(&place.address))
        })
    }

    /// Where in the binary's file the code lies.
    #[must_use]
    pub fn file_offset(&self, place: CodePlace) -> Option<u64> {
        let binary = self.modules.binaries.get(place.binary)?;
        binary.elf.offset(place.address)
    }

    /// The binary's file.
    #[must_use]
    pub fn binary_path(&self, binary: usize) -> Option<&Path> {
        Some(&self.modules.binaries.get(binary)?.path)
    }

    /// The binaries that are loaded now.
    #[must_use]
    pub fn loaded_binaries(&self) -> Vec<(usize, PathBuf)> {
        let loaded = self.modules.loaded.iter();
        loaded
            .filter_map(|module| {
                let path = self.binary_path(module.binary)?;
                Some((module.binary, path.to_owned()))
            })
            .collect()
    }

    /// The addresses at which a place is loaded now.
    #[must_use]
    pub fn loaded_at(&self, place: CodePlace) -> Vec<u64> {
        let Some(binary) = self.modules.binaries.get(place.binary) else {
            return Vec::new();
        };
        let modules = self.modules.loaded.iter();
        let modules = modules.filter(|module| module.binary == place.binary);
        modules
            .filter_map(|module| {
                let distance = place.address.checked_sub(binary.span.0)?;
                let address = module.start.checked_add(distance)?;
                (address < module.end).then_some(address)
            })
            .collect()
    }
}

/// A function's name without what compilers append to clones that are called in its place.
fn without_clone(name: &str) -> &str {
    let end = [".isra.", ".constprop.", ".llvm."]
        .iter()
        .filter_map(|mark| name.find(mark))
        .min();
    // What follows `.part` or `.cold` is only a piece of a function.
    let piece = name.contains(".part.") || name.contains(".cold");
    end.filter(|_| !piece).map_or(name, |end| &name[..end])
}

/// The functions that `name` means: by the linker's name, the whole readable name, the readable
/// name without arguments, or its last parts; the first of these that fits any.
fn select(functions: &[(u64, String)], name: &str) -> Result<Vec<u64>, FunctionNotFound> {
    let mut exact: Vec<u64> = functions
        .iter()
        .filter(|function| function.1 == name || without_clone(&function.1) == name)
        .map(|function| function.0)
        .collect();
    exact.sort_unstable();
    exact.dedup();
    if !exact.is_empty() {
        return Ok(exact);
    }
    // Names without the last word cannot fit however they are read; most are left out cheaply.
    let word = name.rsplit("::").next().unwrap_or(name);
    let word = word.split(['(', '<']).next().unwrap_or(word);
    let readable: Vec<(u64, String)> = functions
        .iter()
        .filter(|function| function.1.contains(word))
        .map(|function| (function.0, demangled(without_clone(&function.1))))
        .collect();
    let ends_with = |plain: &str| {
        let rest = plain.strip_suffix(name);
        rest.is_some_and(|rest| rest.ends_with("::"))
    };
    let ways: [&dyn Fn(&str) -> bool; 5] = [
        &|readable| readable == name,
        &|readable| without_arguments(readable) == name,
        &|readable| ends_with(without_arguments(readable)),
        &|readable| without_types(readable) == name,
        &|readable| ends_with(without_types(readable)),
    ];
    for way in ways {
        let mut fitting: Vec<&(u64, String)> = readable
            .iter()
            .filter(|function| way(&function.1))
            .collect();
        if fitting.is_empty() {
            continue;
        }
        fitting.sort_unstable();
        fitting.dedup_by_key(|function| function.0);
        let written = |function: &&(u64, String)| without_types(&function.1) == name;
        let generic = fitting.iter().all(written);
        let mut names: Vec<&str> = fitting.iter().map(|function| function.1.as_str()).collect();
        // All that a template became, if its whole name was given.
        if generic {
            names.truncate(1);
        }
        names.sort_unstable();
        names.dedup();
        // Copies of one generic function are one function; others are not.
        if names.len() > 1 {
            let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
            names.truncate(SUGGESTIONS);
            return Err(FunctionNotFound::Ambiguous {
                name: name.to_owned(),
                names,
            });
        }
        return Ok(fitting.into_iter().map(|function| function.0).collect());
    }
    Ok(Vec::new())
}

/// A C++ function's name without its parameters.
fn without_arguments(name: &str) -> &str {
    match name.rfind(')') {
        Some(close) if name.len() - close <= " const".len() + 1 => {
            let mut depth = 0;
            for (at, c) in name[..=close].char_indices().rev() {
                match c {
                    ')' => depth += 1,
                    '(' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    return &name[..at];
                }
            }
            name
        }
        _ => name,
    }
}

/// A function's name without parameters, template arguments and, which templates have, its result.
fn without_types(name: &str) -> &str {
    let mut plain = without_arguments(name);
    if plain.contains("operator") {
        return plain;
    }
    let mut depth = 0;
    if plain.ends_with('>') {
        let open = plain.char_indices().rev().find(|(_, c)| {
            match c {
                '>' => depth += 1,
                '<' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let end = open.map_or(plain.len(), |(at, _)| at);
        plain = plain[..end].trim_end_matches("::");
    }
    let mut depth = 0;
    let space = plain.char_indices().rev().find(|(_, c)| {
        match c {
            '>' | ')' => depth += 1,
            '<' | '(' => depth -= 1,
            _ => {}
        }
        depth == 0 && *c == ' '
    });
    space.map_or(plain, |(at, _)| &plain[at + 1..])
}

fn similar_names(functions: &[(u64, String)], name: &str) -> Vec<String> {
    let word = name.rsplit("::").next().unwrap_or(name).to_lowercase();
    let mut names: Vec<String> = functions
        .iter()
        .filter(|function| function.1.to_lowercase().contains(&word))
        .map(|function| demangled(&function.1))
        .collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names.dedup();
    names.truncate(SUGGESTIONS);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_types() {
        for (whole, plain) in [
            ("long app::last<long>(long)", "app::last"),
            ("std::vector<int, a> make<std::pair<int, b>>(int)", "make"),
            ("app::serve", "app::serve"),
            (
                "<app::Shape as app::Area>::area",
                "<app::Shape as app::Area>::area",
            ),
            ("app::run::<u64>", "app::run"),
            ("bool operator< <int>(int)", "bool operator< <int>"),
            ("", ""),
        ] {
            assert_eq!(without_types(whole), plain);
        }
    }

    #[test]
    fn functions_are_found_by_the_names_that_people_use() {
        let functions: Vec<(u64, String)> = [
            (1, "plain"),
            (2, "_ZN3foo3barEi"),
            (3, "_ZN4main5serve17h0123456789abcdefE"),
            (4, "_ZN4main5serve17h1123456789abcdefE"),
            (5, "_ZN5other5serveEv"),
            (6, "_ZN5other3runEPFvvE"),
            (9, "_ZN3app4lastIlEET_S1_"),
            (10, "_ZN3app4lastIdEET_S1_"),
            (7, "copied.isra.0"),
            (8, "copied.constprop.0.cold"),
        ]
        .into_iter()
        .map(|(address, name)| (address, name.to_owned()))
        .collect();
        let find = |name: &str| select(&functions, name);
        assert_eq!(find("plain"), Ok(vec![1]));
        assert_eq!(find("_ZN3foo3barEi"), Ok(vec![2]));
        assert_eq!(find("foo::bar(int)"), Ok(vec![2]));
        assert_eq!(find("foo::bar"), Ok(vec![2]));
        assert_eq!(find("bar"), Ok(vec![2]));
        assert_eq!(find("main::serve"), Ok(vec![3, 4]));
        assert_eq!(find("run"), Ok(vec![6]));
        assert_eq!(find("copied"), Ok(vec![7]));
        // long app::last<long>(long), double app::last<double>(double)
        assert_eq!(find("app::last"), Ok(vec![9, 10]));
        assert_eq!(find("long app::last<long>(long)"), Ok(vec![9]));
        assert_eq!(find("ar"), Ok(vec![]));
        let several = find("serve").unwrap_err().to_string();
        assert!(
            several.contains("main::serve or other::serve()"),
            "{several}"
        );
    }
}
