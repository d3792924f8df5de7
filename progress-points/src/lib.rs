//! The list of progress macros.
