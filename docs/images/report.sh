#!/bin/sh
# Makes report.png, the picture of a real report: ./docs/images/report.sh (two minutes, on a
# machine that does nothing else). It profiles the dedup example from the repository's root, so that
# all names in the picture are relative ones. Needs a C compiler and chromium.
set -eu
cd "$(dirname "$0")/../.."
cargo build --release -p coz-rs
out=target/picture
rm -rf "$out"
mkdir -p "$out"
cc -O2 -g -pthread "-ffile-prefix-map=$PWD=." -I progress-points/include \
  examples/c/dedup.c -o "$out/dedup" -lm
target/release/coz-rs run --seed 1 -o "$out/dedup.coz" -- "$out/dedup" --seconds "${1:-60}"
target/release/coz-rs plot -o "$out/report.html" "$out/dedup.coz"
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=4000 \
  --window-size=1280,880 "--user-data-dir=$PWD/$out/browser" \
  "--screenshot=$PWD/docs/images/report.png" "file://$PWD/$out/report.html"
