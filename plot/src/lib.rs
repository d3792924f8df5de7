//! The causal profile: its format, the estimates drawn from it, and its pictures.

pub mod record;
