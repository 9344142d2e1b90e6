//! A small program's listings for three chips: read, executed, timed, cut and bent.
#![allow(clippy::unwrap_used, reason = "a test stops at its first fault")]

use proptest::prelude::*;
use tilewright_bundles::exec::{Inputs, Outcome, execute};
use tilewright_bundles::observe::Nothing;
use tilewright_bundles::parse;
use tilewright_bundles::program::{Placement, Program, Shadow};
use tilewright_bundles::timing::{Lift, Model, Params, Simulator, Totals};
use tilewright_diag::Result;
use tilewright_hw::Chip;

/// `x + y` of f32[256,256], as libtpu 0.0.52 compiles it.
const ADD: [(Chip, &str); 3] = [
    (Chip::V5e, include_str!("listings/add_256x256.v5e.txt")),
    (Chip::V6e, include_str!("listings/add_256x256.v6e.txt")),
    (Chip::Tpu7x, include_str!("listings/add_256x256.tpu7x.txt")),
];

fn timed(text: &str, chip: Chip, model: Model, lifts: &[Lift]) -> Result<(Outcome, Totals)> {
    let listing = parse(text.to_string(), "add.txt", chip)?;
    let params = Params::new(chip, model, lifts)?;
    let program = Program::new(&listing, params.shadow, &Placement::default())?;
    let mut clock = Simulator::new(&listing, &program, &params);
    let outcome = execute(&listing, &program, &Inputs::unknown(1 << 20), &mut clock)?;
    Ok((outcome, clock.totals()))
}

#[test]
fn every_op_is_known_and_all_data_moves_once() {
    for (chip, text) in ADD {
        let listing = parse(text.to_string(), "add.txt", chip).unwrap();
        assert!(
            listing.unknown.is_empty() && listing.unknown_notes.is_empty(),
            "{chip:?}: {:?}",
            listing.unknown
        );
        let (outcome, totals) = timed(text, chip, Model::Calibrated, &[]).unwrap();
        let bytes = 256 * 256 * 4;
        assert_eq!((outcome.hbm_read, outcome.hbm_written), (2 * bytes, bytes), "{chip:?}");
        assert_eq!(outcome.certain_failed_checks, 0, "{chip:?}");
        assert!(totals.cycles > outcome.bundles - totals.empty, "{chip:?}: {totals:?}");
        let stalls: u64 = totals.stalls.iter().sum();
        // Every non-empty bundle takes a cycle; the rest of the time is accounted for by cause.
        assert!(totals.cycles - stalls <= outcome.bundles, "{chip:?}: {totals:?}");
    }
}

/// By the estimator's own constants: three transfers of 8192 granules over private pipes, and a few bundles between.
#[test]
fn time_is_what_the_transfers_take() {
    let cycles =
        |chip: usize, lifts: &[Lift]| timed(ADD[chip].1, ADD[chip].0, Model::Vendor, lifts).unwrap().1.cycles;
    for (chip, read, write, granule) in [(0, 1132.7, 438.6, 0.065_177), (1, 545.7, 453.7, 0.041_234)] {
        let transfers = read + write + 2.0 * 8192.0 * granule;
        let all = cycles(chip, &[]) as f64;
        assert!(all > transfers && all < transfers + 400.0, "{all} against {transfers}");
        let free = cycles(chip, &[Lift::DmaBandwidth, Lift::DmaLatency]) as f64;
        assert!(free < 400.0, "{free}");
        assert!(cycles(chip, &[Lift::DmaLatency]) < cycles(chip, &[]));
    }
}

#[test]
fn a_listing_cut_anywhere_is_a_diagnostic_or_shorter() {
    let (chip, text) = ADD[0];
    for at in (0..text.len()).step_by(97).filter(|at| text.is_char_boundary(*at)) {
        if let Err(d) = timed(&text[..at], chip, Model::Calibrated, &[]) {
            assert_eq!(d.class.exit_status(), 2, "{d}");
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(at in 0..20_000usize, cut in 0..40usize, with in "[ -~]{0,8}") {
        let (chip, text) = ADD[0];
        let bent = format!("{}{with}{}", &text[..at], &text[(at + cut).min(text.len())..]);
        if let Ok(listing) = parse(bent, "add.txt", chip)
            && let Ok(program) = Program::new(&listing, Shadow::Fixed(4), &Placement::default())
        {
            let _ = execute(&listing, &program, &Inputs::unknown(1 << 16), &mut Nothing);
        }
    }
}
