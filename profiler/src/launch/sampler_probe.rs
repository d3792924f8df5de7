//! Which sampler this machine allows, tried in a throwaway child.
//!
//! Some kernels deliver SIGTRAP events (5.13 and later) but kill a process that is sampled while
//! it blocks SIGTRAP (before about 5.18), and glibc blocks all signals inside pthread_create. So
//! the child does just that; whether it survives is the answer.

use std::fmt;
use std::mem::size_of;

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

/// What the probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sigtrap {
    /// It works.
    Works,
    /// perf_event_open(2) said no, with this errno.
    Refused(i32),
    /// The kernel ends programs that block SIGTRAP.
    Deadly,
    /// It was opened, but no signal came.
    Silent,
    /// The probe itself could not run.
    Unknown,
}

/// Period of the probe's event, ns: some samples in [`SPIN`].
const PERIOD: u64 = 50_000;
/// How long the child runs with SIGTRAP blocked, ns of CPU time.
const SPIN: u64 = 400_000;
/// Exit codes of the child beyond errno values (those are below 134).
const SURVIVED: i32 = 200;
const SILENT: i32 = 201;

/// A probe that runs beside us until it is asked.
#[derive(Debug)]
pub struct Probe {
    child: Option<nix::unistd::Pid>,
}

impl Probe {
    /// Starts the child. To be called while this process has one thread.
    #[must_use]
    pub fn start(exclude_kernel: bool) -> Probe {
        // SAFETY: the process has one thread, and the child only makes system calls and exits.
        match unsafe { fork() } {
            Ok(ForkResult::Child) => {
                let code = run_in_child(exclude_kernel);
                // SAFETY: ends the child without running anything of its parent's.
                unsafe { libc::_exit(code) }
            }
            Ok(ForkResult::Parent { child }) => Probe { child: Some(child) },
            Err(_) => Probe { child: None },
        }
    }

    /// Waits for the answer.
    #[must_use]
    pub fn answer(self) -> Sigtrap {
        let Some(child) = self.child else {
            return Sigtrap::Unknown;
        };
        match waitpid(child, None) {
            Ok(WaitStatus::Exited(_, SURVIVED)) => Sigtrap::Works,
            Ok(WaitStatus::Exited(_, SILENT)) => Sigtrap::Silent,
            Ok(WaitStatus::Exited(_, errno)) if errno > 0 => Sigtrap::Refused(errno),
            Ok(WaitStatus::Signaled(_, nix::sys::signal::Signal::SIGTRAP, _)) => Sigtrap::Deadly,
            _ => Sigtrap::Unknown,
        }
    }
}

/// `struct perf_event_attr` up to `sig_data` (perf_event_open(2)).
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    rest: [u64; 9],
    sig_data: u64,
}

static ARRIVED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

extern "C" fn on_trap(_signal: i32) {
    ARRIVED.store(true, std::sync::atomic::Ordering::Relaxed);
}

fn run_in_child(exclude_kernel: bool) -> i32 {
    let handler: extern "C" fn(i32) = on_trap;
    // SAFETY: the handler stores to an atomic, no more.
    unsafe { libc::signal(libc::SIGTRAP, handler as libc::sighandler_t) };
    // software, task-clock; inherit, inherit_thread, remove_on_exec, sigtrap as the runtime has it.
    let kernel = if exclude_kernel { 1 << 5 } else { 0 };
    let attributes = Attributes {
        kind: 1,
        size: size_of::<Attributes>() as u32,
        config: 1,
        period: PERIOD,
        sample_type: 0,
        read_format: 0,
        flags: (1 << 1) | (1 << 6) | (1 << 35) | (1 << 36) | (1 << 37) | kernel,
        rest: [0; 9],
        sig_data: 0,
    };
    let close_on_exec = 8;
    // SAFETY: a valid attribute structure of the size that it names.
    let event = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            0,
            -1,
            -1,
            close_on_exec,
        )
    };
    if event < 0 {
        return std::io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EINVAL);
    }
    // SAFETY: all-zero is a valid set; sigaddset makes it SIGTRAP alone.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: a valid set and signal.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGTRAP) };
    // SAFETY: a valid set; the old one is not wanted.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    let begin = cpu_time();
    while cpu_time().saturating_sub(begin) < SPIN {}
    // SAFETY: as above.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
    if ARRIVED.load(std::sync::atomic::Ordering::Relaxed) {
        SURVIVED
    } else {
        SILENT
    }
}

fn cpu_time() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a valid place for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Whether samples may be taken in the kernel too (perf_event_open(2), capabilities(7)).
#[must_use]
pub fn may_sample_kernel() -> bool {
    paranoia().is_some_and(|level| level <= 1) || has_capability(38) || has_capability(21)
}

/// `/proc/sys/kernel/perf_event_paranoid`.
fn paranoia() -> Option<i32> {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    text.trim().parse().ok()
}

/// CAP_PERFMON is 38, CAP_SYS_ADMIN is 21.
fn has_capability(number: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    effective.is_some_and(|bits| bits >> number & 1 == 1)
}

impl fmt::Display for Sigtrap {
    /// Why the better sampler cannot be used, and what would change that.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sigtrap::Works => f.write_str("perf events work"),
            Sigtrap::Refused(libc::EACCES | libc::EPERM) => match paranoia() {
                Some(level) if level > 2 => write!(
                    f,
                    "kernel.perf_event_paranoid is {level}; for samples every millisecond run \
                     `sudo sysctl kernel.perf_event_paranoid=2`"
                ),
                _ => f.write_str(
                    "perf_event_open is forbidden here (a container's seccomp filter?); in Docker \
                     run with `--security-opt seccomp=unconfined`, or `--cap-add PERFMON`",
                ),
            },
            Sigtrap::Refused(libc::ENOSYS) => f.write_str(
                "this kernel or container has no perf_event_open; in a container allow that \
                 system call",
            ),
            Sigtrap::Refused(libc::EINVAL | libc::E2BIG) => {
                f.write_str("this kernel is older than 5.13; a newer one allows finer samples")
            }
            Sigtrap::Refused(errno) => write!(
                f,
                "perf_event_open failed: {}",
                std::io::Error::from_raw_os_error(*errno)
            ),
            Sigtrap::Deadly => f.write_str(
                "this kernel kills programs that block the sampling signal; 5.18 or newer does not",
            ),
            Sigtrap::Silent => f.write_str("perf events are accepted here but none arrived"),
            Sigtrap::Unknown => f.write_str("whether perf events work could not be tried"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_names_its_cause() {
        for (answer, part) in [
            (Sigtrap::Refused(libc::ENOSYS), "perf_event_open"),
            (Sigtrap::Refused(libc::EINVAL), "5.13"),
            (Sigtrap::Deadly, "5.18"),
        ] {
            assert!(answer.to_string().contains(part), "{answer}");
        }
    }
}
