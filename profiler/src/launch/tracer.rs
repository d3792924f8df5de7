//! Who traces a process (ptrace(2)): a debugger sees every SIGTRAP first, so a traced program
//! cannot be sampled by them.

/// The tracer of a process, if it has one that we may know of.
#[must_use]
pub fn tracer_of(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    tracer_in(&status)
}

fn tracer_in(status: &str) -> Option<u32> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"))?;
    line.trim().parse().ok().filter(|tracer| *tracer != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_means_nobody() {
        assert_eq!(tracer_in("Name:\tx\nTracerPid:\t0\nUid:\t0\n"), None);
        assert_eq!(tracer_in("Name:\tx\nTracerPid:\t812\n"), Some(812));
        assert_eq!(tracer_in(""), None);
    }
}
