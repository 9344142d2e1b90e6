//! What a config costs on this machine, estimated before anything is compiled.
//!
//! The tile program is read as loops over arithmetic and traffic ([`walk`]); caches turn its accesses into bytes at each
//! level ([`traffic`]); the measured [`Ceilings`] turn both into seconds. Arithmetic overlaps with transfers, transfers
//! between levels follow one another: the execution-cache-memory model of Stengel, Treibig, Hager and Wellein,
//! "Quantifying performance bottlenecks of stencil computations using the execution-cache-memory model" (2015).
//!
//! The result ranks configs; it is an estimate, and everything that shows it says so.

mod traffic;
mod walk;

use serde::Serialize;
use tilewright_ir::{Kernel, Program, Role};
use tilewright_kernels::Work;
use tilewright_measure::ceilings::{Ceilings, PeakClass, Rate};
use tilewright_target_cpu::features::CpuFeatures;

use walk::Core;

/// What a launch costs each kernel of a program beside its work, in seconds.
const LAUNCH: f64 = 2e-6;

/// The share of a cache that a working set may take and still be found there: the ceilings of a level are measured with
/// working sets of half its capacity too.
const HELD: f64 = 0.5;

/// A machine as the estimates see it.
#[derive(Clone, Debug)]
pub struct Model {
    core: Core,
    threads: usize,
    levels: Vec<Level>,
}

/// One level of memory, for one of the threads that share it.
#[derive(Clone, Debug)]
struct Level {
    name: String,
    /// Bytes that it holds; infinite for memory.
    holds: f64,
    /// Bytes per second.
    rate: f64,
}

/// What a program is estimated to cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Seconds of one run.
    pub seconds: f64,
    /// Seconds of arithmetic on the thread that has the most.
    pub arithmetic: f64,
    /// Seconds of transfers from each level of memory on that thread, nearest level first.
    pub transfers: Vec<(String, f64)>,
    /// The problem's necessary FLOP over those that the program issues, tails and padding included; 1 for a program
    /// without `dot`.
    pub useful: f64,
    /// Grid cells of a thread on average over those of the thread that has the most.
    pub balance: f64,
}

impl Model {
    /// The machine of `ceilings`, running code for `features` on `threads` threads.
    pub fn new(ceilings: &Ceilings, features: CpuFeatures, threads: usize) -> Model {
        let threads = threads.max(1);
        let host = &ceilings.host;
        let levels = ceilings.levels.iter().enumerate().map(|(i, level)| Level {
            name: level.name.clone(),
            holds: host.caches.get(i).map_or(f64::INFINITY, |cache| {
                HELD * host.capacity(cache, threads) as f64 / threads.min(host.threads.max(1)) as f64
            }),
            rate: each(level.read_one, level.read_all, threads, host.threads),
        });
        let peak = |class| ceilings.peak(class, 1).map(|rate| rate.median);
        Model { core: Core::new(features, peak), threads, levels: levels.collect() }
    }

    /// What `program`, whose necessary work is `work`, costs.
    pub fn estimate(&self, program: &Program, work: &Work) -> Estimate {
        let mut total = Estimate {
            seconds: 0.0,
            arithmetic: 0.0,
            transfers: self.levels.iter().map(|l| (l.name.clone(), 0.0)).collect(),
            useful: 1.0,
            balance: 1.0,
        };
        let (mut cells, mut most, mut issued) = (0.0, 0.0, 0.0);
        for kernel in &program.kernels {
            let share = share(kernel, self.threads);
            let (nodes, flops) = walk::kernel(kernel, &self.core, share);
            let arithmetic = traffic::slots(&nodes) / self.core.rate;
            let mut transfers = 0.0;
            let mut held = 0.0;
            for (level, (_, sum)) in self.levels.iter().zip(&mut total.transfers) {
                let seconds = traffic::bytes(&nodes, held) / level.rate;
                *sum += seconds;
                transfers += seconds;
                held = level.holds;
            }
            total.arithmetic += arithmetic;
            total.seconds += LAUNCH + arithmetic.max(transfers);
            cells += kernel.cells() as f64 / self.threads as f64;
            most += share as f64;
            issued += flops * kernel.cells() as f64;
        }
        if issued > 0.0 {
            total.useful = (work.flops / issued).min(1.0);
        }
        total.balance = if most > 0.0 { (cells / most).min(1.0) } else { 1.0 };
        total
    }
}

impl Default for Estimate {
    fn default() -> Self {
        Estimate { seconds: 0.0, arithmetic: 0.0, transfers: Vec::new(), useful: 1.0, balance: 1.0 }
    }
}

/// The rate of one of `threads` threads, from those of one alone and of all `most` together.
fn each(one: Rate, all: Rate, threads: usize, most: usize) -> f64 {
    if threads <= 1 { one.median } else { one.median.min(all.median / threads.min(most.max(1)) as f64) }
}

/// Cells of the thread that has the most, as a launch hands them out: contiguous ranges, one for each thread, or eight
/// where each thread has eight cells or more; all on one thread where cells combine what they write.
fn share(kernel: &Kernel, threads: usize) -> usize {
    let cells = kernel.cells();
    let serial = kernel.operands.iter().any(|o| matches!(o.role, Role::Output { combine: Some(_) }));
    if threads <= 1 || serial {
        return cells;
    }
    if cells < 8 * threads {
        return cells.div_ceil(threads);
    }
    let chunk = cells.div_ceil(8 * threads);
    (cells.div_ceil(chunk).div_ceil(threads) * chunk).min(cells)
}

/// The class of arithmetic that a register's worth of operands is multiplied by.
fn class_of(unit: tilewright_target_cpu::micro::Unit) -> PeakClass {
    use tilewright_target_cpu::micro::Unit;
    match unit {
        Unit::F32 | Unit::I16x2 => PeakClass::F32,
        Unit::Bf16x2 => PeakClass::Bf16,
        Unit::I8x4 => PeakClass::I8,
    }
}

#[cfg(test)]
mod tests;
