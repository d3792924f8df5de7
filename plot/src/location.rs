//! What the location of a finding is made of: `file:line` or a function's name, and the function
//! that it must be beneath.

/// A location taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location<'a> {
    /// The file, or the function's name if there is no line.
    pub place: &'a str,
    /// The line, from 1.
    pub line: Option<u32>,
    /// All that stands behind the place: the line and the caller.
    pub rest: &'a str,
}

/// What stands before the caller's name (`coz-rs run --under`).
const UNDER: &str = " under ";

impl<'a> Location<'a> {
    /// Takes a location apart.
    #[must_use]
    pub fn of(text: &'a str) -> Location<'a> {
        let line_of = |text: &'a str| {
            let (file, line) = text.rsplit_once(':')?;
            let line: u32 = line.parse().ok()?;
            Some((file, line))
        };
        let inner = text.rsplit_once(UNDER).map(|(inner, _)| inner);
        let found = line_of(text).or_else(|| line_of(inner?));
        let place = match (found, inner) {
            (Some((file, _)), _) => file,
            // A path may hold the word; a function's name cannot.
            (None, Some(inner)) if !text.contains('/') => inner,
            (None, _) => text,
        };
        Location {
            place,
            line: found.map(|(_, line)| line),
            rest: &text[place.len()..],
        }
    }

    /// Whether it is a function, not a line.
    #[must_use]
    pub fn is_function(&self) -> bool {
        self.line.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_functions_and_callers_are_told_apart() {
        for (text, place, line, rest) in [
            ("src/a.c:12", "src/a.c", Some(12), ":12"),
            ("src/a.c:12 under run", "src/a.c", Some(12), ":12 under run"),
            ("a under b/x.c:3", "a under b/x.c", Some(3), ":3"),
            ("app::run", "app::run", None, ""),
            (
                "app::run under app::main",
                "app::run",
                None,
                " under app::main",
            ),
            ("walk (src/tree.c)", "walk (src/tree.c)", None, ""),
            ("", "", None, ""),
        ] {
            let location = Location::of(text);
            assert_eq!(
                (location.place, location.line, location.rest),
                (place, line, rest),
                "{text}"
            );
        }
    }
}
