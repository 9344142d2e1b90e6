//! Compares executed bundles with the vendor's unrolled traces: `unrolled COUNTS.csv FOLDER`, where the rows are
//! `program,chip,op,bundles` and the listings lie in `FOLDER/PROGRAM.CHIP`. Prints the table as CSV.
#![allow(clippy::print_stdout, missing_docs, reason = "an example")]

use std::path::Path;

use tilewright_bundles::exec::{Inputs, execute};
use tilewright_bundles::folder::listings;
use tilewright_bundles::observe::Nothing;
use tilewright_bundles::program::{Placement, Program, Shadow};
use tilewright_diag::{Diagnostic, Result};
use tilewright_hw::Chip;

/// What libtpu's estimator takes an unknown scalar to be.
const UNKNOWN: u32 = 42;

fn main() -> Result<()> {
    let usage = || Diagnostic::request("cli/usage", "unrolled COUNTS.csv FOLDER");
    let mut words = std::env::args().skip(1);
    let (counts, folder) = (words.next().ok_or_else(usage)?, words.next().ok_or_else(usage)?);
    let counts =
        std::fs::read_to_string(counts).map_err(|e| Diagnostic::request("cli/file", e.to_string()))?;
    let (mut rows, mut equal) = (0, 0);
    println!("program,chip,op,listed,unrolled,executed");
    for row in counts.lines() {
        let cells: Vec<&str> = row.split(',').collect();
        let [program, chip, op, unrolled] = cells.as_slice() else { continue };
        let chip = Chip::parse(chip)?;
        let folder = Path::new(&folder).join(format!("{program}.{}", chip.name()));
        let Some(entry) = listings(&folder)?.into_iter().find(|e| e.name == *op) else { continue };
        let listing = entry.read(chip)?;
        let ready = Program::new(&listing, Shadow::Fixed(4), &Placement::default())?;
        let inputs = Inputs { default: UNKNOWN, ..Inputs::unknown(1_000_000_000) };
        let executed = execute(&listing, &ready, &inputs, &mut Nothing)?.bundles;
        println!("{program},{},{op},{},{unrolled},{executed}", chip.name(), listing.bundles.len());
        rows += 1;
        equal += usize::from(unrolled.parse() == Ok(executed));
    }
    eprintln!("{equal} of {rows} equal");
    Ok(())
}
