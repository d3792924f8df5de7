//! The simulated machine: processors, a scheduler, mutexes, queues and barriers; events in order
//! of time.
//!
//! A thread runs until its work, its time slice or the way to its next sample is over; everything
//! between two stretches of work takes no time. Where the preload has hooks, the thread credits
//! and pays by the rules of [`super::ledger`]. A wake-up takes a while, a sleep lasts too long.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::AtomicU64;

use coz_rs::experiments::observation::Observation;

use super::ledger::{Crediting, PERIOD, Shared, Side, Window};
use super::program::{Operation, Program};
use crate::random::Random;

/// A thread that has a processor keeps it so long when others want it, ns.
const TIME_SLICE: u64 = 3_000_000;
/// Mean time by which a pause that ends spinning is too long, ns.
const SPIN_OVER: f64 = 500.0;
/// Mean time from a wake-up to running, ns, and mean oversleep, as measured on a virtual machine.
const WAKE_UP: f64 = 20_000.0;
const OVERSLEEP: f64 = 25_000.0;

/// What disturbs the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Standard deviation of the processors' pace.
    pub pace: f64,
    /// Time over which the pace forgets itself, ns.
    pub memory: f64,
}

/// As quiet virtual machines are: the pace moves by 1 % within some seconds.
pub const USUAL: Noise = Noise {
    pace: 0.01,
    memory: 3e9,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The running thread's stretch is over.
    Stretch(usize),
    /// A sleep or the latency of a wake-up is over.
    Awake(usize),
    /// The processors' pace changes.
    Pace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Runnable,
    Running,
    Off,
}

/// A pause being slept: when it began, what was asked for and what it pays.
type Pause = (u64, u64, u64);

#[derive(Debug)]
struct Thread {
    at: usize,
    phase: u8,
    state: State,
    /// Events of an earlier state are stale.
    token: u64,
    /// Work left, ns of CPU time.
    left: u64,
    to_sample: u64,
    slice: u64,
    since: u64,
    cpu: u64,
    samples: u64,
    wants_to_pay: bool,
    ahead: bool,
    pause: Option<Pause>,
    wait: (u64, u64),
    /// When it began.
    wait_time: u64,
    side: Side,
}

#[derive(Debug, Default, Clone)]
struct Queue {
    items: usize,
    not_full: VecDeque<usize>,
    not_empty: VecDeque<usize>,
}

#[derive(Debug, Default, Clone)]
struct Mutex {
    taken: bool,
    waiters: VecDeque<usize>,
}

/// A running simulation.
#[derive(Debug)]
pub struct Engine {
    program: Program,
    noise: Noise,
    random: Random,
    time: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event, u64)>>,
    sequence: u64,
    threads: Vec<Thread>,
    runnable: VecDeque<usize>,
    busy: usize,
    mutexes: Vec<Mutex>,
    queues: Vec<Queue>,
    barriers: Vec<Vec<usize>>,
    pace: f64,
    counts: Vec<u64>,
    line_samples: Vec<u64>,
    shared: Shared,
}

impl Engine {
    /// A program at its beginning.
    #[must_use]
    pub fn new(program: &Program, crediting: Crediting, noise: Noise, seed: u64) -> Engine {
        let mut random = Random::new(seed);
        let threads = program.threads.iter().map(|_| Thread {
            at: 0,
            phase: 0,
            state: State::Off,
            token: 0,
            left: 0,
            to_sample: (random.part() * PERIOD as f64) as u64 + 1,
            slice: 0,
            since: 0,
            cpu: 1,
            samples: 0,
            wants_to_pay: false,
            ahead: false,
            pause: None,
            wait: (0, 0),
            wait_time: 0,
            side: Side::default(),
        });
        let threads: Vec<Thread> = threads.collect();
        let mut engine = Engine {
            noise,
            time: 0,
            events: BinaryHeap::new(),
            sequence: 0,
            runnable: VecDeque::new(),
            busy: 0,
            mutexes: vec![Mutex::default(); program.locks],
            queues: vec![Queue::default(); program.queues.len()],
            barriers: vec![Vec::new(); program.barriers.len()],
            pace: 1.0 + noise.pace * random.normal(),
            counts: vec![0; program.points],
            line_samples: vec![0; program.lines],
            shared: Shared {
                global: AtomicU64::new(0),
                window: Window::default(),
                oversleep: OVERSLEEP as i64,
                hits: 0,
                samples: 0,
                credited: 0,
                paused: 0,
                crediting,
            },
            program: program.clone(),
            random,
            threads,
        };
        for thread in 0..engine.threads.len() {
            engine.make_runnable(thread);
        }
        engine.after(100e6, Event::Pace, 0);
        engine
    }

