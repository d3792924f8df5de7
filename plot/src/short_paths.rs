//! Locations as short as they can be without being mistaken for one another.

use std::collections::HashMap;

/// For each location the file name, preceded by as many directories as tell it from the files of
/// the others. The part after the last `:` is the line and stays.
#[must_use]
pub fn shorten<'a>(locations: impl IntoIterator<Item = &'a str>) -> HashMap<&'a str, String> {
    let locations: Vec<&str> = locations.into_iter().collect();
    let file = |location: &'a str| location.rsplit_once(':').map_or(location, |(file, _)| file);
    let mut files: Vec<&str> = locations.iter().map(|location| file(location)).collect();
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
            let file = file(location);
            let rest = &location[file.len()..];
            (
                location,
                format!("{}{rest}", short.get(file).unwrap_or(&file)),
            )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_distinct() {
        let locations = [
            "/w/a/src/lib.rs:3",
            "/w/b/src/lib.rs:3",
            "/w/b/x.c:10",
            "main",
            "x::y",
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
                ""
            ]
        );
    }
}
