//! The processes that loaded the runtime: how they announce themselves and what is shared.

pub mod crowd;
pub mod greeting_server;
pub mod processor_wait;
pub mod rest;
pub mod shared_region;
pub mod target;
pub mod thread_changes;
mod tracing;
pub mod unseen_blocking;
