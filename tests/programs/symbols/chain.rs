//! Known lines at known addresses in Rust: each mark puts a symbol on its own line, and the
//! program prints where they are. Comments of the form "line: NAME" name lines for the test.

#![allow(named_asm_labels)]

use std::io::Read;

unsafe extern "C" {
    static mark_inner: u8;
    static mark_closure: u8;
}

#[inline(always)]
fn inner(x: u64) -> u64 {
    unsafe { std::arch::asm!(".globl mark_inner", "mark_inner:", "nop") }; // line: inner
    x.wrapping_mul(31) ^ 7
}

#[inline(always)]
fn middle(x: u64) -> u64 {
    let y = std::hint::black_box(x) + 1;
    inner(y) + y // line: middle
}

#[inline(never)]
fn outer(x: u64) -> u64 {
    middle(x) | 1 // line: outer
}

#[inline(never)]
fn sums(values: &[u64]) -> u64 {
    values.iter().map(|v| v.rotate_left(3)).filter(|v| v % 3 == 0).sum::<u64>() // line: sums
}

#[inline(never)]
fn sorts(values: &mut Vec<u64>) {
    values.sort_unstable_by_key(|v| v.wrapping_mul(0x9e37_79b9_7f4a_7c15)); // line: sorts
}

#[inline(never)]
fn applies(f: impl Fn(u64) -> u64, x: u64) -> u64 {
    f(x) // line: applies
}

fn main() {
    let mut values: Vec<u64> = (0..1000).map(|n| n * 7919 % 1009).collect();
    let mut total = outer(values.len() as u64);
    total += applies(
        |x| {
            unsafe { std::arch::asm!(".globl mark_closure", "mark_closure:", "nop") }; // line: closure
            x + 1
        },
        total,
    );
    sorts(&mut values);
    total += sums(&values);
    std::hint::black_box(total);
    println!("mark_inner {:p}", &raw const mark_inner);
    println!("mark_closure {:p}", &raw const mark_closure);
    println!("outer {:p}", outer as *const u8);
    println!("ready");
    let _ = std::io::stdin().read(&mut [0]);
}
