use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ZERO: AtomicU64 = AtomicU64::new(0);
static ALL: [AtomicU64; 6] = [ZERO; 6];
thread_local!(static MINE: [Cell<u64>; 6] = const { [const { Cell::new(0) }; 6] });

fn count(which: usize) {
    MINE.with(|mine| mine[which].set(mine[which].get() + 1));
}

#[inline(never)]
fn work(n: u64) -> u64 {
    black_box(n) * 3 + 1
}

#[inline(always)]
fn twice(n: u64) -> u64 {
    count(2);
    work(n) + 1 // LINE: inlined
}

#[inline(never)]
fn next(left: &mut u64) -> bool {
    count(1);
    *left = left.wrapping_sub(1);
    *left != u64::MAX
}

#[inline(never)]
fn leave(n: u64) -> u64 {
    if n % 3 == 0 {
        count(4);
        return black_box(n) + 1; // LINE: early
    }
    count(3);
    work(n) // LINE: return
}

#[inline(never)]
fn rounds(n: u64) {
    let mut left = n;
    while next(&mut left) { // LINE: head
        count(0);
        work(left); // LINE: body
        black_box(twice(left));
        black_box(twice(left + 1));
        leave(left);
        if left % 5 == 0 {
            count(5);
            work(left + 2); // LINE: arm
        }
    }
}

#[inline(never)]
fn fixed(values: &[u64]) {
    for value in values {
        work(*value); // LINE: unrolled
    }
}

fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u64>().unwrap());
    let n = words.next().unwrap_or(1000);
    let many = words.next().unwrap_or(4);
    let run = move || {
        rounds(n);
        for _ in 0..n {
            fixed(&black_box([1, 2, 3, 4])); // LINE: calls
        }
        MINE.with(|mine| for (all, mine) in ALL.iter().zip(mine) { all.fetch_add(mine.get(), Relaxed); });
    };
    let threads: Vec<_> = (0..many).map(|_| std::thread::spawn(run)).collect();
    for thread in threads { thread.join().unwrap(); }
    let all: Vec<u64> = ALL.iter().map(|all| all.load(Relaxed)).collect();
    let (unrolled, calls) = (4 * n * many, n * many);
    for (name, value) in ["body", "head", "inlined", "return", "early", "arm"].iter().zip(&all) { println!("{name} {value}"); }
    println!("unrolled {unrolled}\ncalls {calls}\nwork {}", all[0] + all[2] + all[3] + all[5] + unrolled);
}
