//! What is to be tuned, and what the caller hears meanwhile.

use std::time::Duration;

use tilewright_kernels::{Config, Family, Machine, Problem};
use tilewright_measure::ceilings::Ceilings;
use tilewright_target_cpu::features::CpuFeatures;

/// What is to be tuned.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The kernel family.
    pub family: &'a dyn Family,
    /// The problem.
    pub problem: &'a Problem,
    /// The machine by whose caches and cores configs are sized.
    pub machine: &'a Machine,
    /// What the machine can do at most.
    pub ceilings: &'a Ceilings,
    /// The CPU that code is made for; this machine must have it.
    pub features: CpuFeatures,
    /// Threads that run the kernel.
    pub threads: usize,
    /// Decides inputs and orders.
    pub seed: u64,
    /// No candidate is begun later than this. The default config is measured whatever it takes.
    pub budget: Duration,
    /// Keep only configs by which a row's result does not depend on the other rows, bit for bit.
    pub batch_invariant: bool,
    /// Arguments with which this executable does the tuner's jobs ([`work`](crate::work)).
    pub worker: &'a [&'a str],
    /// A candidate that is silent for so long counts as hung; those that take long for a reason, and the first, are given
    /// more.
    pub patience: Duration,
}

impl Request<'_> {
    /// A fitting [`Request::patience`].
    pub const PATIENCE: Duration = Duration::from_secs(10);

    /// A fitting [`Request::budget`].
    pub const BUDGET: Duration = Duration::from_secs(60);
}

/// What a tuning run is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Building and ranking the configs.
    Ranking,
    /// Checking and timing candidates.
    Screening,
    /// Timing the best again, in turn with the default.
    Confirming,
}

/// Where a tuning run stands.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// What it is at.
    pub stage: Stage,
    /// Between 0 and 1.
    pub fraction: f64,
    /// Configs decided so far, by measurement, rejection or an earlier run.
    pub decided: usize,
    /// Configs of the space.
    pub of: usize,
    /// The fastest right config so far, and its seconds.
    pub best: Option<(&'a Config, f64)>,
}
