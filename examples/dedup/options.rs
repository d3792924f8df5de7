//! The command line.

use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::{Parser, ValueEnum};

/// Cut a tree of files into chunks and compress each different chunk once.
#[derive(Debug, Parser)]
#[command(name = "dedup", version)]
pub struct Options {
    /// A file or a folder.
    pub tree: PathBuf,
    /// How a digest chooses its bucket.
    #[arg(long, value_enum, default_value_t = BucketHash::Add)]
    pub hash: BucketHash,
    /// Threads that chunk, hash, look up and compress [default: one a core].
    #[arg(long, default_value_t = cores(), hide_default_value = true)]
    pub threads: usize,
    /// Take at most this many MB of the tree.
    #[arg(long, value_name = "MB", default_value_t = 400)]
    pub limit: u64,
    /// The table holds this many chunks of an earlier archive from the start.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub earlier: u32,
    /// Do it this many times, each time with an empty table.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub repeat: u32,
    /// Repeat for at least this many seconds instead.
    #[arg(
        long = "for",
        alias = "seconds",
        value_name = "S",
        conflicts_with = "repeat"
    )]
    pub seconds: Option<f64>,
    /// Write the archive of the first time here.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Restore the archive and compare it with the tree.
    #[arg(long, requires = "output")]
    pub verify: bool,
}

/// How a digest chooses its bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BucketHash {
    /// The sum of the digest's bytes: the fault.
    Add,
    /// The digest's words folded by exclusive or.
    Xor,
}

fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}
