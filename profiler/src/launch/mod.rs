//! Starting the program under the runtime, and ending as it ended.

pub mod executable;
pub mod inherited;
pub mod preload_library;
pub mod program;
pub mod sampler_probe;
mod sanitizer;
pub mod signals;
pub mod tracer;
