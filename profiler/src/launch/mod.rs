//! Starting the program under the runtime, and ending as it ended.

pub mod executable;
pub mod preload_library;
pub mod program;
pub mod sampler_probe;
pub mod signals;
