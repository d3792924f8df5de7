//! `coz-rs doctor`: what works on this machine and with a program, what does not, and the command
//! that mends it. Nothing here runs the program; what is tried is tried with coz-rs itself.

mod finding;
mod limits;
mod loading;
mod machine;
mod program;
mod text;
mod trial;

use std::ffi::OsStr;

pub use finding::{Area, Diagnosis, Finding, Outcome};
pub use text::{plain, remarks};

use crate::launch::sampler_probe::{Probe, may_sample_kernel};
use crate::symbols::Scope;

/// Examines the machine and, if one is named, the program. To be called while this process has
/// one thread.
#[must_use]
pub fn examine(command: Option<&OsStr>, scope: &Scope) -> Diagnosis {
    let exclude_kernel = !may_sample_kernel();
    let probe = Probe::start(exclude_kernel);
    let mut findings = machine::check(probe.answer(), exclude_kernel);
    findings.extend(limits::check());
    findings.extend(trial::check(exclude_kernel));
    if let Some(command) = command {
        findings.extend(program::check(command, scope));
    }
    Diagnosis::new(command, findings)
}

/// What is doubtful or bad about the program and the limits: for a run that learned nothing.
#[must_use]
pub fn examine_after(command: &OsStr, scope: &Scope) -> Vec<Finding> {
    let mut findings = limits::check();
    findings.extend(program::check(command, scope));
    findings.retain(|finding| finding.outcome != Outcome::Good);
    findings
}