    /// Puts a window in force.
    pub fn publish(&mut self, window: Window) {
        self.shared.window = window;
    }

    /// The window in force.
    #[must_use]
    pub fn window(&self) -> Window {
        self.shared.window
    }

    /// Now, ns.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.time
    }

    /// What the controller sees.
    #[must_use]
    pub fn observe(&self) -> Observation {
        Observation {
            time: self.time,
            g: self
                .shared
                .global
                .load(std::sync::atomic::Ordering::Relaxed),
            hits: self.shared.hits,
            samples: self.shared.samples,
            counts: self.counts.clone(),
            ..Observation::default()
        }
    }

    /// Samples of each line so far.
    #[must_use]
    pub fn line_samples(&self) -> &[u64] {
        &self.line_samples
    }

    /// Threads that were sampled.
    #[must_use]
    pub fn busy_threads(&self) -> usize {
        self.threads
            .iter()
            .filter(|thread| thread.samples > 0)
            .count()
            .max(1)
    }

    /// Credits given and pauses slept, ns.
    #[must_use]
    pub fn credited_and_paused(&self) -> (u64, u64) {
        (self.shared.credited, self.shared.paused)
    }

    /// Lets the program run for so many ns.
    pub fn run(&mut self, span: u64) {
        let until = self.time + span;
        while let Some(Reverse((time, _, _, _))) = self.events.peek() {
            if *time > until {
                break;
            }
            let Some(Reverse((time, _, event, token))) = self.events.pop() else {
                break;
            };
            self.time = time;
            self.handle(event, token);
        }
        self.time = until;
    }

    fn handle(&mut self, event: Event, token: u64) {
        match event {
            Event::Pace => {
                let keep = (-100e6 / self.noise.memory).exp();
                let new = (1.0 - keep * keep).sqrt() * self.noise.pace;
                self.pace = 1.0 + (self.pace - 1.0) * keep + new * self.random.normal();
                self.after(100e6, Event::Pace, 0);
            }
            Event::Awake(thread) if self.threads[thread].token == token => {
                self.make_runnable(thread);
            }
            Event::Stretch(thread) if self.threads[thread].token == token => {
                self.stretch_is_over(thread);
            }
            Event::Awake(_) | Event::Stretch(_) => {}
        }
    }

    fn after(&mut self, span: f64, event: Event, token: u64) {
        self.sequence += 1;
        let time = self.time + span.max(0.0) as u64;
        self.events
            .push(Reverse((time, self.sequence, event, token)));
    }

    fn make_runnable(&mut self, thread: usize) {
        self.threads[thread].state = State::Runnable;
        if self.busy < self.program.cores {
            self.start(thread);
        } else {
            self.runnable.push_back(thread);
        }
    }

    fn start(&mut self, thread: usize) {
        self.busy += 1;
        let time = self.time;
        let this = &mut self.threads[thread];
        this.state = State::Running;
        this.slice = TIME_SLICE;
        if let Some((begin, wanted, part)) = this.pause.take() {
            let slept = time - begin;
            this.side.paid(&mut self.shared, wanted, part, slept);
        }
        self.advance(thread);
    }

    /// The thread gives its processor up, and another gets it.
    fn leave(&mut self, thread: usize, state: State) {
        self.threads[thread].state = state;
        self.threads[thread].token += 1;
        self.busy -= 1;
        if state == State::Runnable {
            self.runnable.push_back(thread);
        }
        if self.busy < self.program.cores
            && let Some(next) = self.runnable.pop_front()
        {
            self.start(next);
        }
    }

    fn stretch_is_over(&mut self, thread: usize) {
        let span = self.time - self.threads[thread].since;
        let others_wait = !self.runnable.is_empty();
        let this = &mut self.threads[thread];
        this.cpu += span;
        this.left = this.left.saturating_sub(span);
        this.to_sample = this.to_sample.saturating_sub(span);
        this.slice = this.slice.saturating_sub(span);
        if this.to_sample == 0 {
            this.to_sample = PERIOD;
            this.samples += 1;
            self.shared.samples += 1;
            let operation = self.program.threads[thread][this.at];
            if let Operation::Work { line, .. } = operation {
                self.line_samples[line] += 1;
                let hit = self.shared.window.line == Some(line);
                this.side.sample(&mut self.shared, hit, self.time, this.cpu);
            }
            this.wants_to_pay = true;
        }
        if this.slice == 0 {
            this.slice = TIME_SLICE;
            if others_wait {
                self.leave(thread, State::Runnable);
                return;
            }
        }
        self.advance(thread);
    }

    /// Goes on with a thread that has a processor, until it works or gives the processor up.
    fn advance(&mut self, thread: usize) {
        loop {
            if std::mem::take(&mut self.threads[thread].wants_to_pay) && self.pay(thread) {
                return;
            }
            let at = self.threads[thread].at;
            let go_on = match self.program.threads[thread][at] {
                Operation::Work { mean, spread, .. } => self.work(thread, mean, spread),
                Operation::Lock(mutex) => self.lock(thread, mutex),
                Operation::Unlock(mutex) => self.unlock(thread, mutex),
                Operation::Push(queue) => self.push(thread, queue),
                Operation::Pop(queue) => self.pop(thread, queue),
                Operation::Meet(barrier) => self.meet(thread, barrier),
                Operation::Sleep(span) => self.sleep(thread, span),
                Operation::Visit(point) => {
                    self.counts[point] += 1;
                    self.next(thread)
                }
            };
            if !go_on {
                return;
            }
        }
    }

    /// Pays what is owed, if that is worth a sleep; whether the thread sleeps now.
    fn pay(&mut self, thread: usize) -> bool {
        let ahead = self.shared.crediting == Crediting::Smoothed && self.threads[thread].ahead;
        let foreseen = if ahead { self.foreseen(thread) } else { 0 };
        let this = &mut self.threads[thread];
        let Some((wanted, part)) = this.side.due(&self.shared, foreseen) else {
            this.ahead = false;
            return false;
        };
        this.pause = Some((self.time, wanted, part));
        // After the sleep it looks again.
        this.wants_to_pay = true;
        let over = match self.shared.crediting {
            Crediting::Smoothed => SPIN_OVER * self.random.exponential(),
            Crediting::Batches => OVERSLEEP * (0.6 + 0.4 * self.random.exponential()),
        };
        self.leave(thread, State::Off);
        let token = self.threads[thread].token;
        self.after(wanted as f64 + over, Event::Awake(thread), token);
        true
    }

    /// What the hooks do before a thread waits or wakes another: credit, and pay next.
    fn credit_and_pay(&mut self, thread: usize) {
        let this = &mut self.threads[thread];
        this.side
            .credit_partial(&mut self.shared, self.time, this.cpu);
        this.wants_to_pay = true;
        this.ahead = true;
    }

    fn next(&mut self, thread: usize) -> bool {
        let this = &mut self.threads[thread];
        let key = match self.program.threads[thread][this.at] {
            Operation::Lock(object) => Some((1, object)),
            Operation::Unlock(object) => Some((2, object)),
            Operation::Push(object) => Some((3, object)),
            Operation::Pop(object) => Some((4, object)),
            Operation::Meet(object) => Some((5, object)),
            Operation::Work { .. } | Operation::Sleep(_) | Operation::Visit(_) => None,
        };
        if let Some((kind, object)) = key {
            this.side.enter_segment((object as u64) << 3 | kind);
        }
        this.at = (this.at + 1) % self.program.threads[thread].len();
        this.phase = 0;
        true
    }

    fn block(&mut self, thread: usize, phase: u8) -> bool {
        self.threads[thread].phase = phase;
        self.leave(thread, State::Off);
        false
    }

    fn wake(&mut self, thread: usize) {
        let latency = WAKE_UP * (0.5 + 0.5 * self.random.exponential());
        let token = self.threads[thread].token;
        self.after(latency, Event::Awake(thread), token);
    }

    /// Where G will be once all other threads are credited for what they have done.
    fn foreseen(&self, thread: usize) -> u64 {
        let now = self.time;
        self.threads
            .iter()
            .enumerate()
            .filter(|(other, one)| *other != thread && one.state == State::Running)
            .map(|(_, one)| {
                one.side
                    .foreseen(&self.shared, one.cpu + (now - one.since.min(now)))
            })
            .max()
            .unwrap_or(0)
    }

    fn note_wait(&mut self, thread: usize) {
        let foreseen = match self.shared.crediting {
            Crediting::Smoothed => self.foreseen(thread),
            Crediting::Batches => 0,
        };
        let this = &mut self.threads[thread];
        this.wait = this.side.before_wait(&self.shared, foreseen);
        this.wait_time = self.time;
    }

    fn end_wait(&mut self, thread: usize) {
        let this = &mut self.threads[thread];
        let waited = self.time - this.wait_time;
        this.side.after_wake(&self.shared, this.wait, waited);
    }

    fn work(&mut self, thread: usize, mean: f64, spread: f64) -> bool {
        if self.threads[thread].phase == 0 {
            let factor = (1.0 + spread * self.random.normal()).max(0.2) * self.pace;
            let this = &mut self.threads[thread];
            this.phase = 1;
            this.left = (mean * factor) as u64;
        }
        let this = &mut self.threads[thread];
        if this.left == 0 {
            return self.next(thread);
        }
        let span = this.left.min(this.to_sample).min(this.slice);
        this.since = self.time;
        this.token += 1;
        let token = this.token;
        self.after(span as f64, Event::Stretch(thread), token);
        false
    }

    fn lock(&mut self, thread: usize, mutex: usize) -> bool {
        let free = !self.mutexes[mutex].taken;
        match self.threads[thread].phase {
            0 => {
                self.credit_and_pay(thread);
                self.threads[thread].phase = 1;
            }
            1 if !free => {
                self.credit_and_pay(thread);
                self.threads[thread].phase = 2;
            }
            2 if !free => {
                self.note_wait(thread);
                self.mutexes[mutex].waiters.push_back(thread);
                return self.block(thread, 3);
            }
            3 if !free => {
                // Another was faster: it waits on, at the head of the line.
                self.mutexes[mutex].waiters.push_front(thread);
                return self.block(thread, 3);
            }
            phase => {
                self.mutexes[mutex].taken = true;
                if phase == 3 {
                    self.end_wait(thread);
                }
                return self.next(thread);
            }
        }
        true
    }

    fn unlock(&mut self, thread: usize, mutex: usize) -> bool {
        if self.threads[thread].phase == 0 && self.mutexes[mutex].waiters.is_empty() {
            // Nobody is woken, so nothing need be paid, but another segment begins.
            let this = &mut self.threads[thread];
            this.side
                .credit_partial(&mut self.shared, self.time, this.cpu);
        }
        if self.threads[thread].phase == 0 && !self.mutexes[mutex].waiters.is_empty() {
            self.credit_and_pay(thread);
            self.threads[thread].phase = 1;
            return true;
        }
        self.mutexes[mutex].taken = false;
        if let Some(first) = self.mutexes[mutex].waiters.pop_front() {
            self.wake(first);
        }
        self.next(thread)
    }

    fn push(&mut self, thread: usize, queue: usize) -> bool {
        let full = self.queues[queue].items >= self.program.queues[queue];
        match self.threads[thread].phase {
            0 => {
                // The hooks before waiting and before signalling do the same.
                self.credit_and_pay(thread);
                self.threads[thread].phase = 1;
                true
            }
            1 if full => {
                self.note_wait(thread);
                self.queues[queue].not_full.push_back(thread);
                self.block(thread, 2)
            }
            2 => {
                self.end_wait(thread);
                self.threads[thread].phase = 1;
                true
            }
            _ => {
                self.queues[queue].items += 1;
                if let Some(other) = self.queues[queue].not_empty.pop_front() {
                    self.wake(other);
                }
                self.next(thread)
            }
        }
    }

    fn pop(&mut self, thread: usize, queue: usize) -> bool {
        let empty = self.queues[queue].items == 0;
        match self.threads[thread].phase {
            0 => {
                self.credit_and_pay(thread);
                self.threads[thread].phase = 1;
                true
            }
            1 if empty => {
                self.note_wait(thread);
                self.queues[queue].not_empty.push_back(thread);
                self.block(thread, 2)
            }
            2 => {
                self.end_wait(thread);
                self.threads[thread].phase = 1;
                true
            }
            _ => {
                self.queues[queue].items -= 1;
                if let Some(other) = self.queues[queue].not_full.pop_front() {
                    self.wake(other);
                }
                self.next(thread)
            }
        }
    }

    fn meet(&mut self, thread: usize, barrier: usize) -> bool {
        match self.threads[thread].phase {
            0 => {
                self.credit_and_pay(thread);
                self.threads[thread].phase = 1;
                true
            }
            1 => {
                self.note_wait(thread);
                if self.barriers[barrier].len() + 1 < self.program.barriers[barrier] {
                    self.barriers[barrier].push(thread);
                    return self.block(thread, 2);
                }
                for other in std::mem::take(&mut self.barriers[barrier]) {
                    self.wake(other);
                }
                self.next(thread)
            }
            _ => {
                self.end_wait(thread);
                self.next(thread)
            }
        }
    }

    fn sleep(&mut self, thread: usize, span: f64) -> bool {
        if self.threads[thread].phase == 1 {
            return self.next(thread);
        }
        let over = OVERSLEEP * (0.6 + 0.4 * self.random.exponential());
        self.block(thread, 1);
        let token = self.threads[thread].token;
        self.after(span + over, Event::Awake(thread), token);
        false
    }
}
