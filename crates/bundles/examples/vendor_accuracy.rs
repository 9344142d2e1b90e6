//! The `vendor` model beside the compiler's own estimates: `vendor_accuracy DUMPS_FOLDER ESTIMATES.csv`, where
//! `DUMPS_FOLDER/PROGRAM.CHIP` holds the dump of each program.
#![allow(clippy::print_stdout, reason = "an example")]

use std::path::Path;
use std::time::Instant;

use tilewright_bundles::exec::{Inputs, execute};
use tilewright_bundles::parse;
use tilewright_bundles::program::{Placement, Program};
use tilewright_bundles::timing::{Model, Params, Simulator};
use tilewright_diag::Result;
use tilewright_hw::Chip;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [dumps, csv] = words.as_slice() else { return Ok(()) };
    let (mut errors, mut bundles, start) = (Vec::new(), 0, Instant::now());
    for line in std::fs::read_to_string(csv).unwrap_or_default().lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let [program, chip, op, estimate, "ok"] = fields.as_slice() else { continue };
        let estimate: f64 = estimate.parse().unwrap_or(0.0);
        let tables = *program == "splash_attention_fwd" || (*program == "megablox_gmm" && *op == "name.5");
        if estimate <= 900.0 || tables {
            continue;
        }
        let Some(text) = listing(&Path::new(dumps).join(format!("{program}.{chip}")), op) else { continue };
        match cycles(text, Chip::parse(chip)?) {
            Ok((cycles, n)) => {
                let error = cycles / estimate - 1.0;
                bundles += n;
                errors.push(error.abs());
                println!(
                    "{program:40} {chip:6} {op:28} {cycles:>12.0} {estimate:>12.0} {:+7.2} %",
                    error * 100.0
                );
            }
            Err(d) => println!("{program:40} {chip:6} {op:28} {d}"),
        }
    }
    let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    let worst = errors.iter().copied().fold(0.0, f64::max);
    let rate = bundles as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!(
        "{} rows: mean |error| {:.2} %, worst {:.2} %; {rate:.1} million bundles/s",
        errors.len(),
        mean * 100.0,
        worst * 100.0
    );
    Ok(())
}

fn listing(folder: &Path, op: &str) -> Option<String> {
    let names = std::fs::read_dir(folder).ok()?.filter_map(|e| Some((e.ok()?.path(),)));
    let is = |name: &str| {
        name.strip_suffix("-final_bundles.txt")
            .and_then(|n| n.rsplit_once('-'))
            .and_then(|(n, _)| n.split_once('-'))
            .is_some_and(|(_, n)| n == op)
            && !name.contains("schedule-analysis")
    };
    let found = names.map(|(p,)| p).find(|p| p.file_name().and_then(|n| n.to_str()).is_some_and(is))?;
    std::fs::read_to_string(found).ok()
}

fn cycles(text: String, chip: Chip) -> Result<(f64, u64)> {
    let listing = parse(text, "listing", chip)?;
    let params = Params::new(chip, Model::Vendor, &[])?;
    let program = Program::new(&listing, params.shadow, &Placement::default())?;
    let mut clock = Simulator::new(&listing, &program, &params);
    let outcome = execute(&listing, &program, &Inputs::unknown(200_000_000), &mut clock)?;
    let operands = program.operands.iter().filter(|o| o.space.is_empty()).count() as u64;
    Ok(((clock.totals().cycles + operands * params.call_operand) as f64, outcome.bundles))
}
