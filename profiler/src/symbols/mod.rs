//! Attribution: from addresses to source lines and back, and how to unwind stacks.
//!
//! A sample is a list of addresses. [`Symbols`] maps each through the debug information to a chain
//! of inlined frames, finds the innermost line in scope, and the other way round lists the address
//! ranges of a line for the target's hit test. Debug information is read here, in the controller,
//! unit by unit when a unit is first sampled; damaged parts are skipped and named.

mod attribution;
mod binary;
mod caller;
mod debug_fetch;
mod debug_file;
mod debug_info;
mod debug_sections;
mod elf_file;
mod everything;
mod file_addresses;
mod file_bytes;
mod foreign_place;
mod function_names;
mod functions;
mod hit_ranges;
mod inline_tree;
mod left_out;
mod line_search;
mod line_table;
mod modules;
mod pc_ranges;
mod point_places;
mod process_maps;
mod scope;
mod source_files;
mod source_map;
mod spans;
mod split_units;
mod statement_starts;
mod survey;
mod unit_files;
mod unit_index;
mod unwind_table;

pub use attribution::{Attributed, Frame, LineId, LineInfo, Owner, Symbols, UnwindModule};
#[doc(hidden)]
pub use everything::read_everything;
pub use hit_ranges::HitRanges;
pub use left_out::{LeftOut, LeftOutId, Rule};
pub use line_search::LineNotFound;
pub use point_places::{CodePlace, FunctionCode, FunctionNotFound, LineStart};
pub use process_maps::mapped_file;
pub use scope::{Scope, Unit};
pub use survey::Survey;
pub use unwind_table::unwind_rows;
