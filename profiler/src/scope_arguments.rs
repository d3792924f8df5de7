//! The options of `coz-rs run` that say what experiments may select.

use clap::{Args, ValueEnum};

use crate::symbols::{Scope, Unit};

/// What experiments may select.
#[derive(Debug, Clone, Default, Args)]
pub struct ScopeArguments {
    /// Select lines, or whole functions with what they call.
    ///
    /// A function is one entry in the profile, wherever the compiler has inlined it.
    #[arg(long, value_enum, default_value_t = UnitChoice::Line)]
    pub unit: UnitChoice,

    /// Count only what runs beneath this function.
    ///
    /// For code that has several callers: what would the program gain if it were faster where
    /// this function calls it? The last parts of the name are enough; `%` stands for `*`.
    #[arg(long, value_name = "FUNCTION")]
    pub under: Option<String>,

    /// Select only lines of source files that fit this glob (repeatable).
    ///
    /// Without it every source file counts that is not of the system, the Rust standard library
    /// or a fetched crate. `%` stands for `*`.
    #[arg(long, value_name = "GLOB")]
    pub source_scope: Vec<String>,

    /// Never select lines of source files that fit this glob (repeatable).
    ///
    /// For instance generated code, or tests.
    #[arg(long, value_name = "GLOB")]
    pub source_exclude: Vec<String>,

    /// Sources lie elsewhere than debug information says (repeatable).
    ///
    /// For programs built in a container or with remapped paths: a path that begins with FROM
    /// begins with TO here. All other options see the new path. FROM may be . for relative paths.
    #[arg(long, value_name = "FROM=TO")]
    pub source_map: Vec<String>,

    /// Select lines of this fetched crate too (repeatable).
    ///
    /// For Rust programs whose work is done in crates; `%` means all of them. Without it their
    /// time belongs to the line of yours that calls them.
    #[arg(long = "crate", value_name = "NAME")]
    pub crates: Vec<String>,

    /// Select only in functions that fit this regular expression (repeatable).
    ///
    /// It is searched for in the readable name: app::parse, or parse(int) in C++.
    #[arg(long, value_name = "REGEX")]
    pub function: Vec<String>,

    /// Never select in functions that fit this regular expression (repeatable).
    ///
    /// Their time belongs to what calls them.
    #[arg(long, value_name = "REGEX")]
    pub function_exclude: Vec<String>,

    /// Select lines of binaries that fit this glob, not of the executable (repeatable).
    ///
    /// For code in shared libraries; MAIN stands for the executable itself.
    #[arg(long, value_name = "GLOB")]
    pub binary_scope: Vec<String>,

    /// Never select lines of binaries that fit this glob (repeatable).
    ///
    /// For instance plugins of somebody else.
    #[arg(long, value_name = "GLOB")]
    pub binary_exclude: Vec<String>,
}

/// `--unit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum UnitChoice {
    /// Source lines.
    #[default]
    Line,
    /// Functions, with what they call.
    Function,
}

impl ScopeArguments {
    /// The scope that they mean.
    ///
    /// # Errors
    /// A glob or a regular expression that cannot be read.
    pub fn scope(&self) -> anyhow::Result<Scope> {
        let scope = Scope::new(&self.source_scope, &self.source_exclude, &self.binary_scope)?
            .without_binaries(&self.binary_exclude)?
            .with_source_map(&self.source_map)?
            .with_crates(&self.crates)?
            .with_functions(&self.function, &self.function_exclude)?;
        let under = self.under.as_deref();
        Ok(scope.beneath(under).with_unit(self.unit.into()))
    }
}

impl From<UnitChoice> for Unit {
    fn from(choice: UnitChoice) -> Unit {
        match choice {
            UnitChoice::Line => Unit::Line,
            UnitChoice::Function => Unit::Function,
        }
    }
}
