//! A deduplicating compressor with a planted fault, after the story of PARSEC's dedup.
//!
//! It cuts the files of a tree into chunks by content, hashes each chunk (SHA-1), looks the digest
//! up in a table of buckets that are linked lists with a lock each, compresses (LZ4) what is new,
//! and writes an archive. The progress point `chunk` counts the chunks.
//!
//! The fault: the bucket of a digest is the *sum* of its bytes. Twenty bytes add up to something
//! near 2550, so that a few hundred of the 65,536 buckets hold nearly everything and each look-up
//! walks a long list. `--hash xor` is the mended one: it folds the digest's words, and every bucket
//! is as likely as the other.
//!
//! ```text
//! cargo build --release -p coz-rs-examples
//! coz-rs run -- target/release/dedup --for 30 TREE
//! ```
#![forbid(unsafe_code)]

mod archive;
mod bucket_table;
mod chunking;
mod input;
mod options;
mod pipeline;
mod restore;

use anyhow::Result;
use clap::Parser;

fn main() -> Result<()> {
    let options = options::Options::parse();
    let tree = input::Tree::read(&options.tree, options.limit)?;
    let summary = pipeline::run(&tree, &options)?;
    print!("{summary}");
    if options.verify
        && let Some(archive) = &options.output
    {
        let bytes = restore::verify(archive, &tree)?;
        println!("verified: {bytes} bytes restored as they were");
    }
    Ok(())
}
