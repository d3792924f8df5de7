//! The profiler of coz-rs: what the command `coz-rs` is made of.

pub mod caller_chains;
pub mod clock;
pub mod command_line;
pub mod commands;
pub mod controller;
pub mod demo;
pub mod demo_catalogue;
pub mod demo_measurement;
pub mod demo_program;
pub mod doctor;
pub mod doubt;
pub mod end_to_end;
pub mod experiments;
pub mod launch;
pub mod line_tally;
pub mod live;
pub mod manual;
pub mod merging;
pub mod private_directory;
pub mod profile_log;
pub mod report_output;
pub mod run;
pub mod symbols;
pub mod targets;
pub mod two_profiles;
