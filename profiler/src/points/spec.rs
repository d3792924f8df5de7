//! Progress points that the user names on the command line, in place of marks in the source.

use crate::targets::shared_region::PointKind;

/// Where a point is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A source line: `FILE:LINE`.
    Line(String),
    /// The entry of a function.
    Function(String),
    /// An instruction, in the executable's own addresses.
    Address(u64),
}

/// One place to count at; several of one name and kind count together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointSpec {
    /// What its visits mean.
    pub kind: PointKind,
    /// The point's name in the profile.
    pub name: String,
    /// Where it is.
    pub location: Location,
}

impl PointSpec {
    /// The place as the user wrote it.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.location {
            Location::Line(text) | Location::Function(text) => text.clone(),
            Location::Address(address) => format!("{address:#x}"),
        }
    }
}

/// What the command line says.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// `--progress`.
    pub progress: Vec<String>,
    /// `--progress-fn`.
    pub functions: Vec<String>,
    /// `--begin`.
    pub begin: Vec<String>,
    /// `--end`.
    pub end: Vec<String>,
}

/// Why that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// Nothing is named.
    #[error(
        "`{text}` names no place; write FILE:LINE, a function or an address, for instance \
         `{option} src/main.rs:42`"
    )]
    NoPlace {
        /// What was given.
        text: String,
        /// The option.
        option: &'static str,
    },
    /// A begin without an end, or the other way round.
    #[error(
        "`{name}` has {has} and no {lacks}; give both the same name, for instance \
         `--begin {name}=FILE:LINE --end {name}=FILE:LINE`"
    )]
    HalfPair {
        /// The name.
        name: String,
        /// The option that is there.
        has: &'static str,
        /// The one that is not.
        lacks: &'static str,
    },
}

/// The points that the command line asks for.
///
/// # Errors
/// See [`SpecError`].
pub fn points(wanted: &Wanted) -> Result<Vec<PointSpec>, SpecError> {
    let mut points = Vec::new();
    for text in &wanted.progress {
        let (name, location) = parse(text, "--progress")?;
        points.push(throughput(name, location));
    }
    for text in &wanted.functions {
        let (name, place) = split(text);
        if place.is_empty() {
            return Err(no_place(text, "--progress-fn"));
        }
        points.push(throughput(name, Location::Function(place.to_owned())));
    }
    // Unnamed begins and ends are one pair, named by the first place where work arrives.
    let mut unnamed = None;
    let sides = [
        ("--begin", PointKind::Begin, &wanted.begin),
        ("--end", PointKind::End, &wanted.end),
    ];
    for (option, kind, texts) in sides {
        for text in texts {
            let (name, location) = parse(text, option)?;
            let name = name.map_or_else(
                || unnamed.get_or_insert_with(|| text.clone()).clone(),
                str::to_owned,
            );
            points.push(PointSpec {
                kind,
                name,
                location,
            });
        }
    }
    let has = |kind, name: &str| points.iter().any(|p| p.kind == kind && p.name == name);
    for point in &points {
        let (other, has_option, lacks) = match point.kind {
            PointKind::Throughput => continue,
            PointKind::Begin => (PointKind::End, "--begin", "--end"),
            PointKind::End => (PointKind::Begin, "--end", "--begin"),
        };
        if !has(other, &point.name) {
            return Err(SpecError::HalfPair {
                name: point.name.clone(),
                has: has_option,
                lacks,
            });
        }
    }
    Ok(points)
}

fn throughput(name: Option<&str>, location: Location) -> PointSpec {
    let mut point = PointSpec {
        kind: PointKind::Throughput,
        name: String::new(),
        location,
    };
    point.name = name.map_or_else(|| point.place(), str::to_owned);
    point
}

fn no_place(text: &str, option: &'static str) -> SpecError {
    SpecError::NoPlace {
        text: text.to_owned(),
        option,
    }
}

fn parse<'a>(
    text: &'a str,
    option: &'static str,
) -> Result<(Option<&'a str>, Location), SpecError> {
    let (name, place) = split(text);
    if place.is_empty() {
        return Err(no_place(text, option));
    }
    let is_line = place.rsplit_once(':').is_some_and(|(file, line)| {
        !file.is_empty() && !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
    });
    let address = place
        .strip_prefix("0x")
        .and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let location = match address {
        Some(address) => Location::Address(address),
        None if is_line => Location::Line(place.to_owned()),
        None => Location::Function(place.to_owned()),
    };
    Ok((name, location))
}

/// `NAME=PLACE`. What stands before the sign is a name unless it looks like a part of a place:
/// `Matrix::operator=(Matrix const&)` is a function.
fn split(text: &str) -> (Option<&str>, &str) {
    let text = text.trim();
    match text.split_once('=') {
        Some((name, place))
            if !name.trim().is_empty()
                && !name.contains(['/', ':', '(', '<'])
                && !name.ends_with("operator") =>
        {
            (Some(name.trim()), place.trim())
        }
        _ => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(progress: &[&str], begin: &[&str], end: &[&str]) -> Wanted {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Wanted {
            progress: owned(progress),
            begin: owned(begin),
            end: owned(end),
            ..Wanted::default()
        }
    }

    #[test]
    fn places_of_all_kinds_with_and_without_names() {
        let points = points(&wanted(
            &[
                "src/a.c:12",
                "jobs=a.c:3",
                "serve",
                "0x1234",
                "ns::run",
                "m=operator==",
            ],
            &[],
            &[],
        ))
        .unwrap();
        let seen: Vec<(&str, Location)> = points
            .iter()
            .map(|point| (point.name.as_str(), point.location.clone()))
            .collect();
        assert_eq!(
            seen,
            [
                ("src/a.c:12", Location::Line("src/a.c:12".to_owned())),
                ("jobs", Location::Line("a.c:3".to_owned())),
                ("serve", Location::Function("serve".to_owned())),
                ("0x1234", Location::Address(0x1234)),
                ("ns::run", Location::Function("ns::run".to_owned())),
                ("m", Location::Function("operator==".to_owned())),
            ]
        );
    }

    #[test]
    fn begins_and_ends_pair_by_name() {
        let pair = points(&wanted(&[], &["a.c:1"], &["a.c:9", "a.c:12"])).unwrap();
        assert!(pair.iter().all(|point| point.name == "a.c:1"));
        assert_eq!(pair.len(), 3);
        let named = points(&wanted(&[], &["x=a.c:1", "a.c:2"], &["a.c:9", "x=b"])).unwrap();
        let names: Vec<&str> = named.iter().map(|point| point.name.as_str()).collect();
        assert_eq!(names, ["x", "a.c:2", "a.c:2", "x"]);
        let half = points(&wanted(&[], &["x=a.c:1"], &["y=a.c:9"])).unwrap_err();
        assert!(
            half.to_string().contains("`x` has --begin and no --end"),
            "{half}"
        );
        assert!(points(&wanted(&[], &[], &["a.c:9"])).is_err());
        assert!(points(&wanted(&["x="], &[], &[])).is_err());
    }
}
