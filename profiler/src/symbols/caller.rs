//! The function that a user names with `--under`.

use globset::{GlobBuilder, GlobMatcher};

/// A function as the user names it.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// As the user wrote it.
    pub(super) text: String,
    /// Names may hold what a glob cannot: `<[T]>::len`.
    glob: Option<GlobMatcher>,
}

impl Caller {
    /// The function of this name, or those that fit this glob.
    pub(super) fn new(text: &str) -> Caller {
        let glob = GlobBuilder::new(&text.replace('%', "*")).build();
        Caller {
            text: text.to_owned(),
            glob: glob.ok().map(|glob| glob.compile_matcher()),
        }
    }

    /// Does it mean the function of this readable name? The last parts of the name are enough, and
    /// parameters need not be told.
    pub(super) fn names(&self, function: &str) -> bool {
        if function.is_empty() {
            return false;
        }
        let fits = |name: &str| {
            name == self.text || self.glob.as_ref().is_some_and(|glob| glob.is_match(name))
        };
        let tails = |name: &str| {
            let mut starts = name.match_indices("::").map(|(at, sign)| at + sign.len());
            fits(name) || starts.any(|start| fits(&name[start..]))
        };
        tails(function) || tails(without_parameters(function))
    }
}

/// `walk` of `walk(Node*)`; `operator()` and `(anonymous namespace)` stay.
fn without_parameters(name: &str) -> &str {
    if !name.ends_with(')') && !name.ends_with(") const") {
        return name;
    }
    let end = name.match_indices('(').map(|(at, _)| at).find(|at| {
        *at > 0
            && !name[*at..].starts_with("(anonymous namespace)")
            && !name[..*at].ends_with("operator")
    });
    end.map_or(name, |end| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_named_by_the_last_parts_of_its_name() {
        let fits = |text: &str, name: &str| Caller::new(text).names(name);
        assert!(fits("run", "run") && fits("run", "app::worker::run"));
        assert!(fits("worker::run", "app::worker::run") && !fits("worker::run", "app::run"));
        assert!(fits("walk", "tree::walk(Node*)") && fits("walk(Node*)", "tree::walk(Node*)"));
        assert!(fits("walk", "(anonymous namespace)::walk(int) const"));
        assert!(fits("par%", "app::parse") && !fits("par", "app::parse") && !fits("%", ""));
        assert!(fits("{{closure}}", "app::main::{{closure}}") && fits("<[T]>::len", "<[T]>::len"));
        assert!(fits("operator()", "A::operator()(int)"));
    }
}
