//! What one execution of an op's listing costs.

use std::collections::BTreeMap;

use tilewright_bundles::listing::Listing;
use tilewright_bundles::ops::Slot;
use tilewright_bundles::timing::{Lift, Model};
use tilewright_bundles::{Options, Report, simulate};
use tilewright_diag::Result;

/// Bundles after which an execution is given up: values that no text tells may keep a loop from ending.
const LIMIT: u64 = 400_000_000;

/// Classes of slots and their names, as constraints.
pub const SLOTS: [(&str, Slot); 6] = [
    ("load slots", Slot::Vload),
    ("store slots", Slot::Vstore),
    ("vector slots", Slot::Valu),
    ("scalar slots", Slot::Salu),
    ("transcendental slots", Slot::Eup),
    ("cross-lane slots", Slot::Xlu),
];

/// Times one execution, with constraints lifted.
///
/// # Errors
/// `tpu/…`: what cannot be executed, with the line; loops that do not end.
pub fn of(listing: &Listing, model: Model, lifts: &[Lift]) -> Result<Report> {
    let mut options = Options::new(model);
    options.lifts = lifts.to_vec();
    options.inputs.limit = LIMIT;
    simulate(listing, &options)
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
