//! Placeholder table of contents.
