//! Simulates folders of dumps as whole programs: `whole CHIP FOLDER…`.
#![allow(clippy::print_stdout, missing_docs, reason = "an example")]

use std::path::Path;

use tilewright_bundles::timing::Model;
use tilewright_bundles::{Options, whole};
use tilewright_hw::Chip;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((chip, folders)) = args.split_first() else {
        println!("usage: whole CHIP FOLDER…");
        return;
    };
    let Ok(chip) = Chip::parse(chip) else { return };
    for folder in folders {
        match whole::simulate_folder(Path::new(folder), chip, &Options::new(Model::Calibrated)) {
            Ok(w) => {
                println!("{folder}: {} cycles, {} transfers of the top level", w.cycles, w.top_transfers);
                for p in w.parts {
                    match (p.report, p.fault) {
                        (Some(r), _) => println!("  {:>6} × {:>10} {}", p.calls, r.cycles, p.name),
                        (None, Some(e)) => {
                            println!("  {:>6} × {} {}: {}", p.calls, p.name, e.code, e.message)
                        }
                        (None, None) => {}
                    }
                }
            }
            Err(e) => println!("{folder}: {e}"),
        }
    }
}
