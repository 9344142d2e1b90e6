//! Runs the loops in rounds, on one thread and on all of them at once, and collects work per second.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::bandwidth::{Traffic, traffic};
use crate::buffer::Buffer;

/// What one task repeats.
#[derive(Clone, Copy)]
pub(super) enum Load {
    /// An arithmetic loop and the operations of one of its iterations.
    Arithmetic { run: fn(u64), flops: f64 },
    /// Moves `bytes` of a buffer of its own, from where it stopped last; a `total` that exceeds the caches by far makes
    /// sure that none of it is cached. Sizes are for one thread.
    Traffic { kind: Traffic, bytes: usize, total: usize },
}

/// A load on one thread or on all.
#[derive(Clone, Copy)]
pub(super) struct Task {
    pub load: Load,
    pub all_threads: bool,
}

/// Work per second (operations or bytes) of each task, one sample a round. Rounds go on until `budget` is spent, three at
/// least. `None` when the system refuses the memory.
pub(super) fn run(tasks: &[Task], threads: usize, budget: Duration) -> Option<Vec<Vec<f64>>> {
    let shared = Shared {
        tasks,
        threads,
        gate: Barrier::new(threads),
        announced: AtomicUsize::new(STOP),
        ready: AtomicUsize::new(0),
        iterations: tasks.iter().map(|_| AtomicU64::new(1)).collect(),
        spans: Mutex::new(Vec::new()),
    };
    // All memory is there before a thread starts: a thread that gave up would leave the others waiting.
    let followers: Option<Vec<Worker>> = (1..threads).map(|_| Worker::new(tasks, true)).collect();
    let mut leader = Worker::new(tasks, false)?;
    let followers = followers?;
    Some(std::thread::scope(|scope| {
        for mut follower in followers {
            let shared = &shared;
            scope.spawn(move || shared.follow(&mut follower));
        }
        shared.lead(&mut leader, budget)
    }))
}

/// A sample lasts at least this long: far above a clock tick, far below what the budget allows.
const SAMPLE: Duration = Duration::from_millis(2);

/// What the leader announces to send the others home.
const STOP: usize = usize::MAX;

struct Shared<'a> {
    tasks: &'a [Task],
    threads: usize,
    /// Threads block here between samples, so that idle ones take nothing from a task on one thread.
    gate: Barrier,
    /// The task to do next; read after the gate opens.
    announced: AtomicUsize,
    /// Threads spin on this inside a sample, so that all start within nanoseconds.
    ready: AtomicUsize,
    /// How often a task is repeated within a sample.
    iterations: Vec<AtomicU64>,
    /// What each thread did in the sample at hand.
    spans: Mutex<Vec<Span>>,
}

struct Span {
    start: Instant,
    end: Instant,
    work: f64,
}

/// One thread's memory, and where in it each task goes on.
struct Worker {
    buffer: Buffer,
    cursors: Vec<usize>,
}

impl Worker {
    fn new(tasks: &[Task], follows: bool) -> Option<Worker> {
        let needed = tasks.iter().filter(|task| task.all_threads || !follows).map(|task| match task.load {
            Load::Arithmetic { .. } => 0,
            Load::Traffic { total, .. } => total,
        });
        Some(Worker { buffer: Buffer::new(needed.max().unwrap_or(0))?, cursors: vec![0; tasks.len()] })
    }

    fn perform(&mut self, index: usize, load: Load, iterations: u64) -> Span {
        let start = Instant::now();
        let work = match load {
            Load::Arithmetic { run, flops } => {
                run(iterations);
                flops * iterations as f64
            }
            Load::Traffic { kind, bytes, total } => {
                let (words, total) = (bytes / size_of::<u64>(), total / size_of::<u64>());
                let cursor = &mut self.cursors[index];
                for _ in 0..iterations {
                    if *cursor + words > total {
                        *cursor = 0;
                    }
                    traffic(kind, &mut self.buffer.words()[*cursor..*cursor + words]);
                    *cursor += words;
                }
                bytes as f64 * iterations as f64
            }
        };
        Span { start, end: Instant::now(), work }
    }
}

