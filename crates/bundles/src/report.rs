//! The result of a simulation.

use serde::Serialize;
use tilewright_diag::Result;

use crate::exec::{Inputs, Outcome, execute};
use crate::listing::Listing;
use crate::ops::Slot;
use crate::program::{Placement, Program, Source};
use crate::timing::{Background, Cause, Lift, Model, Params, Simulator};
use tilewright_hw::Machine;

/// Work of one slot class or unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Busy {
    /// Its name.
    pub unit: &'static str,
    /// Slots a bundle, or units.
    pub capacity: u64,
    /// Operations executed.
    pub operations: u64,
    /// Cycles of use, over all its slots or units: never more than capacity × cycles.
    pub busy: u64,
}

/// Spills executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spills {
    /// Vector registers stored.
    pub vector_stores: u64,
    /// Vector registers reloaded.
    pub vector_loads: u64,
    /// Scalars stored.
    pub scalar_stores: u64,
    /// Scalars reloaded.
    pub scalar_loads: u64,
}

/// What a program cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Cycles of the core clock.
    pub cycles: u64,
    /// Seconds at the machine's clock.
    pub seconds: f64,
    /// Cycles in which a bundle issued.
    pub issue_cycles: u64,
    /// Stall cycles by cause; with `issue_cycles` they add up to `cycles`.
    pub stalls: Vec<(Cause, u64)>,
    /// Work by slot class and unit.
    pub units: Vec<Busy>,
    /// FLOP of the matrix units on rows of 16 and 32 bits, padding included: a result register holds 8 × 128 sums over a
    /// unit's rows.
    pub matrix_flops: u64,
    /// The same on rows of 8 bits.
    pub matrix_flops_8bit: u64,
    /// Empty bundles executed.
    pub empty_bundles: u64,
    /// Spills executed.
    pub spills: Spills,
    /// Stall cycles of each bundle, in the order of [`Cause::ALL`].
    #[serde(skip)]
    pub bundle_stalls: Vec<[u64; 11]>,
    /// Pops of queues that held nothing (0 in a listing that is understood).
    pub underflows: u64,
    /// Waits on flags that no transfer in flight counts.
    pub waits_for_nothing: u64,
    /// Bundles that were simulated one by one; the rest was fast-forwarded, exactly.
    pub simulated_bundles: u64,
    /// What is left of the transfers that were in flight at the start.
    #[serde(skip)]
    pub flying: Vec<Background>,
    /// What the scalar side did.
    pub outcome: Outcome,
}

/// What libtpu's estimator takes an unknown scalar to be: its critical paths print `smov.u32 42` for operands, and with
/// 42 in every table the grouped matmul of megablox comes within 0.6 % of its estimate on v6e and tpu7x.
const VENDOR_UNKNOWN: u32 = 42;

/// How to simulate.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which timing model.
    pub model: Model,
    /// Constraints to take away.
    pub lifts: Vec<Lift>,
    /// What is known of operands and tables.
    pub inputs: Inputs,
    /// Transfers of others that are in flight at the start, and share the memory.
    pub flying: Vec<Background>,
    /// Whether repeated states are fast-forwarded.
    pub fast_forward: bool,
}

impl Report {
    /// Seconds below which no execution can take: its matrix work at peak, or its traffic at the memory's full bandwidth.
    pub fn floor(&self, machine: &Machine) -> f64 {
        let facts = &machine.facts;
        let bytes = (self.outcome.hbm_read + self.outcome.hbm_written) as f64;
        let matrix = self.matrix_flops as f64 / facts.peak_bf16.value
            + self.matrix_flops_8bit as f64 / facts.peak_8bit.value;
        matrix.max(bytes / facts.hbm_bandwidth.value)
    }
}

impl Options {
    /// A model with every constraint and unknown inputs, at most a billion bundles.
    pub fn new(model: Model) -> Options {
        let mut inputs = Inputs::unknown(1_000_000_000);
        if model == Model::Vendor {
            inputs.default = VENDOR_UNKNOWN;
        }
        Options { model, lifts: Vec::new(), inputs, flying: Vec::new(), fast_forward: true }
    }
}

