//! What each constraint's removal would save.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use tilewright_bundles::exec::Inputs;
use tilewright_bundles::timing::Lift;

use crate::context::Context;
use crate::cost;
use crate::report::Saving;
use crate::timeline::{Ran, Simulated};

/// A removal that saves less than this share is not called a limit.
pub const LIMITS: f64 = 0.01;

/// What an op of each listing would save without each constraint. Copies beside it are left out: they differ from call to
/// call, and the constraint is the op's.
pub struct Savings(BTreeMap<String, Vec<(Inputs, Vec<Saving>)>>);

impl Savings {
    /// Simulates each op again, as often as there are constraints.
    pub fn of(ran: &[Ran], context: &Context<'_>) -> Savings {
        let mut all: Vec<&Arc<Simulated>> = Vec::new();
        for s in ran.iter().filter_map(|r| r.simulated.as_ref()) {
            match all.iter_mut().find(|a| a.listing.file == s.listing.file && a.inputs == s.inputs) {
                // One that ran alone needs not run again.
                Some(a) if s.flying.is_empty() => *a = s,
                Some(_) => {}
                None => all.push(s),
            }
        }
        let savings: Vec<Vec<Saving>> = all.par_iter().map(|s| savings_of(s, context)).collect();
        let mut by_file: BTreeMap<String, Vec<(Inputs, Vec<Saving>)>> = BTreeMap::new();
        for (s, savings) in all.into_iter().zip(savings) {
            by_file.entry(s.listing.file.clone()).or_default().push((s.inputs.clone(), savings));
        }
        Savings(by_file)
    }

    /// What an op would save, in the order of the constraints.
    pub fn get(&self, simulated: &Simulated) -> &[Saving] {
        let known = self.0.get(&simulated.listing.file).map_or(&[][..], Vec::as_slice);
        known.iter().find(|(inputs, _)| *inputs == simulated.inputs).map_or(&[], |(_, s)| s.as_slice())
    }
}

fn savings_of(simulated: &Simulated, context: &Context<'_>) -> Vec<Saving> {
    let Simulated { listing, inputs, flying, report } = simulated;
    let run = |lifts: &[Lift]| cost::of(listing, context.model, lifts, inputs, &[]).ok();
    let alone = if flying.is_empty() { None } else { run(&[]) };
    let report = alone.as_ref().unwrap_or(report);
    let without = |(of, lifts): &(&'static str, &[Lift])| {
        let cycles = report.cycles.saturating_sub(run(lifts)?.cycles) as f64;
        Some(Saving { of, cycles, share: cycles / report.cycles.max(1) as f64, bound: false })
    };
    let mut savings: Vec<Saving> = cost::CONSTRAINTS.par_iter().filter_map(without).collect();
    if savings.iter().all(|s| s.share < LIMITS)
        && let Some((of, share)) = cost::crowded(report)
    {
        savings.retain(|s| s.of != of);
        savings.push(Saving { of, cycles: share * report.cycles as f64, share, bound: true });
    }
    savings
}
