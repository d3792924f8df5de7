//! Limits (setrlimit(2)) that would keep the controller or the runtime from working.

use coz_rs_runtime_preload::layout::Region;
use nix::sys::resource::{Resource, getrlimit};

use super::finding::{Area, Finding};

/// Descriptors that the controller needs: its own, and two for each process of the program.
const DESCRIPTORS: u64 = 64;
/// Address space that the runtime and its tables need in a program, beyond what is shared.
const ADDRESS_SPACE: u64 = 64 << 20;
/// Stack that the sample handler needs beyond what the kernel puts there.
const HANDLER: u64 = 4096;
/// Stacks smaller than this are rare: PTHREAD_STACK_MIN.
const SMALLEST_STACK: u64 = 16_384;

pub(super) fn check() -> Vec<Finding> {
    let region = size_of::<Region>() as u64;
    let mut findings = vec![descriptors(soft(Resource::RLIMIT_NOFILE))];
    findings.push(file_size(soft(Resource::RLIMIT_FSIZE), region));
    findings.push(address_space(soft(Resource::RLIMIT_AS), region));
    findings.push(locked_memory(soft(Resource::RLIMIT_MEMLOCK)));
    findings.push(stack(signal_frame()));
    findings
}

/// The limit in force; an unlimited one is the largest number.
fn soft(resource: Resource) -> u64 {
    getrlimit(resource).map_or(u64::MAX, |(soft, _)| soft)
}

fn amount(limit: u64, unit: u64, name: &str) -> String {
    if limit == u64::MAX {
        "unlimited".to_owned()
    } else {
        format!("{} {name}", limit / unit)
    }
}

fn descriptors(limit: u64) -> Finding {
    let text = format!("Open files: {}", amount(limit, 1, "at most"));
    if limit < DESCRIPTORS {
        Finding::doubtful(
            Area::Limits,
            "open-files",
            format!("{text}; coz-rs needs two for each process that it profiles."),
            format!("ulimit -n {}", DESCRIPTORS * 4),
        )
    } else {
        let text = format!("{text}; the program itself is left with all of its own.");
        Finding::good(Area::Limits, "open-files", text)
    }
}

fn file_size(limit: u64, region: u64) -> Finding {
    let text = format!("File size: {}", amount(limit, 1 << 20, "MiB"));
    if limit < region {
        Finding::bad(
            Area::Limits,
            "file-size",
            format!(
                "{text}, and what is shared with a program takes {} MiB.",
                region >> 20
            ),
            "run coz-rs with `ulimit -f unlimited`, and limit the program in a wrapper script",
        )
    } else {
        Finding::good(Area::Limits, "file-size", format!("{text}."))
    }
}

fn address_space(limit: u64, region: u64) -> Finding {
    let text = format!("Address space: {}", amount(limit, 1 << 20, "MiB"));
    let need = region + ADDRESS_SPACE;
    if limit < need {
        Finding::bad(
            Area::Limits,
            "address-space",
            format!(
                "{text}, of which the runtime needs {} MiB in each process.",
                need >> 20
            ),
            "ulimit -v unlimited",
        )
    } else {
        Finding::good(Area::Limits, "address-space", format!("{text}."))
    }
}

fn locked_memory(limit: u64) -> Finding {
    Finding::good(
        Area::Limits,
        "locked-memory",
        format!(
            "Locked memory: {}; none is needed.",
            amount(limit, 1 << 10, "KiB")
        ),
    )
}

/// What the kernel puts on a stack for a signal (getauxval(3), AT_MINSIGSTKSZ).
fn signal_frame() -> u64 {
    const AT_MINSIGSTKSZ: libc::c_ulong = 51;
    // SAFETY: takes no pointer; 0 means that the kernel does not say.
    unsafe { libc::getauxval(AT_MINSIGSTKSZ) }
}

fn stack(frame: u64) -> Finding {
    let need = frame + HANDLER;
    if need > SMALLEST_STACK {
        Finding::doubtful(
            Area::Limits,
            "stack",
            format!(
                "A signal takes {frame} bytes of stack on this processor, so threads need more \
                 than {need}."
            ),
            "give no thread of the program a stack smaller than 32 KiB",
        )
    } else {
        Finding::good(
            Area::Limits,
            "stack",
            format!("A sample takes less than {need} bytes of a thread's stack."),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Outcome;

    #[test]
    fn a_limit_is_bad_only_where_it_stops_something() {
        let region = 90 << 20;
        assert_eq!(file_size(u64::MAX, region).outcome, Outcome::Good);
        assert_eq!(file_size(1024, region).outcome, Outcome::Bad);
        assert_eq!(address_space(region, region).outcome, Outcome::Bad);
        assert_eq!(address_space(region * 8, region).outcome, Outcome::Good);
        assert_eq!(descriptors(20).outcome, Outcome::Doubtful);
        assert_eq!(descriptors(1024).outcome, Outcome::Good);
        assert_eq!(locked_memory(0).outcome, Outcome::Good);
        assert_eq!(stack(3_632).outcome, Outcome::Good);
        assert_eq!(stack(14_000).outcome, Outcome::Doubtful);
    }
}
