//! Names for tables and pictures: locations as short as they can be without being mistaken for one
//! another, and functions without what they have in common with many.

use std::collections::HashMap;

use crate::location::Location;

/// For each line the file name, preceded by as many directories as tell it from the files of
/// the others. The line stays, and so does the caller that it must be beneath; functions stay.
#[must_use]
pub fn shorten<'a>(locations: impl IntoIterator<Item = &'a str>) -> HashMap<&'a str, String> {
    let locations: Vec<&str> = locations.into_iter().collect();
    let place = |location: &'a str| Location::of(location).place;
    let mut files: Vec<&str> = locations.iter().map(|location| place(location)).collect();
    files.sort_unstable();
    files.dedup();
    let mut short: HashMap<&str, &str> = HashMap::new();
    let mut open = files;
    let mut parts = 1;
    while !open.is_empty() {
        let mut owners: HashMap<&str, usize> = HashMap::new();
        for file in &open {
            *owners.entry(tail(file, parts)).or_default() += 1;
        }
        open.retain(|file| {
            let tail = tail(file, parts);
            let done = owners.get(tail) == Some(&1) || tail.len() == file.len();
            if done {
                short.insert(file, tail);
            }
            !done
        });
        parts += 1;
    }
    locations
        .into_iter()
        .map(|location| {
            let Location { place, line, rest } = Location::of(location);
            let name = match line {
                Some(_) => format!("{}{rest}", short.get(place).unwrap_or(&place)),
                None => location.to_owned(),
            };
            (location, name)
        })
        .collect()
}

/// The last so many parts of a path.
fn tail(path: &str, parts: usize) -> &str {
    let start = path
        .rmatch_indices('/')
        .nth(parts - 1)
        .map_or(0, |(at, _)| at + 1);
    &path[start..]
}

/// The last two parts of a function's name, without parameters and generic arguments: `Bucket::find`
/// for `app::index::Bucket<u8>::find(int)`, `Index::extend` for `<app::Index as Extend<T>>::extend`.
#[must_use]
pub fn short_function(name: &str) -> String {
    let mut parts: Vec<String> = vec![String::new()];
    let mut depth = 0_usize;
    // Of `<A as B>::f`, A is what tells most.
    let (mut quoted, mut in_trait) = (false, false);
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        let at_start = parts.len() == 1 && parts[0].is_empty();
        let after = &rest[character.len_utf8()..];
        match character {
            '<' if at_start && depth == 0 && !quoted => quoted = true,
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            '>' => (quoted, in_trait) = (false, false),
            // Parameters end the name; `(anonymous namespace)` and `operator()` are part of it.
            '(' if depth == 0
                && !at_start
                && !rest.starts_with("(anonymous")
                && !parts_end_in_operator(&parts) =>
            {
                break;
            }
            _ if depth > 0 || in_trait => {}
            ' ' if quoted && rest.starts_with(" as ") => in_trait = true,
            ':' if rest.starts_with("::") => {
                parts.push(String::new());
                rest = &rest[2..];
                continue;
            }
            other => {
                if let Some(last) = parts.last_mut() {
                    last.push(other);
                }
            }
        }
        rest = after;
    }
    parts.retain(|part| !part.is_empty());
    let start = parts.len().saturating_sub(2);
    let short = parts[start..].join("::");
    if short.is_empty() {
        name.to_owned()
    } else {
        short
    }
}

fn parts_end_in_operator(parts: &[String]) -> bool {
    parts
        .last()
        .is_some_and(|part| part.ends_with("operator") || part.starts_with("(anonymous"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn functions_keep_what_tells_them_apart() {
        for (name, short) in [
            ("main", "main"),
            ("app::index::Bucket<u8>::find(int, char)", "Bucket::find"),
            (
                "<app::index::Index as core::iter::Extend<app::Digest>>::extend",
                "Index::extend",
            ),
            ("<app::Queue<T>>::push", "Queue::push"),
            ("app::main::{{closure}}", "main::{{closure}}"),
            (
                "(anonymous namespace)::walk(Node*)",
                "(anonymous namespace)::walk",
            ),
            (
                "std::vector<int, std::allocator<int> >::operator()(int)",
                "vector::operator()",
            ),
            ("<", "<"),
            ("", ""),
        ] {
            assert_eq!(short_function(name), short, "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_name_makes_it_panic(name in "[a-z<>():& ä{},]{0,40}") {
            let _ = short_function(&name);
        }
    }

    #[test]
    fn names_are_short_and_distinct() {
        let locations = [
            "/w/a/src/lib.rs:3",
            "/w/b/src/lib.rs:3",
            "/w/b/x.c:10",
            "main",
            "x::y",
            "walk (/w/b/tree.c) under main",
            "/",
        ];
        let short = shorten(locations);
        let names: Vec<&str> = locations
            .iter()
            .map(|location| short[location].as_str())
            .collect();
        assert_eq!(
            names,
            [
                "a/src/lib.rs:3",
                "b/src/lib.rs:3",
                "x.c:10",
                "main",
                "x::y",
                "walk (/w/b/tree.c) under main",
                "/"
            ]
        );
    }
}
