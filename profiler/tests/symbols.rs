//! Attribution on programs made by real compilers.

#![allow(clippy::unwrap_used)]

mod symbols {
    pub mod programs;

    mod both_directions;
    mod damage;
    mod debug_files;
    mod folding;
    mod known_lines;
    mod loaded_later;
    mod matrix;
    mod oracle;
    mod other_tools;
    mod remapped;
    mod unwinding;
}
