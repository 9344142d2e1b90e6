//! What the constants of a program change: `constants CHIP FOLDER OP [INDEX=WORD,WORD,…]…` simulates an op of a dump with
//! its scalar tables unknown, and with those that the program's HLO states and the given ones.
#![allow(clippy::print_stdout, missing_docs, reason = "an example")]

use std::path::Path;

use tilewright_bundles::folder::listings;
use tilewright_bundles::timing::Model;
use tilewright_bundles::{Options, simulate};
use tilewright_diag::{Diagnostic, Result};
use tilewright_hw::Chip;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [chip, folder, op, given @ ..] = words.as_slice() else {
        return Err(Diagnostic::request("cli/usage", "constants CHIP FOLDER OP [INDEX=WORD,…]…"));
    };
    let fault = |e: std::io::Error| Diagnostic::request("cli/file", e.to_string());
    let folder = Path::new(folder);
    let mut module = None;
    for entry in std::fs::read_dir(folder).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        if path.to_string_lossy().ends_with("-TLP-hlo.txt") {
            let text = std::fs::read_to_string(&path).map_err(fault)?;
            module = Some(tilewright_hlo::parse(&text, &path.to_string_lossy())?);
        }
    }
    let none = || Diagnostic::request("cli/file", format!("no module or no listing of `{op}`"));
    let module = module.ok_or_else(none)?;
    let (computation, instruction) = module.find(op).ok_or_else(none)?;
    let mut known = module.constant_operands(computation, instruction);
    for text in given {
        let (index, list) = text.split_once('=').ok_or_else(none)?;
        let words: Vec<u32> = list.split(',').filter_map(|w| w.parse().ok()).collect();
        known.insert(index.parse().map_err(|_| none())?, words);
    }
    println!("constants: operands {:?}", known.keys().collect::<Vec<_>>());
    let entry = listings(folder)?.into_iter().find(|e| e.name == *op).ok_or_else(none)?;
    let listing = entry.read(Chip::parse(chip)?)?;
    for model in [Model::Vendor, Model::Calibrated] {
        for given in [false, true] {
            let mut options = Options::new(model);
            if given {
                known.iter().for_each(|(index, words)| options.inputs.give(*index, words.clone()));
            }
            options.inputs.limit = 100_000_000;
            match simulate(&listing, &options) {
                Ok(r) => println!(
                    "{model:?} {} cycles {} bundles {} matrix FLOP {:.4e} HBM read {} written {} assumed branches {} assumed {} failed checks {}",
                    if given { "known  " } else { "unknown" },
                    r.cycles,
                    r.outcome.bundles,
                    r.matrix_flops as f64,
                    r.outcome.hbm_read,
                    r.outcome.hbm_written,
                    r.outcome.assumed_branches,
                    r.outcome.assumptions.iter().map(|a| a.count).sum::<u64>(),
                    r.outcome.certain_failed_checks,
                ),
                Err(d) => println!("{model:?}: {d}"),
            }
        }
    }
    Ok(())
}
