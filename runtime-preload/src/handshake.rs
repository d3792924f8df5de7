//! What a target and the controller say to each other when the target starts.
//!
//! Over a `SOCK_SEQPACKET` Unix socket in a private directory, named by [`SOCKET_ENV`]:
//! target → [`Hello`]; controller → [`Welcome`] with the memfd of a [`crate::layout::Region`];
//! target → [`Ready`] with the perf event's descriptor if it has one; both close the socket.
//! The controller takes the process id from the peer's credentials, never from a message.

/// Environment variable with the socket's path.
pub const SOCKET_ENV: &core::ffi::CStr = c"COZ_RS_SOCKET";
/// First word of every message; its low byte is the protocol's version.
pub const MAGIC: u64 = 0x434f_5a52_5348_0001;

/// Which sampler to use.
pub mod sampler {
    /// One inherited perf event that raises SIGTRAP.
    pub const SIGTRAP: u32 = 1;
    /// A CPU-time timer a thread.
    pub const TIMER: u32 = 2;
    /// As [`TIMER`], by a signal that debuggers pass on without stopping.
    pub const QUIET_TIMER: u32 = 4;
    /// None: hooks and progress points only.
    pub const NONE: u32 = 3;
}

/// The target's greeting.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Hello {
    /// [`MAGIC`].
    pub magic: u64,
    /// `size_of::<Region>()` as the target sees it.
    pub region_size: u64,
}

/// The controller's answer; carries the memfd.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Welcome {
    /// [`MAGIC`].
    pub magic: u64,
    /// Sample period, ns of CPU time.
    pub period: u64,
    /// The sampler wanted, see [`sampler`].
    pub sampler: u32,
    /// 1: try the timer if the perf event is refused.
    pub fall_back: u32,
    /// 1: leave kernel mode out of the samples.
    pub exclude_kernel: u32,
    /// 1: take the runtime out of the environment that children get. It is the first entry of
    /// `LD_PRELOAD`.
    pub no_follow: u32,
}

/// The target is ready; carries the perf event's descriptor if `sampler` is SIGTRAP.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Ready {
    /// [`MAGIC`].
    pub magic: u64,
    /// The sampler that runs, see [`sampler`].
    pub sampler: u32,
    /// `errno` of the perf event that was refused, 0 if none was.
    pub perf_errno: u32,
    /// 1: the event leaves kernel mode out.
    pub exclude_kernel: u32,
    /// Padding.
    pub reserved: u32,
}
