//! Writes the report of a profile: `cargo run --example write_report -- OUT.html FILE…`.

use std::process::ExitCode;

use coz_rs_plot::estimates::analyse;
use coz_rs_plot::html::report;
use coz_rs_plot::profile::Profile;
use coz_rs_plot::source_text::from_disk;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(out) = arguments.next() else {
        eprintln!("name the file to write");
        return ExitCode::FAILURE;
    };
    let profiles: Result<Vec<Profile>, _> = arguments.map(Profile::read).collect();
    let profile = match profiles {
        Ok(profiles) => Profile::merge(profiles),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let page = report(&analyse(&profile.records), &mut from_disk);
    match std::fs::write(&out, page) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{out} cannot be written: {error}");
            ExitCode::FAILURE
        }
    }
}
