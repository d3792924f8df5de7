//! What the rules of the scope left out, and by which rule: so that a user sees what to widen.

use super::foreign_place::crate_name;

/// Why code belongs to no line in scope.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// Source of a crate that cargo fetched; the name of its directory.
    Crate(String),
    /// Source that fits no glob of `--source-scope`.
    SourceScope,
    /// Source that fits a glob of `--source-exclude`.
    SourceExclude,
    /// A function that fits no expression of `--function`.
    Function,
    /// A function that fits an expression of `--function-exclude`.
    FunctionExclude,
    /// Another binary than the executable, or than those of `--binary-scope`; its file name.
    Binary(String),
    /// A binary of the system; its file name.
    SystemBinary(String),
    /// A binary in scope that has no debug information; its file name.
    NoDebugInformation(String),
    /// Code of no source line.
    NoLine,
    /// Source of the Rust standard library.
    Standard,
    /// Source of the system.
    System,
    /// Not beneath the function of `--under`, which this is.
    Under(String),
    /// Code of no module: generated while the program runs.
    NoModule,
}

impl Rule {
    /// The name of the crate that was left out, without its version.
    #[must_use]
    pub fn crate_name(&self) -> Option<&str> {
        match self {
            Rule::Crate(directory) => Some(crate_name(directory)),
            _ => None,
        }
    }

    /// Whether a user might want such code in scope, rather than the line that calls it.
    #[must_use]
    pub fn is_widened(&self) -> bool {
        matches!(
            self,
            Rule::Crate(_)
                | Rule::SourceScope
                | Rule::SourceExclude
                | Rule::Function
                | Rule::FunctionExclude
                | Rule::Binary(_)
        )
    }
}

/// Code that a rule left out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LeftOut {
    /// The rule.
    pub rule: Rule,
    /// Its line as shown, or its function, or nothing.
    pub location: String,
}

/// Number of a [`LeftOut`] in its symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeftOutId(pub(super) u32);

#[cfg(test)]
impl LeftOutId {
    /// A number for tests of those who count.
    pub fn of(number: u32) -> LeftOutId {
        LeftOutId(number)
    }
}
