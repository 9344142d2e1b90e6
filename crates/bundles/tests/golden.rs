//! The golden listings: read without remainder, executed exactly, timed as libtpu's own estimator times them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{GOLDEN, golden};
use tilewright_bundles::exec::{Inputs, execute};
use tilewright_bundles::observe::{Observer, Scalars};
use tilewright_bundles::ops::Slot;
use tilewright_bundles::program::{Placement, Program, Shadow};
use tilewright_bundles::timing::{Lift, Model};
use tilewright_bundles::{Options, parse, simulate};
use tilewright_diag::Result;

#[test]
fn nothing_in_them_is_unknown() {
    for (file, chip, ..) in GOLDEN {
        let l = parse(golden(file), file, chip).unwrap();
        assert!(l.unknown.is_empty(), "{file}: {:?}", l.unknown);
        assert!(l.unknown_notes.is_empty(), "{file}: {:?}", l.unknown_notes);
        assert!(l.hlo.is_some(), "{file}");
    }
}

#[test]
fn the_vendor_model_is_within_half_a_percent_of_the_estimate() {
    for (file, chip, estimate, ..) in GOLDEN {
        let l = parse(golden(file), file, chip).unwrap();
        let r = simulate(&l, &Options::new(Model::Vendor)).unwrap();
        let error = r.cycles as f64 / estimate as f64 - 1.0;
        assert!(
            error.abs() < 0.005,
            "{file}: {} cycles, estimate {estimate}, {:.2} %",
            r.cycles,
            error * 100.0
        );
    }
}

#[test]
fn traffic_is_exact_and_checks_hold() {
    for (file, chip, _, read, written) in GOLDEN {
        let l = parse(golden(file), file, chip).unwrap();
        for model in [Model::Vendor, Model::Calibrated] {
            let r = simulate(&l, &Options::new(model)).unwrap();
            assert_eq!((r.outcome.hbm_read, r.outcome.hbm_written), (read, written), "{file} {model:?}");
            assert_eq!(r.outcome.failed_checks, 0, "{file} {model:?}");
            assert_eq!((r.underflows, r.waits_for_nothing), (0, 0), "{file} {model:?}");
            assert_eq!(r.outcome.assumptions, [], "{file} {model:?}");
        }
    }
}

#[test]
fn stalls_and_issue_add_up_in_total_and_by_bundle() {
    for (file, chip, ..) in GOLDEN {
        let l = parse(golden(file), file, chip).unwrap();
        let r = simulate(&l, &Options::new(Model::Calibrated)).unwrap();
        let stalled: u64 = r.stalls.iter().map(|s| s.1).sum();
        assert_eq!(r.issue_cycles + stalled, r.cycles, "{file}");
        let by_bundle: u64 = r.bundle_stalls.iter().flatten().sum();
        assert_eq!(by_bundle, stalled, "{file}");
        assert_eq!(r.outcome.counts.iter().sum::<u64>(), r.outcome.bundles, "{file}");
    }
}

#[test]
fn fast_forwarding_changes_nothing() {
    for (file, chip, ..) in GOLDEN {
        let l = parse(golden(file), file, chip).unwrap();
        for model in [Model::Vendor, Model::Calibrated] {
            let mut options = Options::new(model);
            let mut fast = simulate(&l, &options).unwrap();
            options.fast_forward = false;
            let slow = simulate(&l, &options).unwrap();
            assert!(fast.simulated_bundles <= slow.simulated_bundles);
            fast.simulated_bundles = slow.simulated_bundles;
            assert_eq!(fast, slow, "{file} {model:?}");
        }
    }
}

#[test]
fn lifting_a_constraint_never_costs() {
    for (file, chip, ..) in GOLDEN {
        let l = parse(golden(file), file, chip).unwrap();
        let cycles = |lifts: &[Lift]| {
            let mut options = Options::new(Model::Calibrated);
            options.lifts = lifts.to_vec();
            simulate(&l, &options).unwrap().cycles
        };
        let base = cycles(&[]);
        let lifts = [
            Lift::DmaBandwidth,
            Lift::DmaLatency,
            Lift::Spills,
            Lift::OperandLatency,
            Lift::ScalarLatency,
            Lift::VectorLatency,
            Lift::MatrixOccupancy,
            Lift::MatrixLatency,
            Lift::Transpose,
            Lift::CrossLane,
            Lift::Transcendental,
        ];
        for lift in lifts.into_iter().chain(Slot::ALL.map(Lift::ExtraSlot)) {
            assert!(cycles(&[lift]) <= base, "{file} {lift:?}");
        }
        let operands = cycles(&[Lift::OperandLatency]);
        assert_eq!(cycles(&[Lift::ScalarLatency, Lift::VectorLatency]), operands, "{file}");
        let free = cycles(&[Lift::DmaBandwidth, Lift::DmaLatency]);
        assert!(free < base, "{file}: {free} without transfers, {base} with");
    }
}

struct Everything {
    counts: Vec<u64>,
    transfers: u64,
}

impl Observer for Everything {
    const EVERY_BUNDLE: bool = true;

    fn bundle(&mut self, bundle: u32, _: Scalars<'_>) -> Result<()> {
        self.counts[bundle as usize] += 1;
        Ok(())
    }

    fn transfer(&mut self, started: tilewright_bundles::observe::Started<'_>) -> Result<()> {
        assert!(started.granules > 0);
        self.transfers += 1;
        Ok(())
    }
}

#[test]
fn an_observer_of_every_bundle_sees_what_was_executed() {
    for (file, chip, ..) in GOLDEN {
        let l = parse(golden(file), file, chip).unwrap();
        for shadow in [Shadow::Fixed(4), Shadow::Marks] {
            let p = Program::new(&l, shadow, &Placement::default()).unwrap();
            let mut all = Everything { counts: vec![0; l.bundles.len()], transfers: 0 };
            let out = execute(&l, &p, &Inputs::unknown(1_000_000), &mut all).unwrap();
            assert_eq!(out.counts, all.counts, "{file} {shadow:?}");
            assert_eq!(out.transfers, all.transfers, "{file} {shadow:?}");
        }
    }
}
