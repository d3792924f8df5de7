//! Progress points without marks in the source: places in machine code whose passages are counted
//! while the program runs.

pub mod displacing;
pub mod flow;
pub mod placer;
pub mod placing;
pub mod spec;
pub mod uprobes;
