//! The reduction of a vector in nine versions, from abstract to vector instructions, with the
//! harness that measures them, and a threaded program made of them.
//!
//! The versions are those of the optimisation lesson in Bryant and O'Hallaron, "Computer Systems:
//! A Programmer's Perspective", chapter 5 (module `kernels`). Each runs for 64-bit integers and
//! floating-point numbers, adding and multiplying.
//!
//! `combine` measures cycles per element (CPE): the slope of a line through the times at sizes from
//! 128 to 4096, the intercept being the overhead of a call. Beside them stand the latency bound (one
//! chain of dependent operations) and the throughput bound (many chains). A table that was measured
//! on a busy machine is not called trustworthy, and the exit status is 1.
//!
//! `combine stages` is the causal twin: one thread fills blocks with numbers, the main thread sums
//! them up and multiplies them, each by a kernel that `--sum` and `--product` choose. coz-rs's curve
//! for the line marked `LINE: sum` says what a faster kernel brings, and a faster kernel shows
//! whether it does.
//!
//! Build: `cargo build --release -p coz-rs-examples`; `coz-rs demo combine` runs the twin. Without
//! optimisation the figures mean nothing.
#![deny(unsafe_code)]

mod bounds;
mod clock;
mod held;
mod kernels;
mod line_fit;
mod number;
mod options;
mod series;
mod stages;
mod table;
mod vector;
mod vector_instructions;

use std::process::ExitCode;

fn main() -> ExitCode {
    match options::Options::read(std::env::args().skip(1)) {
        Some(options::Options::Table { runs }) => table::print(runs),
        Some(options::Options::Stages(options)) => stages::run(&options),
        None => {
            eprintln!("{}", options::USAGE);
            ExitCode::from(2)
        }
    }
}
