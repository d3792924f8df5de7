//! A server under load: where a request's time goes, by Little's law and by the clock.
//!
//! Clients send requests over a queue and wait for the answers, then think for a while. One worker
//! parses each request and renders the answer: `begin!("request")` where it is sent,
//! `end!("request")` where it is answered. Another thread makes statistics of what was answered, as
//! long as there is nothing else: hot, and no request waits for it.
//!
//! The program measures each request's latency itself, so that the two can be compared.
//!
//! Options: `--seconds S` (20), `--clients N` (4), `--think MS` (3), `--fix parse|render|statistics`
//! (any number of times).
#![forbid(unsafe_code)]

mod work;

use std::hint::black_box;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use progress_points::{begin, end};
use work::{Work, checksum, checksum_rarely};

/// Bytes of a request, and of the page that answers it.
const REQUEST: usize = 500_000;

/// What the command line asks for.
struct Options {
    seconds: f64,
    clients: u64,
    think: Duration,
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
    let mut options = Options {
        seconds: 20.0,
        clients: 4,
        think: Duration::from_millis(3),
        fixed: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match (&word[..], &value[..]) {
            ("--seconds", number) => options.seconds = number.parse().ok()?,
            ("--clients", number) => options.clients = number.parse().ok().filter(|&n| n > 0)?,
            ("--think", number) => options.think = Duration::from_millis(number.parse().ok()?),
            ("--fix", "parse" | "render" | "statistics") => options.fixed.push(value),
            _ => return None,
        }
    }
    Some(options)
}

/// A request on its way.
struct Request {
    text: Vec<u8>,
    sent: Instant,
    answer: Sender<u32>,
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!(
            "usage: server [--seconds S] [--clients N] [--think MS] \
             [--fix parse|render|statistics]..."
        );
        return ExitCode::from(2);
    };
    let (cure, plain): (Work, Work) = (checksum_rarely, checksum);
    let parse = options.choose("parse", cure, plain);
    let render = options.choose("render", cure, plain);
    let statistics = options.choose("statistics", cure, plain);

    let begin = Instant::now();
    let stop = AtomicBool::new(false);
    let (latency_ns, check) = (AtomicU64::new(0), AtomicU64::new(0));
    let (mut answered, mut parsing, mut rendering) = (0_u64, Duration::ZERO, Duration::ZERO);
    let (send, requests) = sync_channel::<Request>(64);
    let latest = Mutex::new(vec![1; REQUEST]);
    let counted = thread::scope(|scope| {
        for client in 0..options.clients {
            let (send, options, check) = (send.clone(), &options, &check);
            scope.spawn(move || {
                let text: Vec<u8> = (0..REQUEST)
                    .map(|at| (at as u64 * 7 + client) as u8)
                    .collect();
                while begin.elapsed().as_secs_f64() < options.seconds {
                    thread::sleep(options.think);
                    let (answer, answered) = channel();
                    let request = Request {
                        text: text.clone(),
                        sent: Instant::now(),
                        answer,
                    };
                    begin!("request");
                    if send.send(request).is_err() {
                        return;
                    }
                    let Ok(page) = answered.recv() else { return };
                    // Relaxed: the sum of the clients' answers, read after they ended.
                    check.fetch_max(u64::from(page) << 8 | client, Ordering::Relaxed);
                }
            });
        }
        drop(send);
        let counting = scope.spawn(|| {
            let (mut rounds, mut time) = (0_u32, Duration::ZERO);
            // Relaxed: one round more does no harm.
            while !stop.load(Ordering::Relaxed) {
                let text = latest.lock().map(|text| text.clone()).unwrap_or_default();
                let start = Instant::now();
                black_box(statistics(&text)); // LINE: statistics
                time += start.elapsed();
                rounds += 1;
            }
            time.as_nanos() as f64 / f64::from(rounds.max(1))
        });
        for request in requests {
            let start = Instant::now();
            let seed = parse(&request.text[..REQUEST / 3]); // LINE: parse
            let middle = Instant::now();
            let page = seed.rotate_left(9) ^ render(&request.text); // LINE: render
            rendering += middle.elapsed();
            parsing += middle - start;
            answered += 1;
            end!("request");
            let took = request.sent.elapsed().as_nanos() as u64;
            latency_ns.fetch_add(took, Ordering::Relaxed);
            // A client that is gone wants no answer.
            let _ = request.answer.send(page);
            if answered.is_multiple_of(16)
                && let Ok(mut latest) = latest.lock()
            {
                *latest = request.text;
            }
        }
        stop.store(true, Ordering::Relaxed);
        counting.join()
    });
    let Ok(counted) = counted else {
        return ExitCode::FAILURE;
    };
    let seconds = begin.elapsed().as_secs_f64();
    let each = |time: Duration| time.as_nanos() / u128::from(answered.max(1));
    let latency = latency_ns.into_inner() as f64 / answered.max(1) as f64;
    let report = format!(
        "requests {answered} seconds {seconds:.2} rate {:.3}\nlatency {:.3} ms\n\
         cost parse {} ns\ncost render {} ns\ncost statistics {counted:.0} ns\ncheck {:08x}\n",
        answered as f64 / seconds,
        latency * 1e-6,
        each(parsing),
        each(rendering),
        check.into_inner(),
    );
    match std::io::stdout().write_all(report.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
