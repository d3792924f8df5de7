//! `coz-rs merge`: profiles of several runs or hosts as one file. Profiles merge by concatenation; the
//! command checks that they belong together and loses nothing of the files that are there.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

use anyhow::Context as _;
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::Session;
use coz_rs_plot::safe_text::one_line;

use crate::command_line::MergeArguments;
use crate::commands::in_one_sentence;

/// Writes one profile of several; the exit status.
pub(crate) fn merge(arguments: &MergeArguments) -> anyhow::Result<i32> {
    let mut first: Option<(String, Session)> = None;
    let mut bytes = Vec::new();
    let mut records = 0;
    for path in &arguments.profiles {
        let profile = Profile::read(path).map_err(in_one_sentence)?;
        let skipped = profile.skipped.to_string();
        if !skipped.is_empty() {
            eprintln!("coz-rs: {}: {skipped}", path.display());
        }
        for session in profile.sessions() {
            match &first {
                Some((name, known)) if !arguments.force => belongs(name, known, path, session)?,
                Some(_) => {}
                None => first = Some((path.display().to_string(), session.clone())),
            }
        }
        records += profile.records.len();
        let content = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        bytes.extend_from_slice(&content);
        // A profile that a kill has cut must not swallow the next one's first record.
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
    }
    let mut file = create(arguments)?;
    file.write_all(&bytes)
        .with_context(|| format!("writing {}", arguments.output.display()))?;
    eprintln!(
        "coz-rs: wrote {}: {records} records of {} profiles",
        arguments.output.display(),
        arguments.profiles.len()
    );
    Ok(0)
}

fn create(arguments: &MergeArguments) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    if arguments.force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    options.open(&arguments.output).with_context(|| {
        format!(
            "making {}; name a file that does not exist, or give --force",
            arguments.output.display()
        )
    })
}

fn belongs(
    name: &str,
    first: &Session,
    path: &std::path::Path,
    other: &Session,
) -> anyhow::Result<()> {
    let path = path.display();
    if other.build_id != first.build_id {
        anyhow::bail!("{path} is of another build than {name}; merge it all the same with --force");
    }
    if other.command != first.command {
        anyhow::bail!(
            "{path} is of `{}`, not of `{}` as {name}; merge it all the same with --force",
            one_line(&other.command.join(" ")),
            one_line(&first.command.join(" ")),
        );
    }
    Ok(())
}
