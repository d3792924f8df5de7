//! The kernel, the C library, and what perf events are allowed to do.

use std::ffi::CStr;

use nix::time::{ClockId, clock_getres};

use super::finding::{Area, Finding};
use crate::launch::sampler_probe::Sigtrap;
use crate::launch::tracer::tracer_of;
use crate::points::uprobes::Uprobes;
use crate::run::PERIOD;

/// The first kernel with perf events that raise SIGTRAP.
const SIGTRAP_EVENTS: (u32, u32) = (5, 13);

pub(super) fn check(answer: Sigtrap, exclude_kernel: bool) -> Vec<Finding> {
    let mut findings = vec![kernel(), c_library(), sampler(answer)];
    findings.push(tick(answer));
    if answer == Sigtrap::Works {
        findings.push(kernel_samples(exclude_kernel));
    }
    findings.push(named_points());
    findings.extend(tracer());
    findings
}

fn kernel() -> Finding {
    let name = nix::sys::utsname::uname();
    let release = name.map_or_else(
        |_| "unknown".to_owned(),
        |name| name.release().to_string_lossy().into_owned(),
    );
    kernel_of(&release)
}

fn kernel_of(release: &str) -> Finding {
    match version(release) {
        Some(version) if version < SIGTRAP_EVENTS => Finding::doubtful(
            Area::Machine,
            "kernel",
            format!("Linux {release} is older than 5.13, which has the events for fine samples."),
            "boot a kernel of 5.18 or newer",
        ),
        _ => Finding::good(
            Area::Machine,
            "kernel",
            format!("Linux {release} on x86-64."),
        ),
    }
}

/// Major and minor version of a kernel release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn c_library() -> Finding {
    // SAFETY: takes nothing and returns a static string.
    let version = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: NUL-terminated, as gnu_get_libc_version(3) says.
    let version = unsafe { CStr::from_ptr(version) };
    Finding::good(
        Area::Machine,
        "c-library",
        format!("glibc {}.", version.to_string_lossy()),
    )
}

fn sampler(answer: Sigtrap) -> Finding {
    match answer {
        Sigtrap::Works => Finding::good(
            Area::Machine,
            "sampler",
            format!(
                "The sigtrap sampler runs: a sample each {} µs of a thread's CPU time.",
                PERIOD / 1000
            ),
        ),
        answer => Finding::doubtful(
            Area::Machine,
            "sampler",
            "The timer sampler runs, whose samples are rarer.",
            answer.to_string(),
        ),
    }
}

/// The kernel's tick bounds the rate of CPU-time timers.
fn tick(answer: Sigtrap) -> Finding {
    let Ok(tick) = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE) else {
        return Finding::good(Area::Machine, "timer-tick", "The timer tick is not known.");
    };
    let milliseconds = tick.tv_nsec() as f64 / 1e6;
    let text = format!("The kernel ticks each {milliseconds:.2} ms");
    if answer == Sigtrap::Works {
        let text = format!("{text}; only the timer sampler depends on that.");
        return Finding::good(Area::Machine, "timer-tick", text);
    }
    if milliseconds > 4.5 {
        return Finding::doubtful(
            Area::Machine,
            "timer-tick",
            format!("{text}, and samples come no oftener."),
            "allow perf events, or boot a kernel with CONFIG_HZ=250 or more",
        );
    }
    Finding::good(
        Area::Machine,
        "timer-tick",
        format!("{text}, and samples come no oftener."),
    )
}

fn kernel_samples(exclude_kernel: bool) -> Finding {
    if exclude_kernel {
        Finding::doubtful(
            Area::Machine,
            "kernel-samples",
            "Time in system calls is not sampled, so lines that make them look too small.",
            "sudo sysctl kernel.perf_event_paranoid=1",
        )
    } else {
        Finding::good(
            Area::Machine,
            "kernel-samples",
            "Time in system calls is sampled, and goes to the line that made the call.",
        )
    }
}

/// How visits of points that are named on the command line will be counted.
fn named_points() -> Finding {
    let text = match Uprobes::new(1) {
        Ok(_) => {
            "--progress FILE:LINE counts by uprobes where the kernel does that cheaply, and by \
             breakpoints elsewhere."
                .to_owned()
        }
        Err(error) => {
            format!("--progress FILE:LINE counts by breakpoints; uprobes are refused ({error:#}).")
        }
    };
    Finding::good(Area::Machine, "named-points", text)
}

fn tracer() -> Option<Finding> {
    let tracer = tracer_of(std::process::id())?;
    Some(Finding::doubtful(
        Area::Machine,
        "tracer",
        format!("Process {tracer} traces this one; a traced program is sampled by timer."),
        "run coz-rs without the debugger or strace",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Outcome;

    #[test]
    fn old_kernels_are_told_from_new_ones() {
        for (release, outcome) in [
            ("5.4.0-42-generic", Outcome::Doubtful),
            ("5.10.0", Outcome::Doubtful),
            ("5.13.1", Outcome::Good),
            ("6.18.0+deb13-amd64", Outcome::Good),
            ("unknown", Outcome::Good),
        ] {
            assert_eq!(kernel_of(release).outcome, outcome, "{release}");
        }
    }

    #[test]
    fn a_refused_event_names_what_would_allow_it() {
        let findings = check(Sigtrap::Refused(libc::ENOSYS), true);
        let sampler = findings.iter().find(|f| f.check == "sampler").unwrap();
        assert_eq!(sampler.outcome, Outcome::Doubtful);
        assert!(sampler.mend.as_ref().unwrap().contains("perf_event_open"));
        assert!(!findings.iter().any(|f| f.check == "kernel-samples"));
    }
}
