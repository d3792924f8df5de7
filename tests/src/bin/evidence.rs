//! Comparisons beside the truth suite: `cargo run --release -p coz-rs-tests --bin evidence -- WHAT`.
//!
//! `dedup`: the bucket walk, predicted at the line speedup that samples of both builds tell, beside
//! what `--hash xor` gains (two minutes). `locks`: one pipeline under pthread's locks and under the
//! standard library's (a minute and a half). Fails if they do not agree. Figures of a busy machine
//! are worthless.

use anyhow::{Result, bail};
use coz_rs_tests::evidence::{Pair, Walk, locks, walks};

/// Seconds under the profiler, a line of dedup.
const WALK: f64 = 25.0;
/// The same of the pipeline.
const LOCKS: f64 = 20.0;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let agree = match words.first().map(String::as_str) {
        Some("dedup") => {
            let walks = walks(WALK)?;
            walks.iter().for_each(|walk| println!("{walk}"));
            walks.iter().all(Walk::agrees)
        }
        Some("locks") => {
            let pairs = locks(LOCKS)?;
            pairs.iter().for_each(|pair| println!("{pair}"));
            pairs.iter().all(Pair::agrees)
        }
        _ => bail!("say `dedup` or `locks`"),
    };
    if !agree {
        bail!("they do not agree");
    }
    Ok(())
}
