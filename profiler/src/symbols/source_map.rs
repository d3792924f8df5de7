//! Where sources lie here that debug information names by another path: built in a container or by
//! a distribution, or with `-ffile-prefix-map` and `--remap-path-prefix`.

use std::path::Path;

use anyhow::Context as _;

use super::source_files::normal;

/// Replacements for the beginnings of paths.
#[derive(Debug, Clone, Default)]
pub(super) struct SourceMap {
    /// What stands in debug information, and what it is here; the longest comes first.
    rules: Vec<(String, String)>,
}

impl SourceMap {
    /// Rules of the form FROM=TO; a TO that is not absolute is beneath `directory`.
    ///
    /// # Errors
    /// One without `=`, or with nothing before it.
    pub(super) fn new(rules: &[String], directory: &Path) -> anyhow::Result<SourceMap> {
        let parse = |text: &String| {
            let (from, to) = text
                .split_once('=')
                .filter(|(from, _)| !from.is_empty())
                .with_context(|| {
                    format!("`{text}` maps nothing; write for instance `/build/app=.`")
                })?;
            let to = normal(&directory.join(to).to_string_lossy());
            Ok((normal(from), to))
        };
        let mut rules: Vec<_> = rules.iter().map(parse).collect::<anyhow::Result<_>>()?;
        rules.sort_by_key(|(from, _): &(String, String)| std::cmp::Reverse(from.len()));
        Ok(SourceMap { rules })
    }

    /// The path as it is here, if a rule fits; `path` has no dots. A rule fits whole components;
    /// one for `.` fits all relative paths.
    pub(super) fn mapped(&self, path: &str) -> Option<String> {
        self.rules.iter().find_map(|(from, to)| {
            let rest = match from.as_str() {
                "" => (!path.starts_with('/')).then_some(path),
                "/" => path.strip_prefix('/'),
                from => match path.strip_prefix(from)? {
                    "" => Some(""),
                    rest => rest.strip_prefix('/'),
                },
            }?;
            Some(normal(&format!("{to}/{rest}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(rules: &[&str], path: &str) -> Option<String> {
        let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        let map = SourceMap::new(&rules, Path::new("/home/me")).expect("rules");
        map.mapped(path)
    }

    #[test]
    fn whole_components_are_replaced() {
        let rule = ["/build/app=app"];
        let here = Some("/home/me/app/src/a.c".to_owned());
        assert_eq!(mapped(&rule, "/build/app/src/a.c"), here);
        assert_eq!(mapped(&rule, "/build/apples/a.c"), None);
        assert_eq!(mapped(&rule, "/build"), None);
        assert_eq!(mapped(&["/build/app/=app/"], "/build/app/src/a.c"), here);
        assert_eq!(
            mapped(&["/=/mnt"], "/usr/a.c"),
            Some("/mnt/usr/a.c".to_owned())
        );
        assert_eq!(
            mapped(&["/x/a.c=b.c"], "/x/a.c"),
            Some("/home/me/b.c".to_owned())
        );
    }

    #[test]
    fn the_longest_rule_counts() {
        let rules = ["/b=/one", "/b/c=/two", "/b/c/d/e=/three"];
        assert_eq!(mapped(&rules, "/b/c/d/x.c"), Some("/two/d/x.c".to_owned()));
        assert_eq!(mapped(&rules, "/b/x.c"), Some("/one/x.c".to_owned()));
    }

    #[test]
    fn relative_paths_are_mapped_by_a_dot() {
        let here = Some("/home/me/src/a.c".to_owned());
        assert_eq!(mapped(&[".=."], "src/a.c"), here);
        assert_eq!(mapped(&[".=."], "/src/a.c"), None);
    }

    #[test]
    fn what_maps_nothing_is_refused() {
        for text in ["/build", "=x", ""] {
            let error = SourceMap::new(&[text.to_owned()], Path::new("/")).map(|_| ());
            let error = error.map_err(|error| error.to_string());
            assert!(error.is_err_and(|error| error.contains("maps nothing")));
        }
    }
}