/// Executes a listing and keeps time.
pub fn simulate(listing: &Listing, options: &Options) -> Result<Report> {
    let params = Params::new(listing.chip, options.model, &options.lifts)?;
    simulate_with(listing, options, params)
}

/// As [`simulate`], with numbers of the caller's.
pub fn simulate_with(listing: &Listing, options: &Options, params: Params) -> Result<Report> {
    let machine = Machine::of(listing.chip)?;
    let program = Program::new(listing, params.shadow, &Placement::default())?;
    let call_operand = params.call_operand;
    let mxus = params.mxus as u64;
    // Where every transfer has the memory to itself, nobody's stand in the way.
    let shared = params.shared && !params.lifted(Lift::DmaBandwidth) && !options.flying.is_empty();
    let mut simulator = Simulator::new(listing, &program, params, options.fast_forward);
    if shared {
        simulator.resume(&options.flying);
    }
    let outcome = execute(listing, &program, &options.inputs, &mut simulator)?;
    let paused = shared.then(|| simulator.pause());
    let simulated_bundles = simulator.simulated;
    let (total, bundle_stalls, items) = simulator.finish();
    let scalars = program.outside.iter().filter(|s| matches!(s, Source::Scalar { .. })).count() as u64;
    let operands = scalars * call_operand;

    let per_result = 2 * 8 * 128 * u64::from(machine.facts.mxu_size.whole());
    let [wide, narrow] = total.matrix_results.map(|n| n * per_result);
    let mut operations = total.guarded;
    let mut spills = Spills::default();
    let mut empty_bundles = 0;
    for (b, count) in outcome.counts.iter().enumerate() {
        for (n, slots) in operations.iter_mut().zip(items.slots.get(b).unwrap_or(&[0; 11])) {
            *n += u64::from(*slots) * count;
        }
        let [vs, vl, ss, sl] = items.spills.get(b).copied().unwrap_or_default().map(|n| u64::from(n) * count);
        spills.vector_stores += vs;
        spills.vector_loads += vl;
        spills.scalar_stores += ss;
        spills.scalar_loads += sl;
        if listing.bundles.get(b).is_some_and(|x| x.instrs.is_empty()) {
            empty_bundles += count;
        }
    }
    let s = &machine.slots;
    let capacity = [&s.matmul, &s.matpush, &s.xlu, &s.valu, &s.vpop, &s.eup, &s.vload, &s.vstore, &s.salu];
    let mut units: Vec<Busy> = Slot::ALL
        .iter()
        .zip(operations)
        .zip(capacity)
        .map(|((slot, operations), capacity)| Busy {
            unit: slot.name(),
            capacity: u64::from(capacity.whole()),
            operations,
            busy: operations,
        })
        .collect();
    for unit in &mut units {
        match unit.unit {
            "matmul" => (unit.capacity, unit.busy) = (mxus, total.matrix_busy),
            "matpush" => (unit.capacity, unit.busy) = (mxus, total.push_busy),
            "xlu" => unit.busy = total.xlu_busy,
            _ => {}
        }
    }
    let mut stalls: Vec<(Cause, u64)> = Cause::ALL.into_iter().zip(total.stalls).collect();
    if let Some(s) = stalls.iter_mut().find(|s| s.0 == Cause::CallOperand) {
        s.1 += operands;
    }
    let cycles = total.cycles + operands;
    let flying = paused.unwrap_or_else(|| options.flying.iter().filter_map(|b| b.aged(cycles)).collect());
    let stalled: u64 = stalls.iter().map(|s| s.1).sum();
    stalls.retain(|s| s.1 > 0);
    Ok(Report {
        cycles,
        seconds: cycles as f64 / machine.facts.clock.value,
        issue_cycles: cycles - stalled,
        stalls,
        units,
        matrix_flops: wide,
        matrix_flops_8bit: narrow,
        empty_bundles,
        spills,
        bundle_stalls,
        underflows: total.underflows,
        waits_for_nothing: total.waits_for_nothing,
        simulated_bundles,
        flying,
        outcome,
    })
}
