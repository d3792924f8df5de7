//! The loading animation: the hottest code of a program, and worthless to speed up.
//!
//! The main thread loads items: it unpacks each and adds its words to an index; the progress point
//! `item` counts them. Meanwhile another thread draws a turning wheel, frame after frame, as fast as
//! it can. Nothing waits for the wheel.
//!
//! Options: `--seconds S` (20), `--fix draw|unpack|index` (any number of times). Each cure does the
//! same with less work: `draw` computes sine and cosine once a frame and not for each dot, `unpack`
//! copies runs at once, `index` hashes eight bytes at a time.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of an unpacked item.
const ITEM: usize = 150_000;
/// Places of the index.
const PLACES: usize = 1 << 15;
/// Side of the wheel's picture.
const SIDE: usize = 96;

/// What the command line asks for.
struct Options {
    seconds: f64,
    fixed: Vec<String>,
}

impl Options {
    /// The cure if the line is to be fixed, else the line as it is.
    fn choose<F>(&self, line: &str, cure: F, plain: F) -> F {
        if self.fixed.iter().any(|fixed| fixed == line) {
            cure
        } else {
            plain
        }
    }
}

fn options() -> Option<Options> {
    let (mut seconds, mut fixed) = (20.0, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match (&word[..], &value[..]) {
            ("--seconds", number) => seconds = number.parse().ok()?,
            ("--fix", "draw" | "unpack" | "index") => fixed.push(value),
            _ => return None,
        }
    }
    Some(Options { seconds, fixed })
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("usage: animation [--seconds S] [--fix draw|unpack|index]...");
        return ExitCode::from(2);
    };
    let draw: fn(f64, &mut [u8]) = options.choose("draw", draw_incrementally, draw);
    let unpack: fn(&[u8]) -> Vec<u8> = options.choose("unpack", unpack_runs, unpack);
    let index: fn(&[u8], &mut [u32]) = options.choose("index", index_by_words, index);

    let begin = Instant::now();
    let loaded = AtomicBool::new(false);
    let packed = packed_item();
    let (mut items, mut check) = (0_u64, 0);
    let (mut unpacking, mut indexing) = (Duration::ZERO, Duration::ZERO);
    let drawn = thread::scope(|scope| {
        let wheel = scope.spawn(|| {
            let (mut frames, mut drawing) = (0_u32, Duration::ZERO);
            let mut picture = vec![0; SIDE * SIDE];
            // Relaxed: one frame more does no harm.
            while !loaded.load(Ordering::Relaxed) {
                let start = Instant::now();
                draw(f64::from(frames) * 0.05, &mut picture); // LINE: draw
                drawing += start.elapsed();
                black_box(&picture);
                frames += 1;
            }
            drawing.as_nanos() as f64 / f64::from(frames.max(1))
        });
        let mut places = vec![0_u32; PLACES];
        while begin.elapsed().as_secs_f64() < options.seconds {
            let start = Instant::now();
            let item = unpack(&packed); // LINE: unpack
            let middle = Instant::now();
            index(&item, &mut places); // LINE: index
            indexing += middle.elapsed();
            unpacking += middle - start;
            if items == 0 {
                check = item
                    .iter()
                    .fold(0_u32, |all, &byte| all.rotate_left(5) ^ u32::from(byte));
            }
            items += 1;
            progress_points::progress!("item");
        }
        loaded.store(true, Ordering::Relaxed);
        wheel.join()
    });
    let Ok(frame) = drawn else {
        return ExitCode::FAILURE;
    };
    let seconds = begin.elapsed().as_secs_f64();
    let each = |time: Duration| time.as_nanos() / u128::from(items.max(1));
    let report = format!(
        "items {items} seconds {seconds:.2} rate {:.3}\ncost draw {frame:.0} ns\n\
         cost unpack {} ns\ncost index {} ns\ncheck {check:08x}\n",
        items as f64 / seconds,
        each(unpacking),
        each(indexing),
    );
    match std::io::stdout().write_all(report.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Runs of (length, byte).
fn packed_item() -> Vec<u8> {
    let (mut packed, mut length, mut state) = (Vec::new(), 0, 1_u64);
    while length < ITEM {
        // Knuth's MMIX generator.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let run = 8 + (state >> 60) as usize;
        packed.extend([run as u8, (state >> 40) as u8]);
        length += run;
    }
    packed
}

#[inline(never)]
fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut item = Vec::new();
    for pair in packed.chunks_exact(2) {
        for _ in 0..pair[0] {
            item.push(black_box(pair[1]));
        }
    }
    item
}

/// `unpack` cured: whole runs.
#[inline(never)]
fn unpack_runs(packed: &[u8]) -> Vec<u8> {
    let mut item = Vec::with_capacity(2 * ITEM);
    for pair in packed.chunks_exact(2) {
        item.resize(item.len() + usize::from(pair[0]), pair[1]);
    }
    item
}

#[inline(never)]
fn index(item: &[u8], places: &mut [u32]) {
    for word in item.chunks_exact(8) {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for &byte in word {
            // FNV-1a: each byte waits for the product of the one before it.
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        places[(hash >> 49) as usize % PLACES] += 1;
    }
}

/// `index` cured: one product for eight bytes.
#[inline(never)]
fn index_by_words(item: &[u8], places: &mut [u32]) {
    let (words, _) = item.as_chunks::<8>();
    for &word in words {
        let hash = u64::from_le_bytes(word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        places[(hash >> 49) as usize % PLACES] += 1;
    }
}

/// The wheel at an angle: bright along its spokes.
#[inline(never)]
fn draw(angle: f64, picture: &mut [u8]) {
    for (at, dot) in picture.iter_mut().enumerate() {
        let x = (at % SIDE) as f64 - SIDE as f64 / 2.0;
        let y = (at / SIDE) as f64 - SIDE as f64 / 2.0;
        let (sine, cosine) = black_box(angle).sin_cos();
        let (along, across) = (x * cosine + y * sine, y * cosine - x * sine);
        *dot = (255.0 / (1.0 + (along * across).abs())) as u8;
    }
}

/// `draw` cured: sine and cosine once.
#[inline(never)]
fn draw_incrementally(angle: f64, picture: &mut [u8]) {
    let (sine, cosine) = angle.sin_cos();
    for (at, dot) in picture.iter_mut().enumerate() {
        let x = (at % SIDE) as f64 - SIDE as f64 / 2.0;
        let y = (at / SIDE) as f64 - SIDE as f64 / 2.0;
        let (along, across) = (x * cosine + y * sine, y * cosine - x * sine);
        *dot = (255.0 / (1.0 + (along * across).abs())) as u8;
    }
}
