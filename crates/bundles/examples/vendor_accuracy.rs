//! Holds the `vendor` timing model to libtpu's own static estimates:
//! `vendor_accuracy DUMPS_FOLDER CSV [MIN_CYCLES]`.
#![allow(clippy::print_stdout, missing_docs, reason = "an example")]

use std::path::Path;
use std::time::Instant;

use tilewright_bundles::timing::Model;
use tilewright_bundles::{Options, folder, simulate};
use tilewright_hw::Chip;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dumps, csv, rest @ ..] = args.as_slice() else {
        println!("usage: vendor_accuracy DUMPS_FOLDER CSV [MIN_CYCLES]");
        return;
    };
    let least: f64 = rest.first().and_then(|m| m.parse().ok()).unwrap_or(900.0);
    let rows = std::fs::read_to_string(csv).unwrap_or_default();
    let (mut errors, mut missing, mut bundles, mut seconds) = (Vec::new(), 0, 0u64, 0.0);
    println!(
        "{:<42}{:<7}{:<32}{:>11}{:>11}{:>9}{:>8}",
        "program", "chip", "op", "model", "estimate", "error", "cycles"
    );
    for row in rows.lines().filter(|l| !l.starts_with('#')) {
        let columns: Vec<&str> = row.split(',').collect();
        let [program, target, op, estimate, outcome] = columns.as_slice() else { continue };
        let Ok(estimate) = estimate.parse::<f64>() else { continue };
        if *outcome != "ok" || estimate <= least || program.starts_with("splash_attention") {
            continue;
        }
        let Ok(chip) = Chip::parse(target) else { continue };
        let folder = Path::new(dumps).join(format!("{program}.{target}"));
        let entry = folder::listings(&folder).ok().and_then(|l| l.into_iter().find(|e| e.name == *op));
        let Some(entry) = entry else {
            println!("{program:<42}{target:<7}{op:<32} no listing");
            missing += 1;
            continue;
        };
        let start = Instant::now();
        match entry.read(chip).and_then(|l| simulate(&l, &Options::new(Model::Vendor))) {
            Ok(r) => {
                seconds += start.elapsed().as_secs_f64();
                bundles += r.outcome.bundles;
                let error = r.cycles as f64 / estimate - 1.0;
                errors.push(error);
                let stalls: Vec<String> = r.stalls.iter().map(|(c, n)| format!("{} {n}", c.name())).collect();
                println!(
                    "{program:<42}{target:<7}{op:<32}{:>11}{estimate:>11}{:>8.2}%{:>8} {} {}",
                    r.cycles,
                    error * 100.0,
                    r.cycles as i64 - estimate as i64,
                    if r.underflows + r.waits_for_nothing > 0 {
                        format!("[u{} w{}]", r.underflows, r.waits_for_nothing)
                    } else {
                        String::new()
                    },
                    stalls.join(" ")
                );
            }
            Err(e) => {
                missing += 1;
                println!("{program:<42}{target:<7}{op:<32} {e}");
            }
        }
    }
    let n = errors.len().max(1) as f64;
    let mean = errors.iter().map(|e| e.abs()).sum::<f64>() / n;
    let worst = errors.iter().copied().fold(0.0, |w: f64, e| if e.abs() > w.abs() { e } else { w });
    let within = |p: f64| errors.iter().filter(|e| e.abs() <= p).count();
    println!(
        "{} rows, {missing} missing: mean |error| {:.2} %, worst {:.2} %; within 1 %: {}, within 2.5 %: {}, within 5 %: {}",
        errors.len(),
        mean * 100.0,
        worst * 100.0,
        within(0.01),
        within(0.025),
        within(0.05)
    );
    println!("{bundles} bundles in {seconds:.2} s with reading");
}
