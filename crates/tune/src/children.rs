//! The parent's side: jobs in child processes, and how they ended.

use std::time::{Duration, Instant};

use serde_json::Value;
use tilewright_diag::{Diagnostic, Result};
use tilewright_run::isolate::{ChildOutcome, Isolated};

use crate::job::{Answer, Job, Task};
use crate::request::Request;

/// How a job ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ended {
    /// With an answer.
    Answered(Answer),
    /// Its process died, and how.
    Crashed(String),
    /// It outlived its limit.
    Hung,
}

/// Child processes of one request.
pub(crate) struct Children<'a> {
    request: &'a Request<'a>,
    problem: Vec<String>,
}

impl<'a> Children<'a> {
    pub fn new(request: &'a Request<'a>) -> Children<'a> {
        let problem = request.problem.values().iter().map(|(name, value)| format!("{name}={value}"));
        Children { request, problem: problem.collect() }
    }

    /// Does one job.
    ///
    /// # Errors
    /// Only where no child could be started or watched.
    pub fn run(&self, task: Task, limit: Duration) -> Result<Ended> {
        let r = self.request;
        let job = Job {
            kernel: r.family.name().to_string(),
            problem: self.problem.clone(),
            features: r.features.to_string(),
            threads: r.threads,
            seed: r.seed,
            task,
        };
        let job = serde_json::to_value(job)
            .map_err(|e| Diagnostic::tool("tune/bad-job", format!("a job has no JSON form: {e}")))?;
        Ok(read(Isolated::new(r.worker).spawn(&job, limit)?))
    }

    fn run_timed(&self, task: Task, limit: Duration) -> Result<(Ended, Duration)> {
        let start = Instant::now();
        let ended = self.run(task, limit)?;
        Ok((ended, start.elapsed()))
    }

    /// Does several jobs, as many at once as there are cores; says of each how long it took.
    ///
    /// # Errors
    /// As [`Children::run`].
    pub fn run_all(&self, tasks: Vec<Task>, limit: Duration) -> Result<Vec<(Ended, Duration)>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut ended = Vec::with_capacity(tasks.len());
        let mut tasks = tasks.into_iter();
        loop {
            let wave: Vec<Task> = tasks.by_ref().take(cores).collect();
            if wave.is_empty() {
                return Ok(ended);
            }
            let results = std::thread::scope(|scope| {
                let running: Vec<_> =
                    wave.into_iter().map(|task| scope.spawn(move || self.run_timed(task, limit))).collect();
                running.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
            });
            for result in results {
                let lost =
                    |_| Err(Diagnostic::tool("tune/lost-child", "the thread that watched a child died"));
                ended.push(result.unwrap_or_else(lost)?);
            }
        }
    }
}

fn read(outcome: ChildOutcome) -> Ended {
    match outcome {
        ChildOutcome::Ok(value) => answer(value),
        ChildOutcome::Crashed { status, stderr_tail } if stderr_tail.is_empty() => Ended::Crashed(status),
        ChildOutcome::Crashed { status, stderr_tail } => Ended::Crashed(format!("{status}: {stderr_tail}")),
        ChildOutcome::Hung => Ended::Hung,
        ChildOutcome::BadOutput(text) => Ended::Crashed(format!("it answered `{text}`")),
    }
}

fn answer(value: Value) -> Ended {
    match serde_json::from_value(value) {
        Ok(answer) => Ended::Answered(answer),
        Err(e) => Ended::Crashed(format!("its answer cannot be read: {e}")),
    }
}
