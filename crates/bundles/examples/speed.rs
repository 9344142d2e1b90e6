//! How fast a listing is read and simulated, with and without fast-forwarding: `speed LISTING CHIP`.
#![allow(clippy::print_stdout, missing_docs, reason = "an example")]

use std::time::Instant;

use tilewright_bundles::timing::Model;
use tilewright_bundles::{Options, parse, simulate};
use tilewright_hw::Chip;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, chip] = args.as_slice() else {
        println!("usage: speed LISTING CHIP");
        return;
    };
    let Ok(chip) = Chip::parse(chip) else { return };
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let bytes = text.len();
    let start = Instant::now();
    let listing = match parse(text, file, chip) {
        Ok(l) => l,
        Err(e) => {
            println!("{e}");
            return;
        }
    };
    println!("read {bytes} bytes at {:.0} MB/s", bytes as f64 / start.elapsed().as_secs_f64() / 1e6);
    for model in [Model::Vendor, Model::Calibrated] {
        for fast_forward in [false, true] {
            let mut options = Options::new(model);
            options.fast_forward = fast_forward;
            let start = Instant::now();
            match simulate(&listing, &options) {
                Ok(r) => {
                    let seconds = start.elapsed().as_secs_f64();
                    println!(
                        "{model:?}, fast-forward {fast_forward}: {} cycles, {} bundles ({} one by one) in {seconds:.3} s, {:.1} M/s",
                        r.cycles,
                        r.outcome.bundles,
                        r.simulated_bundles,
                        r.outcome.bundles as f64 / seconds / 1e6
                    );
                }
                Err(e) => println!("{e}"),
            }
        }
    }
}
