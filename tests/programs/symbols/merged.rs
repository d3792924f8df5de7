//! Two functions of the same code, which LLVM makes one: no linker is needed for it, and debug
//! information knows only one of them.
use std::hint::black_box;
use std::io::Write as _;

#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn first(x: u64) -> u64 {
    let mut sum = x;
    for turn in 0..x {
        sum = (sum.rotate_left(5) ^ turn).wrapping_mul(31);
    }
    sum
}

#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn second(x: u64) -> u64 {
    let mut sum = x;
    for turn in 0..x {
        sum = (sum.rotate_left(5) ^ turn).wrapping_mul(31); // line: folded
    }
    sum
}

fn main() {
    let functions = [
        black_box(first as extern "C" fn(u64) -> u64),
        black_box(second),
    ];
    println!("first {:#x}", functions[0] as usize);
    println!("second {:#x}", functions[1] as usize);
    println!("ready");
    let _ = std::io::stdout().flush();
    let _ = std::io::stdin().read_line(&mut String::new());
    println!("sum {}", functions[0](3) ^ functions[1](4));
}
