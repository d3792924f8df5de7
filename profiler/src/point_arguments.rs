//! The options of `coz-rs run` that name progress points, for programs whose source has none.

use clap::Args;

use crate::points::spec::Wanted;

/// Progress points without marks in the source.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Progress points without touching the source")]
pub struct PointArguments {
    /// Count a visit each time this place is passed (repeatable).
    ///
    /// A line, of whose path the last parts are enough, a function, or an address (0x…) of the
    /// executable. NAME= before it names the point; places of one name count together.
    #[arg(long, value_name = "[NAME=]FILE:LINE")]
    pub progress: Vec<String>,

    /// Count a visit each time this function is called (repeatable).
    ///
    /// By the linker's name or the readable one, of which the last parts are enough. Needs no
    /// debug information: a stripped program still has the symbols that it shares.
    #[arg(long, value_name = "[NAME=]SYMBOL")]
    pub progress_fn: Vec<String>,
}

impl PointArguments {
    /// What they ask for.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        Wanted {
            progress: self.progress.clone(),
            functions: self.progress_fn.clone(),
            ..Wanted::default()
        }
    }
}
