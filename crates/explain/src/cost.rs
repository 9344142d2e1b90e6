//! One op's listing, executed and timed.

use std::collections::BTreeMap;

use tilewright_bundles::exec::{Inputs, execute};
use tilewright_bundles::listing::Listing;
use tilewright_bundles::ops::Slot;
use tilewright_bundles::parse;
use tilewright_bundles::program::{Placement, Program};
use tilewright_bundles::timing::{Cause, Lift, Model, Params, Simulator};
use tilewright_diag::Result;
use tilewright_hw::{Chip, Machine};

/// Bundles after which an execution is given up: values that no text tells may keep a loop from ending.
const LIMIT: u64 = 60_000_000;

/// What one execution costs.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// Cycles.
    pub cycles: f64,
    /// Bundles executed.
    pub bundles: u64,
    /// Of these, empty ones.
    pub empty: u64,
    /// Operations of each class of slots, over what a bundle holds of it: the cycles that they need at least.
    pub units: BTreeMap<&'static str, f64>,
    /// Cycles without an issue, by cause.
    pub stalls: BTreeMap<&'static str, f64>,
    /// Bytes between HBM and the core.
    pub hbm_bytes: f64,
    /// FLOP of the matrix units, padding included.
    pub flops: f64,
    /// Vector spill stores and reloads.
    pub spills: u64,
    /// Values taken for granted.
    pub assumptions: Vec<String>,
    /// Branches that such values decided.
    pub assumed_branches: u64,
}

/// Classes of slots and their names.
pub const SLOTS: [(&str, Slot); 6] = [
    ("load slots", Slot::Vload),
    ("store slots", Slot::Vstore),
    ("vector slots", Slot::Valu),
    ("scalar slots", Slot::Salu),
    ("transcendental slots", Slot::Eup),
    ("cross-lane slots", Slot::Xlu),
];

/// Reads the listing of an op.
///
/// # Errors
/// Those of reading: `tpu/…`, with the line.
pub fn read(file: &str, text: &str, chip: Chip) -> Result<Listing> {
    parse(text.to_string(), file, chip)
}

/// Times one execution, with constraints lifted.
///
/// # Errors
/// `tpu/…`: what cannot be executed, with the line; loops that do not end.
pub fn of(listing: &Listing, model: Model, lifts: &[Lift]) -> Result<Cost> {
    let params = Params::new(listing.chip, model, lifts)?;
    let machine = Machine::of(listing.chip)?;
    let program = Program::new(listing, params.shadow, &Placement::default())?;
    let mut clock = Simulator::new(listing, &program, &params);
    let outcome = execute(listing, &program, &Inputs::unknown(LIMIT), &mut clock)?;
    let totals = clock.totals();
    let operands = program.operands.iter().filter(|o| o.space.is_empty()).count() as u64;
    let capacity = &machine.slots;
    let per_bundle = [
        (Slot::Matmul, capacity.matmul.value),
        (Slot::Matpush, capacity.matpush.value),
        (Slot::Xlu, capacity.xlu.value),
        (Slot::Valu, capacity.valu.value),
        (Slot::Vpop, capacity.vpop.value),
        (Slot::Eup, capacity.eup.value),
        (Slot::Vload, capacity.vload.value),
        (Slot::Vstore, capacity.vstore.value),
        (Slot::Salu, capacity.salu.value),
    ];
    // A vector register holds 8 rows of 32 bits, 16 of bf16, 32 of 8 bits; each row meets a whole matrix unit.
    let side = machine.facts.mxu_size.value;
    let rows = totals.multiplies.iter().zip([32.0, 16.0, 8.0]).map(|(n, rows)| *n as f64 * rows).sum::<f64>();
    Ok(Cost {
        cycles: (totals.cycles + operands * params.call_operand) as f64,
        bundles: outcome.bundles,
        empty: totals.empty,
        units: per_bundle
            .into_iter()
            .map(|(slot, n)| (slot.name(), totals.slots[slot as usize] as f64 / n.max(1.0)))
            .collect(),
        stalls: Cause::ALL
            .iter()
            .zip(totals.stalls)
            .filter(|(_, n)| *n > 0)
            .map(|(c, n)| (c.name(), n as f64))
            .collect(),
        hbm_bytes: (outcome.hbm_read + outcome.hbm_written) as f64,
        flops: 2.0 * rows * side * side,
        spills: totals.spills[0] + totals.spills[1],
        assumed_branches: outcome.assumed_branches,
        assumptions: outcome.assumptions.iter().map(|a| format!("{} ({} times)", a.what, a.count)).collect(),
    })
}
