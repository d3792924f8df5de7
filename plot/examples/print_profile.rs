//! Prints what a profile says: `cargo run --example print_profile -- FILE…`.

use std::process::ExitCode;

use coz_rs_plot::estimates::analyse;
use coz_rs_plot::profile::Profile;
use coz_rs_plot::text::{Style, report};

fn main() -> ExitCode {
    let profiles: Result<Vec<Profile>, _> = std::env::args().skip(1).map(Profile::read).collect();
    match profiles {
        Ok(profiles) => {
            let profile = Profile::merge(profiles);
            let style = Style {
                braille: true,
                ..Style::default()
            };
            print!("{}", report(&analyse(&profile.records), &style));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
