//! Holds the `calibrated` timing model to published measurements: `calibrated_accuracy DUMPS_FOLDER CSV [READ_LATENCY]`.
//! A row gives a program and host-timed seconds on a v5e, of which 120 µs are dispatch; rows from 200 µs are judged.
#![allow(clippy::print_stdout, missing_docs, reason = "an example")]

use std::path::Path;

use tilewright_bundles::report::simulate_with;
use tilewright_bundles::timing::{Model, Params};
use tilewright_bundles::{Options, folder};
use tilewright_hw::{Chip, Machine};

const DISPATCH: f64 = 120e-6;
const JUDGED: f64 = 200e-6;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dumps, csv, rest @ ..] = args.as_slice() else {
        println!("usage: calibrated_accuracy DUMPS_FOLDER CSV [READ_LATENCY]");
        return;
    };
    let Ok(machine) = Machine::of(Chip::V5e) else { return };
    let mut timing = machine.calibrated.clone();
    if let Some(latency) = rest.first().and_then(|l| l.parse().ok()) {
        timing.dma.read_latency.value = latency;
    }
    let rows = std::fs::read_to_string(csv).unwrap_or_default();
    println!("{:<40}{:>12}{:>12}{:>9}", "program", "model", "measured", "error");
    for row in rows.lines().filter(|l| !l.starts_with('#')) {
        let columns: Vec<&str> = row.split(',').collect();
        let (Some(program), Some(seconds)) =
            (columns.first(), columns.last().and_then(|s| s.parse::<f64>().ok()))
        else {
            continue;
        };
        let folder = Path::new(dumps).join(format!("{program}.v5e"));
        let found = folder::listings(&folder).unwrap_or_default();
        let Some(entry) = found.iter().find(|e| !e.name.starts_with('<') && e.name != "TLP") else {
            continue;
        };
        let params = Params::from_timing(machine, &timing, &[]);
        let measured = (seconds - DISPATCH) * machine.facts.clock.value;
        let run =
            entry.read(Chip::V5e).and_then(|l| simulate_with(&l, &Options::new(Model::Calibrated), params));
        match run {
            Ok(r) => {
                let judged = if seconds >= JUDGED { "" } else { " (not judged)" };
                let error = (r.cycles as f64 / measured - 1.0) * 100.0;
                let stalls: Vec<String> = r.stalls.iter().map(|(c, n)| format!("{} {n}", c.name())).collect();
                println!(
                    "{program:<40}{:>12}{measured:>12.0}{error:>8.2}%{judged} {}",
                    r.cycles,
                    stalls.join(" ")
                );
            }
            Err(e) => println!("{program:<40} {e}"),
        }
    }
}
