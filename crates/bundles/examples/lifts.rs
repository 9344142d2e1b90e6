//! What each constraint costs the ops of dumps: `lifts FOLDER… ` with folders `PROGRAM.CHIP`. Says so where taking one away
//! makes an op slower.
#![allow(clippy::print_stdout, missing_docs, reason = "an example")]

use std::path::PathBuf;

use tilewright_bundles::folder::listings;
use tilewright_bundles::ops::Slot;
use tilewright_bundles::timing::{Lift, Model};
use tilewright_bundles::{Options, simulate};
use tilewright_hw::Chip;

const LIFTS: [Lift; 11] = [
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

fn main() {
    for folder in std::env::args().skip(1).map(PathBuf::from) {
        let name = folder.file_name().and_then(|n| n.to_str()).unwrap_or("").to_owned();
        let Ok(chip) = Chip::parse(name.rsplit('.').next().unwrap_or("")) else { continue };
        for entry in listings(&folder).unwrap_or_default() {
            let Ok(listing) = entry.read(chip) else { continue };
            let cycles = |lifts: &[Lift]| {
                let mut options = Options::new(Model::Calibrated);
                options.lifts = lifts.to_vec();
                options.inputs.limit = 50_000_000;
                simulate(&listing, &options).map(|r| r.cycles).ok()
            };
            let Some(base) = cycles(&[]).filter(|c| *c > 2_000) else { continue };
            let mut line = format!("{name} {} {base}:", entry.name);
            for lift in LIFTS.into_iter().chain(Slot::ALL.map(Lift::ExtraSlot)) {
                let saved = base as f64 - cycles(&[lift]).unwrap_or(base) as f64;
                let part = 100.0 * saved / base as f64;
                if saved < 0.0 {
                    line += &format!(" SLOWER {lift:?} {part:.3} %");
                } else if part >= 0.5 {
                    line += &format!(" {lift:?} {part:.1} %");
                }
            }
            println!("{line}");
        }
    }
}
