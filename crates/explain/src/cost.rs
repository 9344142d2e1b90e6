//! What one execution of an op's listing costs.

use std::collections::BTreeMap;

use tilewright_bundles::exec::Inputs;
use tilewright_bundles::listing::Listing;
use tilewright_bundles::ops::Slot;
use tilewright_bundles::timing::{Background, Lift, Model};
use tilewright_bundles::{Options, Report, simulate};
use tilewright_diag::{Diagnostic, Result, Span};
use tilewright_hw::Machine;

/// Bundles after which an execution is given up: values that no text tells may keep a loop from ending.
pub const LIMIT: u64 = 400_000_000;

/// Constraints and their names, in the order in which they are tried.
pub const CONSTRAINTS: [(&str, &[Lift]); 17] = [
    ("HBM bandwidth", &[Lift::DmaBandwidth]),
    ("transfer latency", &[Lift::DmaLatency]),
    ("spills", &[Lift::Spills]),
    ("scalar latency", &[Lift::ScalarLatency]),
    ("vector latency", &[Lift::VectorLatency]),
    ("matrix units", &[Lift::MatrixOccupancy]),
    ("matrix results", &[Lift::MatrixLatency]),
    ("transposes", &[Lift::Transpose]),
    ("cross-lane units", &[Lift::CrossLane]),
    ("transcendental latency", &[Lift::Transcendental]),
    (
        "latencies in a chain",
        &[
            Lift::ScalarLatency,
            Lift::VectorLatency,
            Lift::MatrixLatency,
            Lift::Transpose,
            Lift::CrossLane,
            Lift::Transcendental,
        ],
    ),
    ("load slots", &[Lift::ExtraSlot(Slot::Vload)]),
    ("store slots", &[Lift::ExtraSlot(Slot::Vstore)]),
    ("vector slots", &[Lift::ExtraSlot(Slot::Valu)]),
    ("scalar slots", &[Lift::ExtraSlot(Slot::Salu)]),
    ("transcendental slots", &[Lift::ExtraSlot(Slot::Eup)]),
    ("cross-lane slots", &[Lift::ExtraSlot(Slot::Xlu)]),
];

/// A class of slots that is busier than this holds the code up even where no bundle could join its neighbour.
const BUSY: f64 = 0.8;

/// The busiest class of slots, where it is busy enough to be the limit: its name, and the most that one more slot of it
/// could save, as a share of all cycles.
pub fn crowded(report: &Report) -> Option<(&'static str, f64)> {
    let classes = report.units.iter().filter_map(|u| {
        let (name, _) = CONSTRAINTS.iter().find(|(_, lifts)| match lifts {
            [Lift::ExtraSlot(slot)] => slot.name() == u.unit,
            _ => false,
        })?;
        let busy = u.busy as f64 / (report.cycles * u.capacity).max(1) as f64;
        (busy >= BUSY).then(|| (*name, busy / (u.capacity + 1) as f64))
    });
    classes.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Times one execution, with constraints lifted and others' transfers in flight.
///
/// # Errors
/// `tpu/…`: what cannot be executed, with the line; loops that do not end. `tpu/below-floor`: a time that no chip can
/// reach, which is a fault of the model.
pub fn of(
    listing: &Listing,
    model: Model,
    lifts: &[Lift],
    inputs: &Inputs,
    flying: &[Background],
) -> Result<Report> {
    let mut options = Options::new(model);
    options.lifts = lifts.to_vec();
    let default = options.inputs.default;
    options.inputs = Inputs { default, limit: LIMIT, ..inputs.clone() };
    options.flying = flying.to_vec();
    let report = simulate(listing, &options)?;
    if model == Model::Calibrated && lifts.is_empty() {
        let floor = report.floor(Machine::of(listing.chip)?);
        if report.seconds < floor * (1.0 - 1e-6) {
            return Err(Diagnostic::tool(
                "tpu/below-floor",
                format!(
                    "simulated in {:.3e} s, but its work takes {floor:.3e} s at the chip's peaks",
                    report.seconds
                ),
            )
            .at(Span::file(listing.file.clone()))
            .rule(
                "no result lies below the physical floor: this is a fault of the simulator, please report it",
            ));
        }
    }
    Ok(report)
}

/// Busy fraction of each class of slots and units.
pub fn units(report: &Report) -> BTreeMap<&'static str, f64> {
    let fraction = |busy: u64, capacity: u64| busy as f64 / (report.cycles * capacity).max(1) as f64;
    report.units.iter().map(|u| (u.unit, fraction(u.busy, u.capacity))).collect()
}

/// Values taken for granted, in words.
pub fn assumptions(report: &Report) -> Vec<String> {
    report.outcome.assumptions.iter().map(|a| format!("{} ({} times)", a.what, a.count)).collect()
}
