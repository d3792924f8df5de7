//! Search by image, after PARSEC's ferret: a pipeline of load, segment, extract, index, rank, out.
//!
//! Loading decodes a PNG after a disk has delivered it; segmenting finds the regions of one colour;
//! extracting makes numbers of each region (a colour histogram, its place, its size, its spread);
//! indexing asks a shard of the database elsewhere for images that might be alike; ranking compares
//! all regions of the query with all regions of each of those; out keeps the ten best. The four in
//! the middle have a pool of threads each, which `--threads` divides; queues between the pools are
//! bounded. The progress point `query` counts the answered queries.
//!
//! Disk and shard are waits relative to the request before: on two cores the pools could otherwise
//! not be the limit, the cores would be.
//!
//! Options: `--seconds S` (20), `--threads A,B,C,D` (1,2,1,1): threads that segment, extract, index
//! and rank. `c/ferret.c` is the same in C, without PNG.
#![forbid(unsafe_code)]

mod database;
mod picture;
mod regions;

use std::io::Write as _;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use database::{Database, Match};
use picture::Picture;
use regions::{Features, Region};

/// What the disk takes for a picture.
const DISK: Duration = Duration::from_micros(900);
/// What the shard takes for a request.
const SHARD: Duration = Duration::from_micros(2000);
/// Different queries.
const QUERIES: usize = 24;
/// Pictures in the database.
const PICTURES: u64 = 1600;
/// Queries that wait between two pools at most.
const QUEUE: usize = 4;

/// What the command line asks for.
struct Options {
    seconds: f64,
    threads: [usize; 4],
}

fn options() -> Option<Options> {
    let mut options = Options {
        seconds: 20.0,
        threads: [1, 2, 1, 1],
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match &word[..] {
            "--seconds" => options.seconds = value.parse().ok()?,
            "--threads" => {
                let counts: Result<Vec<usize>, _> = value.split(',').map(str::parse).collect();
                options.threads = counts.ok()?.try_into().ok()?;
            }
            _ => return None,
        }
    }
    (!options.threads.contains(&0)).then_some(options)
}

/// A query on its way: its number, and what the last stage made of it.
struct Work<T> {
    number: usize,
    content: T,
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("usage: ferret [--seconds S] [--threads SEGMENT,EXTRACT,INDEX,RANK]");
        return ExitCode::from(2);
    };
    let [segmenters, extractors, indexers, rankers] = options.threads;
    let files: Vec<Vec<u8>> = (0..QUERIES as u64)
        .map(|at| picture::file(at * 7))
        .collect();
    let database = Database::of(PICTURES);
    let begin = Instant::now();
    let (send_picture, pictures) = bounded::<Work<Picture>>(QUEUE);
    let (send_regions, regions) = bounded::<Work<(Picture, Vec<Region>)>>(QUEUE);
    let (send_features, features) = bounded::<Work<Features>>(QUEUE);
    let (send_candidates, candidates) = bounded::<Work<(Features, Vec<u32>)>>(QUEUE);
    let (send_ranked, ranked) = bounded::<Work<Vec<Match>>>(QUEUE);
    let database = &database;
    let answers = thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0.. {
                thread::sleep(DISK);
                let Some(content) = picture::decoded(&files[number % QUERIES]) else {
                    return;
                };
                // The first round is always whole, for the check's sake.
                let late = number >= QUERIES && begin.elapsed().as_secs_f64() > options.seconds;
                if late || send_picture.send(Work { number, content }).is_err() {
                    return;
                }
            }
        });
        pool(
            scope,
            segmenters,
            &pictures,
            &send_regions,
            |picture: Picture| {
                let found = regions::segment(&picture); // LINE: segment
                (picture, found)
            },
        );
        pool(
            scope,
            extractors,
            &regions,
            &send_features,
            |(picture, found)| {
                regions::extract(&picture, &found) // LINE: extract
            },
        );
        pool(
            scope,
            indexers,
            &features,
            &send_candidates,
            |features: Features| {
                thread::sleep(SHARD);
                let found = database.candidates(&features); // LINE: index
                (features, found)
            },
        );
        pool(
            scope,
            rankers,
            &candidates,
            &send_ranked,
            |(features, found)| {
                database.rank(&features, &found) // LINE: rank
            },
        );
        // The pools hold the only other ends: when they go, the queues close.
        drop((pictures, regions, features, candidates));
        drop((send_regions, send_features, send_candidates, send_ranked));
        out(&ranked)
    });
    let seconds = begin.elapsed().as_secs_f64();
    let report = format!(
        "queries {} seconds {seconds:.2} rate {:.3}\nright {:.1} %\ncheck {:08x}\n",
        answers.count,
        answers.count as f64 / seconds,
        100.0 * answers.right as f64 / answers.count.max(1) as f64,
        answers.check,
    );
    match std::io::stdout().write_all(report.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// A stage: so many threads that take from one queue, work and put into the next.
fn pool<'scope, A: Send + 'scope, B: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    threads: usize,
    from: &Receiver<Work<A>>,
    to: &Sender<Work<B>>,
    work: impl Fn(A) -> B + Send + Copy + 'scope,
) {
    for _ in 0..threads {
        let (from, to) = (from.clone(), to.clone());
        scope.spawn(move || {
            for Work { number, content } in from {
                let content = work(content);
                if to.send(Work { number, content }).is_err() {
                    return;
                }
            }
        });
    }
}

/// What came out.
struct Answers {
    count: usize,
    /// Queries whose best match is the picture itself.
    right: usize,
    /// Of the first round of queries.
    check: u32,
}

fn out(ranked: &Receiver<Work<Vec<Match>>>) -> Answers {
    let mut answers = Answers {
        count: 0,
        right: 0,
        check: 0,
    };
    for Work { number, content } in ranked {
        let best = content.first().map_or(0, |found| found.picture);
        answers.right += usize::from(best as usize == number % QUERIES * 7);
        if number < QUERIES {
            // In any order: pools overtake themselves.
            let ten = content.iter().fold(number as u32, |all, found| {
                all.wrapping_mul(31).wrapping_add(found.picture)
            });
            answers.check ^= ten;
        }
        answers.count += 1;
        progress_points::progress!("query");
    }
    answers
}
