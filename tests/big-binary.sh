#!/usr/bin/env bash
# Builds a program with 100 MB or more of debug information from crates of the registry, and
# measures what profiling it costs: when main is reached (with the start of the controller, which
# probes the kernel first), when the first experiment starts, how much memory the controller takes.
# Needs cargo with its registry. BUILD=only stops before anything is measured.
# Usage: tests/big-binary.sh [DIR]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:-$root/target/big-binary}
mkdir -p "$dir/src"
cat > "$dir/Cargo.toml" <<TOML
[package]
name = "big-binary"
version = "0.0.0"
edition = "2024"
[workspace]
[dependencies]
progress-points = { path = "$root/progress-points" }
regex = "1"
rayon = "1"
syn = { version = "2", features = ["full", "extra-traits", "visit", "visit-mut", "fold"] }
naga = { version = "25", features = ["wgsl-in", "spv-out", "glsl-out", "msl-out", "hlsl-out"] }
image = "0.25"
clap = { version = "4", features = ["derive"] }
tokio = { version = "1", features = ["full"] }
[profile.release]
debug = true
codegen-units = 16
TOML
cat > "$dir/src/main.rs" <<'RUST'
use std::time::{Duration, Instant};
fn clock() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.as_micros())
}
fn work(seed: u64) -> u64 {
    (0..3_000_000u64).fold(seed, |x, n| x.rotate_left(5).wrapping_mul(31).wrapping_add(n))
}
fn main() {
    eprintln!("main {}", clock());
    let seconds: f64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(6.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut sum = 1;
    while Instant::now() < end {
        sum = std::thread::scope(|scope| {
            let other = scope.spawn(|| work(sum));
            work(3) ^ other.join().unwrap_or(0)
        });
        progress_points::progress!("round");
    }
    // All of the crates is linked in: their code is reached, but never run.
    if sum == 1 {
        let text = format!("{sum}");
        println!("{:?}", syn::parse_file(&text).map(|file| file.items.len()));
        println!("{:?}", regex::Regex::new(&text));
        println!("{:?}", image::load_from_memory(text.as_bytes()).map(|i| i.to_rgb8()));
        println!("{:?}", naga::front::wgsl::parse_str(&text));
        use rayon::prelude::*;
        println!("{}", (0..sum).into_par_iter().map(work).sum::<u64>());
        tokio::runtime::Runtime::new().expect("a runtime").block_on(async { tokio::time::sleep(Duration::from_secs(1)).await });
        println!("{}", clap::Command::new("big").about(text).render_help());
    }
}
RUST
(cd "$dir" && cargo build --release -q)
program=$dir/target/release/big-binary
debug=0
while read -r size; do
    debug=$((debug + 16#$size))
done < <(readelf -SW "$program" | sed 's/\[ */[/' | awk '$2 ~ /^\.debug_/ { print $6 }')
debug=$((debug / 1000000))
echo "debug sections: $debug MB"
profiler=$root/target/release/coz-rs
[ -x "$profiler" ] || (cd "$root" && cargo build --release -q -p coz-rs)
[ "${BUILD:-}" = only ] && exit
cd "$dir"
now() { date +%s%6N; }
for way in plain profiled plain profiled plain profiled; do
    if [ $way = plain ]; then
        start=$(now)
        main=$("$program" 0.1 2>&1 | awk '/^main [0-9]+$/ { print $2 }')
    else
        rm -f profile.coz
        # The controller prepares before it starts the program; main's delay is the program's own.
        # What a user waits for: from the profiler's start to main.
        start=$(now)
        "$profiler" run -v -o profile.coz -- "$program" 6 2> log || true
        main=$(awk '/^main [0-9]+$/ { print $2 }' log)
        grep -oE "the first experiment .*|coz-rs itself .*" log | sed 's/^/  /'
    fi
    echo "$way: main after $((main - start)) us"
done
