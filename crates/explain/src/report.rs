//! What an explanation says, for people and for programs. Cycles are the core clock's; seconds, bytes, FLOP.

use std::collections::BTreeMap;

use serde::Serialize;

/// A program on one target.
#[derive(Clone, Debug, Serialize)]
pub struct TargetReport {
    /// The target's name.
    pub target: &'static str,
    /// Devices that the program is split over.
    pub devices: usize,
    /// Cycles of one execution, on one core: the sum over its ops.
    pub cycles: f64,
    /// The same by the chip's clock.
    pub seconds: f64,
    /// TensorCores of a chip.
    pub cores: u32,
    /// Seconds of a whole chip an execution: where a chip has two cores that are devices of their own, both at work.
    pub chip_seconds: f64,
    /// Always true: nothing ran.
    pub estimate: bool,
    /// The timing model.
    pub model: &'static str,
    /// The clock, in Hz, and where it is from.
    pub clock: Clock,
    /// The compiler that made the code, where it is known.
    pub compiler: Option<String>,
    /// Ops, the costliest first.
    pub ops: Vec<OpReport>,
    /// The share of the program's cycles that is of ops which could not be simulated.
    pub unaccounted: f64,
    /// What else a reader should know.
    pub notes: Vec<String>,
}

/// A clock.
#[derive(Clone, Debug, Serialize)]
pub struct Clock {
    /// Cycles a second.
    pub hz: f64,
    /// Who says so.
    pub source: String,
}

/// One op of the program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OpReport {
    /// Its name in the optimised HLO.
    pub name: String,
    /// Its opcode; of a fusion or custom call what it is of.
    pub kind: String,
    /// What it yields.
    pub shape: String,
    /// Where its author wrote it.
    pub source: Option<String>,
    /// How often it runs; where that is not known before the run, 1.
    pub count: u64,
    /// Cycles of all its executions; of what runs beside other ops only those in which nothing else ran.
    pub cycles: f64,
    /// The same in seconds.
    pub seconds: f64,
    /// Of the program's cycles.
    pub share: f64,
    /// Seconds that it ran beside other ops, and cost nothing.
    pub hidden_seconds: f64,
    /// FLOP that the matrix units are made to do in all executions, padding included.
    pub flops: f64,
    /// FLOP that the op's shapes ask for in all executions, or that a kernel's author declared; absent where neither says.
    pub useful_flops: Option<f64>,
    /// Bytes moved between HBM and the core in all executions.
    pub hbm_bytes: f64,
    /// What the matrix units did over what they could do in the time.
    pub matrix_fraction: f64,
    /// `hbm_bytes` over what the memory could move in the time.
    pub hbm_fraction: f64,
    /// Vector memory that it holds: its own, and operands and results that stay there.
    pub vmem_bytes: u64,
    /// Bundles executed, all executions.
    pub bundles: u64,
    /// Of these, empty ones.
    pub empty_bundles: u64,
    /// What costs most: the constraint whose removal saves most; absent where no removal alone saves 1 %.
    pub limiter: Option<&'static str>,
    /// The share of the op's cycles that its removal saves; its entry in `savings` says whether that is a bound.
    pub saving: f64,
    /// What each constraint's removal would save, in a simulation without it.
    pub savings: Vec<Saving>,
    /// Busy fraction of each class of slots.
    pub units: BTreeMap<&'static str, f64>,
    /// Cycles in which no bundle could issue, by cause.
    pub stalls: BTreeMap<&'static str, f64>,
    /// Vector registers that went to memory and back: spill stores and reloads executed.
    pub spills: u64,
    /// Data exchanged with other chips.
    pub exchange: Option<Exchange>,
    /// What to change.
    pub advice: Vec<Advice>,
    /// Values that no text tells, with what they were taken for.
    pub assumptions: Vec<String>,
    /// Branches that such values decided: where there are any, the figures may be far off.
    pub assumed_branches: u64,
    /// What its time is, where it is not a simulation of machine code.
    pub time_is: Option<&'static str>,
    /// Why it could not be simulated, where it could not; its cycles are then the bundles of its listing, each once.
    pub fault: Option<String>,
    /// Its hottest bundles, where they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listing: Vec<HotBundle>,
}

/// Data exchanged between chips, of one execution.
#[derive(Clone, Debug, Serialize)]
pub struct Exchange {
    /// `all-reduce`, `all-gather`, …
    pub kind: String,
    /// Devices of a group.
    pub devices: usize,
    /// Bytes of the whole array on one device.
    pub bytes: f64,
    /// Seconds on the links.
    pub seconds: f64,
}

/// A bundle and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct HotBundle {
    /// Its line in the listing.
    pub line: u32,
    /// How often it ran.
    pub count: u64,
    /// Cycles in which it waited, by cause, over all its executions.
    pub stalls: BTreeMap<&'static str, u64>,
    /// Operations of each class of slots that it holds.
    pub slots: BTreeMap<&'static str, u32>,
    /// Its operations, as the compiler prints them.
    pub text: String,
}

impl OpReport {
    /// An op that does nothing yet.
    pub fn named(name: &str) -> OpReport {
        OpReport { name: name.to_string(), count: 1, ..OpReport::default() }
    }
}

/// A constraint and what its removal saves.
#[derive(Clone, Debug, Serialize)]
pub struct Saving {
    /// The constraint.
    pub of: &'static str,
    /// Cycles, all executions.
    pub cycles: f64,
    /// Of the op's cycles.
    pub share: f64,
    /// Whether it is a bound (no removal saves more) and not a simulation without the constraint.
    pub bound: bool,
}

/// A change that would help.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// The change.
    pub text: String,
    /// Share of the op's cycles that it saves at most.
    pub saving: f64,
}
