//! The causal profile: its format, the estimates drawn from it, and its pictures.

#![forbid(unsafe_code)]

pub mod estimates;
pub mod export;
pub mod html;
pub mod location;
pub mod profile;
pub mod record;
pub mod safe_text;
pub mod short_names;
pub mod source_text;
pub mod text;
pub mod writer;
