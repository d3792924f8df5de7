//! The options of `coz-rs run` that name progress points, for programs whose source has none.

use clap::{Args, ValueEnum};

use crate::points::placer::Way;
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

    /// A unit of work arrives each time this place is passed (repeatable).
    ///
    /// For latency, with --end. Begins and ends of one NAME belong together; those without are one
    /// pair.
    #[arg(long, value_name = "[NAME=]FILE:LINE")]
    pub begin: Vec<String>,

    /// A unit of work is done each time this place is passed (repeatable).
    ///
    /// The other half of --begin. Name every way out.
    #[arg(long, value_name = "[NAME=]FILE:LINE")]
    pub end: Vec<String>,

    /// How visits of such places are counted.
    ///
    /// By the kernel (uprobe), which takes privilege, or by the program itself (breakpoint). `auto`
    /// takes uprobes where they are allowed and cheap; for latency it is always breakpoints.
    #[arg(long, value_enum, default_value_t = ProgressBy::Auto, value_name = "WAY")]
    pub progress_by: ProgressBy,
}

/// `--progress-by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ProgressBy {
    /// Uprobes where they are allowed and cheap.
    #[default]
    Auto,
    /// By the kernel.
    Uprobe,
    /// By the program itself.
    Breakpoint,
}

impl PointArguments {
    /// What they ask for.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        Wanted {
            progress: self.progress.clone(),
            functions: self.progress_fn.clone(),
            begin: self.begin.clone(),
            end: self.end.clone(),
        }
    }

    /// The way that the user demands.
    #[must_use]
    pub fn way(&self) -> Option<Way> {
        match self.progress_by {
            ProgressBy::Auto => None,
            ProgressBy::Uprobe => Some(Way::Uprobe),
            ProgressBy::Breakpoint => Some(Way::Breakpoint),
        }
    }
}
