//! The preloaded library itself: everything that runs inside the profiled program.
//!
//! After start-up nothing here allocates, takes a lock of the program, or opens a descriptor; all
//! state is static, thread-local or in the shared region. A fault of ours turns profiling off and
//! leaves the program running.

mod breakpoints;
mod coz_abi;
mod descriptors;
mod elf_lookup;
mod entry;
mod environment;
mod greeting;
mod hit_shares;
mod hooks;
mod latency;
mod outlook;
mod perf_event;
mod process_copies;
mod program_trap;
mod real_functions;
mod run_queue;
mod sample_handler;
mod shared;
mod stack_reader;
mod syscalls;
mod thread_kinds;
mod thread_ledger;
mod thread_local;
mod threads;
mod timer_sampler;

use crate::layout::fault;

#[panic_handler]
fn panic(_info: &core::panic::PanicInfo) -> ! {
    shared::turn_off(fault::PANIC);
    // A panic here is a broken rule of ours. The thread cannot go on, the program must: but there
    // is no frame to return to, so the process ends as by abort, the only honest end left.
    syscalls::kill_self(libc::SIGABRT);
    loop {
        core::hint::spin_loop();
    }
}