impl Shared<'_> {
    fn lead(&self, worker: &mut Worker, budget: Duration) -> Vec<Vec<f64>> {
        let start = Instant::now();
        let mut samples = vec![Vec::new(); self.tasks.len()];
        // Two rounds touch the memory and find the repeats that fill a sample.
        for round in 0.. {
            if round >= 5 && start.elapsed() > budget {
                break;
            }
            for (index, samples) in samples.iter_mut().enumerate() {
                let rate = loop {
                    let (seconds, work) = self.sample(index, worker);
                    let repeats = self.iterations[index].load(Ordering::Relaxed);
                    if round >= 2 || seconds >= SAMPLE.as_secs_f64() || repeats >= 1 << 50 {
                        break work / seconds;
                    }
                    let wanted = (SAMPLE.as_secs_f64() * 1.2 / seconds.max(1e-9)).min(100.0);
                    let repeats = ((repeats as f64 * wanted).ceil() as u64).max(repeats + 1);
                    self.iterations[index].store(repeats, Ordering::Relaxed);
                };
                if round >= 2 {
                    samples.push(rate);
                }
            }
        }
        self.announced.store(STOP, Ordering::Relaxed);
        self.gate.wait();
        samples
    }

    fn follow(&self, worker: &mut Worker) {
        loop {
            self.gate.wait();
            let index = self.announced.load(Ordering::Relaxed);
            if index == STOP {
                return;
            }
            self.join_in(index, worker);
            self.gate.wait();
        }
    }

    /// Seconds from the first thread's start to the last one's end, and the work of all.
    fn sample(&self, index: usize, worker: &mut Worker) -> (f64, f64) {
        if self.tasks[index].all_threads && self.threads > 1 {
            self.announced.store(index, Ordering::Relaxed);
            self.ready.store(0, Ordering::Relaxed);
            self.gate.wait();
            self.join_in(index, worker);
            self.gate.wait();
        } else {
            let iterations = self.iterations[index].load(Ordering::Relaxed);
            let span = worker.perform(index, self.tasks[index].load, iterations);
            self.spans().push(span);
        }
        let mut spans = self.spans();
        let start = spans.iter().map(|s| s.start).min();
        let end = spans.iter().map(|s| s.end).max();
        let work = spans.drain(..).map(|s| s.work).sum();
        let seconds = start.zip(end).map_or(0.0, |(start, end)| (end - start).as_secs_f64());
        (seconds, work)
    }

    fn join_in(&self, index: usize, worker: &mut Worker) {
        let iterations = self.iterations[index].load(Ordering::Relaxed);
        self.ready.fetch_add(1, Ordering::AcqRel);
        let mut spins = 0u32;
        while self.ready.load(Ordering::Acquire) < self.threads {
            spins += 1;
            // With fewer processors than threads, spinning on would keep the missing thread from running.
            if spins.is_multiple_of(1 << 12) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        let span = worker.perform(index, self.tasks[index].load, iterations);
        self.spans().push(span);
    }

    fn spans(&self) -> MutexGuard<'_, Vec<Span>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_sampled_on_one_thread_and_on_several() {
        fn spin(n: u64) {
            (0..n).for_each(|_| std::hint::spin_loop());
        }
        let traffic = Load::Traffic { kind: Traffic::Copy, bytes: 4096, total: 3 * 4096 };
        let tasks = [
            Task { load: Load::Arithmetic { run: spin, flops: 1.0 }, all_threads: false },
            Task { load: Load::Arithmetic { run: spin, flops: 1.0 }, all_threads: true },
            Task { load: traffic, all_threads: false },
            Task { load: traffic, all_threads: true },
        ];
        for threads in [1, 3] {
            let samples = run(&tasks, threads, Duration::ZERO).expect("memory");
            assert!(samples.iter().all(|s| s.len() == 3 && s.iter().all(|&rate| rate > 0.0)), "{samples:?}");
        }
    }
}
