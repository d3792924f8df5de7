//! The command `coz-rs`.

fn main() {
    coz_rs::commands::main()
}
