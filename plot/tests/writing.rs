//! Promises about the file: appended only to its own kind, a group in one write, readable after a
//! cut, and an error on a full disk.

use std::fs;
use std::path::PathBuf;

use coz_rs_plot::profile::{Profile, ReadError};
use coz_rs_plot::record::{Record, Session};
use coz_rs_plot::writer::{ProfileWriter, WriteError};

/// A directory of one test, removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("coz-rs-plot-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary directory is writable");
        Directory(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn session(command: &str, build_id: &str) -> Session {
    Session {
        command: vec![command.to_owned()],
        build_id: build_id.to_owned(),
        ..Session::default()
    }
}

fn write(path: &PathBuf, session: &Session, force: bool) -> Result<(), WriteError> {
    let mut writer = ProfileWriter::create_or_append(path, session, force)?;
    writer.append(&[
        Record::Session(session.clone()),
        Record::Startup { time: 1 },
    ])
}

#[test]
fn runs_of_one_program_append_and_others_are_refused() {
    let directory = Directory::new("append");
    let path = directory.file("profile.coz");
    write(&path, &session("./a", "01"), false).unwrap();
    write(&path, &session("./a", "01"), false).unwrap();
    let other = write(&path, &session("./b", "01"), false).unwrap_err();
    assert!(matches!(&other, WriteError::OtherCommand { command, .. } if command == "./a"));
    assert!(
        other.to_string().ends_with("or append to it with --force"),
        "{other}"
    );
    let rebuilt = write(&path, &session("./a", "02"), false).unwrap_err();
    assert!(matches!(rebuilt, WriteError::OtherBuild { .. }));
    assert_eq!(Profile::read(&path).unwrap().records.len(), 4);
    write(&path, &session("./a", "02"), true).unwrap();
    // The last session counts.
    write(&path, &session("./a", "02"), false).unwrap();
    assert_eq!(Profile::read(&path).unwrap().sessions().count(), 4);
}

#[test]
fn a_file_that_is_no_profile_is_left_as_it_is() {
    let directory = Directory::new("foreign");
    let path = directory.file("main.c");
    fs::write(&path, "int main(void) { return 0; }\n").unwrap();
    let error = write(&path, &session("./a", ""), false).unwrap_err();
    assert!(matches!(error, WriteError::NotOurs { .. }));
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "int main(void) { return 0; }\n"
    );
    assert!(matches!(
        Profile::read(&path),
        Err(ReadError::NotAProfile { lines: 1, .. })
    ));
    let missing = directory.file("no/such/directory/profile.coz");
    let error = write(&missing, &session("./a", ""), false).unwrap_err();
    assert!(matches!(error, WriteError::Unwritable { .. }));
    assert!(matches!(
        Profile::read(&missing),
        Err(ReadError::Unreadable { .. })
    ));
}

#[test]
fn what_follows_a_cut_line_begins_a_new_one() {
    let directory = Directory::new("cut");
    let path = directory.file("profile.coz");
    write(&path, &session("./a", "01"), false).unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    write(&path, &session("./a", "01"), false).unwrap();
    let profile = Profile::read(&path).unwrap();
    assert_eq!((profile.records.len(), profile.skipped.malformed), (3, 1));
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let full = PathBuf::from("/dev/full");
    if !full.exists() {
        eprintln!("skipped: there is no /dev/full here");
        return;
    }
    let error = write(&full, &session("./a", ""), false).unwrap_err();
    assert!(matches!(error, WriteError::Failed { .. }));
    assert!(
        error
            .to_string()
            .starts_with("/dev/full could not be written to its end: "),
        "{error}"
    );
}
