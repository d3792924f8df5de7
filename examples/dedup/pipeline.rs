//! The threads: the caller hands out pieces, workers chunk, hash, look up and compress, and one
//! thread writes.

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};
use crossbeam_channel::{Receiver, Sender, bounded};
use progress_points::progress;
use sha1::{Digest, Sha1};

use crate::archive::Archive;
use crate::bucket_table::{BucketTable, Found, Use};
use crate::chunking;
use crate::input::{Piece, Tree};
use crate::options::Options;

/// Every so many look-ups are timed.
const TIMED: usize = 16;

/// One piece to work on, and the table of its pass over the tree.
struct Job {
    pass: u32,
    piece: Piece,
    table: Arc<BucketTable>,
}

/// What became of a piece.
pub struct Deduplicated {
    pass: u32,
    /// The piece.
    pub piece: Piece,
    /// The numbers of its chunks, in order.
    pub chunks: Vec<u32>,
    /// Number and compressed bytes of the chunks that were new.
    pub new: Vec<(u32, Vec<u8>)>,
    /// Look-ups that were timed, and the time that they took, ns.
    looked_up: (u64, u64),
}

/// What a run did.
pub struct Summary {
    seconds: f64,
    written: Written,
    bucket_use: Use,
    different: u32,
}

/// What the writer saw.
#[derive(Default)]
struct Written {
    pieces: u64,
    bytes: u64,
    chunks: u64,
    compressed: u64,
    looked_up: (u64, u64),
}

/// Runs all passes.
pub fn run(tree: &Tree, options: &Options) -> Result<Summary> {
    let archive = options.output.as_deref().map(Archive::create).transpose()?;
    let pieces = tree.pieces();
    let begin = Instant::now();
    let more = |pass: u32| match options.seconds {
        Some(seconds) => begin.elapsed().as_secs_f64() < seconds,
        None => pass < options.repeat,
    };
    let earlier: Vec<_> = (0..options.earlier)
        .map(|number| Sha1::digest([&b"earlier"[..], &number.to_le_bytes()].concat()).into())
        .collect();
    let first = Arc::new(BucketTable::new(options.hash, &earlier));
    let (send_job, jobs) = bounded::<Job>(2 * options.threads);
    let (send_done, done) = bounded::<Result<Deduplicated>>(4 * options.threads);

    let written = thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            let (jobs, send_done) = (jobs.clone(), send_done.clone());
            scope.spawn(move || work(tree, &jobs, &send_done));
        }
        // The workers hold the only other ends: when they go, the channels close.
        drop((jobs, send_done));
        let writer = scope.spawn(move || write(tree, archive, &done));

        let mut table = Arc::clone(&first);
        let mut pass = 0;
        // The first pass is always whole, for the archive's sake.
        'passes: while pass == 0 || more(pass) {
            for &piece in &pieces {
                let job = Job {
                    pass,
                    piece,
                    table: Arc::clone(&table),
                };
                let stop = pass > 0 && options.seconds.is_some() && !more(pass);
                if stop || send_job.send(job).is_err() {
                    break 'passes;
                }
            }
            pass += 1;
            table = Arc::new(BucketTable::new(options.hash, &earlier));
        }
        drop(send_job);
        writer.join().map_err(|_| anyhow!("the writer panicked"))?
    })?;
    Ok(Summary {
        seconds: begin.elapsed().as_secs_f64(),
        written,
        bucket_use: first.bucket_use(),
        different: first.chunks(),
    })
}

/// A worker: ends when there are no more jobs, or nobody takes what it does.
fn work(tree: &Tree, jobs: &Receiver<Job>, done: &Sender<Result<Deduplicated>>) {
    let mut bytes = Vec::new();
    for job in jobs {
        let result = tree
            .load(&job.piece, &mut bytes)
            .map(|()| deduplicate(&job, &bytes));
        if done.send(result).is_err() {
            return;
        }
    }
}

fn deduplicate(job: &Job, bytes: &[u8]) -> Deduplicated {
    let mut result = Deduplicated {
        pass: job.pass,
        piece: job.piece,
        chunks: Vec::new(),
        new: Vec::new(),
        looked_up: (0, 0),
    };
    let mut rest = bytes;
    while !rest.is_empty() {
        let chunk;
        (chunk, rest) = chunking::cut(rest);
        let digest = Sha1::digest(chunk).into();
        // The clock costs as much as a short look-up does.
        let timed = result.chunks.len().is_multiple_of(TIMED).then(Instant::now);
        let found = job.table.find_or_add(&digest); // LINE: look-up
        if let Some(begin) = timed {
            result.looked_up.0 += 1;
            result.looked_up.1 += begin.elapsed().as_nanos() as u64;
        }
        let id = match found {
            Found::Known(id) => id,
            Found::New(id) => {
                result
                    .new
                    .push((id, lz4_flex::block::compress_prepend_size(chunk)));
                id
            }
        };
        result.chunks.push(id);
        progress!("chunk");
    }
    result
}

/// The writer: counts everything, and puts the first pass into the archive.
fn write(
    tree: &Tree,
    mut archive: Option<Archive>,
    done: &Receiver<Result<Deduplicated>>,
) -> Result<Written> {
    let mut written = Written::default();
    for result in done {
        let result = result?;
        written.pieces += 1;
        written.bytes += result.piece.length;
        written.chunks += result.chunks.len() as u64;
        written.looked_up.0 += result.looked_up.0;
        written.looked_up.1 += result.looked_up.1;
        written.compressed += result
            .new
            .iter()
            .map(|(_, bytes)| bytes.len() as u64)
            .sum::<u64>();
        if let Some(archive) = archive.as_mut().filter(|_| result.pass == 0) {
            archive.add(result)?;
        }
    }
    if let Some(archive) = archive {
        archive.finish(tree)?;
    }
    Ok(written)
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seconds,
            written,
            bucket_use,
            different,
        } = self;
        let megabytes = written.bytes as f64 / 1e6;
        writeln!(
            out,
            "{megabytes:.0} MB in {seconds:.2} s: {:.1} MB/s; compressed to {:.0} %",
            megabytes / seconds,
            100.0 * written.compressed as f64 / written.bytes as f64,
        )?;
        writeln!(
            out,
            "buckets used: {:.1} %; chunks in a used bucket: {:.1} ({different} different chunks)",
            100.0 * bucket_use.share,
            bucket_use.mean,
        )?;
        let Written {
            chunks, looked_up, ..
        } = written;
        writeln!(out, "chunks {chunks} rate {:.6}", *chunks as f64 / seconds)?;
        let each = looked_up.1 as f64 / looked_up.0.max(1) as f64;
        writeln!(out, "cost look-up {each:.0} ns")
    }
}
