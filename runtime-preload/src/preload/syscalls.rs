//! Raw system calls (x86-64 convention): they leave `errno` alone and are no hook of ours.
//!
//! # Signal safety
//! All of this may run in a signal handler.

use core::arch::asm;

/// One system call; the result is the kernel's, `-errno` on failure.
///
/// # Safety
/// The arguments must be what the call `number` demands (section 2 of the manual).
pub unsafe fn syscall6(number: i64, args: [u64; 6]) -> i64 {
    let result;
    // SAFETY: the kernel clobbers rcx, r11 and rax only; what the call itself does to memory is
    // the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// [`syscall6`] with up to four arguments.
///
/// # Safety
/// As [`syscall6`].
pub unsafe fn syscall4(number: i64, a: u64, b: u64, c: u64, d: u64) -> i64 {
    // SAFETY: passed on.
    unsafe { syscall6(number, [a, b, c, d, 0, 0]) }
}

/// The calling thread's id.
pub fn thread_id() -> u32 {
    // SAFETY: gettid takes nothing and cannot fail.
    (unsafe { syscall4(libc::SYS_gettid, 0, 0, 0, 0) }) as u32
}

/// This process's id.
pub fn process_id() -> i32 {
    // SAFETY: getpid takes nothing and cannot fail.
    (unsafe { syscall4(libc::SYS_getpid, 0, 0, 0, 0) }) as i32
}

/// The number of the inode behind a descriptor.
pub fn inode(descriptor: i32) -> Option<u64> {
    // SAFETY: all-zero is a valid stat to be filled in.
    let mut status: libc::stat = unsafe { core::mem::zeroed() };
    let place = &raw mut status as u64;
    // SAFETY: a valid place for the status.
    let result = unsafe { syscall4(libc::SYS_fstat, descriptor as u64, place, 0, 0) };
    (result == 0).then_some(status.st_ino)
}

/// Nanoseconds of a clock.
fn clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec; clock_gettime is async-signal-safe and, through the
    // vDSO, usually no system call.
    unsafe { libc::clock_gettime(id, &mut time) };
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}

/// Now, ns of CLOCK_MONOTONIC.
pub fn now() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread, ns.
pub fn thread_cpu() -> u64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// How often the calling thread gave its processor up to wait for something (getrusage(2)).
pub fn voluntary_switches() -> u64 {
    // SAFETY: all zeros is a valid rusage.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: `usage` is a valid rusage.
    unsafe {
        syscall4(
            libc::SYS_getrusage,
            libc::RUSAGE_THREAD as u64,
            &raw mut usage as u64,
            0,
            0,
        )
    };
    usage.ru_nvcsw as u64
}

/// Sleeps until `until` (ns of CLOCK_MONOTONIC) with the finest timer slack, whatever signals
/// arrive, and returns the time at which it woke. The thread's own slack is put back, because
/// threads and children inherit it.
pub fn sleep_until(until: u64) -> u64 {
    let time = libc::timespec {
        tv_sec: (until / 1_000_000_000) as i64,
        tv_nsec: (until % 1_000_000_000) as i64,
    };
    // SAFETY: PR_GET_TIMERSLACK takes no pointer.
    let slack = unsafe { syscall4(libc::SYS_prctl, libc::PR_GET_TIMERSLACK as u64, 0, 0, 0) };
    set_timer_slack(1);
    loop {
        // SAFETY: `time` outlives the call; the remainder pointer may be null with TIMER_ABSTIME.
        let result = unsafe {
            syscall4(
                libc::SYS_clock_nanosleep,
                libc::CLOCK_MONOTONIC as u64,
                libc::TIMER_ABSTIME as u64,
                &raw const time as u64,
                0,
            )
        };
        if result != -i64::from(libc::EINTR) {
            break;
        }
    }
    set_timer_slack(if slack > 0 { slack as u64 } else { 50_000 });
    now()
}

fn set_timer_slack(slack: u64) {
    // SAFETY: PR_SET_TIMERSLACK takes no pointer and changes only this thread's slack.
    unsafe { syscall4(libc::SYS_prctl, libc::PR_SET_TIMERSLACK as u64, slack, 0, 0) };
}

/// Sets the calling thread's mask of signals 1 to 64.
pub fn set_signal_mask(mask: u64) {
    change_signal_mask(libc::SIG_SETMASK, mask);
}

/// Changes the calling thread's mask of signals 1 to 64; what it was.
pub fn change_signal_mask(how: i32, mask: u64) -> u64 {
    let mut old = 0u64;
    // SAFETY: both masks are 8 bytes, the size that is named.
    unsafe {
        syscall4(
            libc::SYS_rt_sigprocmask,
            how as u64,
            &raw const mask as u64,
            &raw mut old as u64,
            8,
        )
    };
    old
}

/// Sends a signal to the calling thread.
pub fn kill_self(signal: i32) {
    // SAFETY: getpid takes nothing and cannot fail.
    let process = unsafe { syscall4(libc::SYS_getpid, 0, 0, 0, 0) } as u64;
    let thread = u64::from(thread_id());
    // SAFETY: tgkill takes no pointer.
    unsafe { syscall4(libc::SYS_tgkill, process, thread, signal as u64, 0) };
}

/// Closes a descriptor of ours.
pub fn close(descriptor: i32) {
    // SAFETY: the descriptor is ours, nobody else uses it.
    unsafe { syscall4(libc::SYS_close, descriptor as u64, 0, 0, 0) };
}

/// Copies `buffer.len()` words from `address` of this process; false if not all can be read.
pub fn read_own_memory(address: u64, buffer: &mut [u64]) -> bool {
    let size = size_of_val(buffer);
    let local = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: size,
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: size,
    };
    // SAFETY: getpid takes nothing and cannot fail.
    let process = unsafe { syscall4(libc::SYS_getpid, 0, 0, 0, 0) } as u64;
    // SAFETY: the kernel checks the remote range and writes only into `buffer`.
    let read = unsafe {
        syscall6(
            libc::SYS_process_vm_readv,
            [
                process,
                &raw const local as u64,
                1,
                &raw const remote as u64,
                1,
                0,
            ],
        )
    };
    read == size as i64
}
