//! Visits points of every kind, on several threads, and prints how many.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use progress_points::{begin, end, progress, scope};

/// Names of the program's own that the macros must not confuse with theirs.
const NAME: &str = "constant";
static POINT: u32 = 7;

mod elsewhere {
    pub fn visit() {
        progress_points::progress!("shared");
    }
}

fn in_generic<T: Default>() -> T {
    progress!("generic");
    T::default()
}

fn leaves_early(fail: bool) -> Option<u32> {
    scope!("scope");
    if fail {
        return None;
    }
    Some(POINT)
}

fn main() {
    let threads: Vec<_> = (0..8)
        .map(|_| {
            thread::spawn(|| {
                for _ in 0..10_000 {
                    progress!("shared");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("it only counts");
    }
    elsewhere::visit();
    for _ in 0..3 {
        progress!();
        progress!(NAME);
        progress!(concat!("in", "side"),);
    }
    let _: (u8, u16) = (in_generic(), in_generic());
    begin!("shared");
    begin!("shared");
    end!("shared");
    assert_eq!(leaves_early(true), None);
    assert_eq!(leaves_early(false), Some(7));
    {
        scope!("two");
        scope!("two");
    }
    let _ = catch_unwind(AssertUnwindSafe(|| {
        scope!("panics");
        std::panic::resume_unwind(Box::new(()));
    }));
    println!("done");
}
