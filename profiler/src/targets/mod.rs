//! The processes that loaded the runtime: how they announce themselves and what is shared.

pub mod crowd;
pub mod greeting_server;
pub mod processor_wait;
pub mod shared_region;
pub mod target;
mod tracing;
pub mod unseen_blocking;
