//! A server under load on tokio: where a request's time goes when no thread waits for it.
//!
//! A generator lets requests arrive, each so long after the one before. Every request is a task on
//! two worker threads: it is parsed, waits for the only connection to the renderer, and is rendered.
//! While it waits it is in no thread, and so in no ordinary profile. `begin!("request")` is where it
//! arrives, `end!("request")` where it is answered.
//!
//! The program measures each request's latency itself, so that the two can be compared.
//!
//! Options: `--seconds S` (20), `--gap MS` (2: mean time between arrivals), `--fix parse|render` (any
//! number of times).
#![forbid(unsafe_code)]

#[path = "../server/work.rs"]
mod work;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use progress_points::{begin, end};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;
use work::{Work, checksum, checksum_rarely};

/// Bytes of a request, and of the page that answers it.
const REQUEST: usize = 250_000;
const PAGE: usize = 500_000;
/// Kinds of requests.
const KINDS: u64 = 4;
/// Requests in flight at most; further arrivals wait outside.
const MOST: usize = 64;

/// What the command line asks for.
struct Options {
    seconds: f64,
    gap: Duration,
    parse: Work,
    render: Work,
}

fn options() -> Option<Options> {
    let mut options = Options {
        seconds: 20.0,
        gap: Duration::from_millis(2),
        parse: checksum,
        render: checksum,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match (&word[..], &value[..]) {
            ("--seconds", number) => options.seconds = number.parse().ok()?,
            ("--gap", number) => options.gap = Duration::from_millis(number.parse().ok()?),
            ("--fix", "parse") => options.parse = checksum_rarely,
            ("--fix", "render") => options.render = checksum_rarely,
            _ => return None,
        }
    }
    Some(options)
}

/// What all requests share.
struct Server {
    options: Options,
    /// A text for each kind of request.
    texts: Vec<Vec<u8>>,
    /// The connection to the renderer, which renders one page at a time.
    connection: Mutex<Connection>,
    latency_ns: AtomicU64,
    parsing_ns: AtomicU64,
    rendering_ns: AtomicU64,
    answered: AtomicU64,
    check: AtomicU64,
}

/// Where pages are rendered.
struct Connection {
    page: Vec<u8>,
}

impl Server {
    fn new(options: Options) -> Self {
        let text = |kind: u64| {
            (0..REQUEST)
                .map(|at| (at as u64 * 7 + kind) as u8)
                .collect()
        };
        Self {
            options,
            texts: (0..KINDS).map(text).collect(),
            connection: Mutex::new(Connection {
                page: vec![7; PAGE],
            }),
            latency_ns: AtomicU64::new(0),
            parsing_ns: AtomicU64::new(0),
            rendering_ns: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            check: AtomicU64::new(0),
        }
    }

    /// Answers a request that arrived at `sent`.
    async fn answer(&self, kind: u64, sent: Instant) {
        let begin = Instant::now();
        let seed = (self.options.parse)(&self.texts[kind as usize]); // LINE: parse
        let parsing = begin.elapsed();
        let mut connection = self.connection.lock().await;
        let begin = Instant::now();
        connection.page[0] = seed as u8;
        let page = (self.options.render)(&connection.page); // LINE: render
        let rendering = begin.elapsed();
        drop(connection);
        end!("request");
        // Relaxed, here and below: sums, read after all requests have been joined.
        let add = |sum: &AtomicU64, time: Duration| {
            sum.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        };
        add(&self.latency_ns, sent.elapsed());
        add(&self.parsing_ns, parsing);
        add(&self.rendering_ns, rendering);
        self.answered.fetch_add(1, Ordering::Relaxed);
        let check = u64::from(page) << 8 | kind;
        self.check.fetch_max(check, Ordering::Relaxed);
    }
}

/// Lets requests arrive, half a gap to one and a half after the one before, until the time is up.
async fn generate(server: Arc<Server>, begin: Instant) {
    let room = Arc::new(Semaphore::new(MOST));
    let mut requests = JoinSet::new();
    let (mut kind, mut state) = (0, 1_u64);
    while begin.elapsed().as_secs_f64() < server.options.seconds {
        // Knuth's MMIX generator.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let part = 0.5 + (state >> 40) as f64 / (1_u64 << 24) as f64;
        tokio::time::sleep(server.options.gap.mul_f64(part)).await;
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            break; // nobody closes it
        };
        begin!("request");
        let (server, sent) = (Arc::clone(&server), Instant::now());
        requests.spawn(async move {
            server.answer(kind, sent).await;
            drop(place);
        });
        kind = (kind + 1) % KINDS;
        while requests.try_join_next().is_some() {}
    }
    while requests.join_next().await.is_some() {}
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("usage: server-tokio [--seconds S] [--gap MS] [--fix parse|render]...");
        return ExitCode::from(2);
    };
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let Ok(runtime) = builder.worker_threads(2).enable_time().build() else {
        return ExitCode::FAILURE;
    };
    let server = Arc::new(Server::new(options));
    let begin = Instant::now();
    let generator = runtime.spawn(generate(Arc::clone(&server), begin));
    if runtime.block_on(generator).is_err() {
        return ExitCode::FAILURE;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let told = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
    let answered = told(&server.answered);
    let each = |sum: &AtomicU64| told(sum) as f64 / answered.max(1) as f64;
    let report = format!(
        "requests {answered} seconds {seconds:.2} rate {:.3}\nlatency {:.3} ms\n\
         cost parse {:.0} ns\ncost render {:.0} ns\ncheck {:010x}\n",
        answered as f64 / seconds,
        each(&server.latency_ns) * 1e-6,
        each(&server.parsing_ns),
        each(&server.rendering_ns),
        told(&server.check),
    );
    match std::io::stdout().write_all(report.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
