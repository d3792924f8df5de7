//! `coz-rs man` and `coz-rs completions`: from the structs that read the command line, so that they
//! cannot say anything else.

use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::command_line::CommandLine;
use crate::report_output::pour;

/// Prints the completions of a shell; the exit status.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<i32> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "coz-rs", &mut script);
    pour(&script)?;
    Ok(0)
}

/// Prints the manual page of the whole command, or writes the pages of all commands into a
/// directory; the exit status.
pub(crate) fn man(directory: Option<&Path>) -> anyhow::Result<i32> {
    let command = CommandLine::command();
    let Some(directory) = directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command)
            .render(&mut page)
            .context("writing the manual page")?;
        pour(&page)?;
        return Ok(0);
    };
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command, directory))
        .with_context(|| format!("writing manual pages into {}", directory.display()))?;
    eprintln!("coz-rs: wrote manual pages into {}", directory.display());
    Ok(0)
}
