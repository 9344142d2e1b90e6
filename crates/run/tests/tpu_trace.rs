//! The executor against the vendor's own trace: for every op of small modules, as many bundles as the estimator of the
//! TPU compiler lists when it unrolls the op. Without the test harness, so that this executable can be its own child.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test without the harness is still a test")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use tilewright_bundles::exec::{Inputs, execute};
use tilewright_bundles::observe::Nothing;
use tilewright_bundles::program::{Placement, Program, Shadow};
use tilewright_run::cache::Cache;
use tilewright_run::isolate::serve;
use tilewright_run::testing::libtpu_or_skip;
use tilewright_run::tpu::{Chip, Dump, Module, Request, Topology, compile, work};

const MODULES: [(&str, &str); 3] = [
    ("several", include_str!("tpu_trace/several.mlir")),
    ("layer", include_str!("tpu_trace/layer.mlir")),
    ("scans", include_str!("tpu_trace/scans.mlir")),
];

/// Pairs of op and chip that are compared at least.
const PAIRS: usize = 80;

/// Delay slots that the estimator takes every chip to have.
const VENDOR: Shadow = Shadow::Fixed(4);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == "compile") {
        return match serve(work) {
            Ok(()) => ExitCode::SUCCESS,
            Err(d) => {
                eprintln!("{d}");
                ExitCode::from(2)
            }
        };
    }
    // What test runners ask of an executable before they run it.
    if args.iter().any(|a| a == "--list") {
        println!("tpu_trace: test");
        return ExitCode::SUCCESS;
    }
    if libtpu_or_skip().is_some() {
        every_op_executes_as_many_bundles_as_the_vendor_unrolls();
    }
    println!("test tpu_trace ... ok");
    ExitCode::SUCCESS
}

fn every_op_executes_as_many_bundles_as_the_vendor_unrolls() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().join("cache"), 1 << 30).unwrap();
    let (mut pairs, mut wrong) = (0, Vec::new());
    for (name, module) in MODULES {
        let module = Module::read(module.as_bytes().to_vec(), name).unwrap();
        for chip in Chip::ALL {
            let request = Request {
                module: &module,
                name,
                topology: Topology::fitting(chip, 1),
                estimate: true,
                trace: true,
                limit: Duration::from_secs(300),
                worker: &["compile"],
            };
            let compiled = compile(&request, &cache).unwrap();
            for (op, unrolled) in traces(&compiled.dump) {
                let executed = executed(&compiled.dump, op, chip);
                pairs += 1;
                if executed != unrolled {
                    wrong.push(format!("{name} {op} on {}: {executed}, unrolled {unrolled}", chip.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(pairs >= PAIRS, "only {pairs} traces");
    println!("{pairs} pairs of op and chip: as many bundles as the vendor unrolls");
}

/// Bundles that the estimator executed, by op: the entries of `OP_bundles.txt`.
fn traces(dump: &Dump) -> BTreeMap<&str, u64> {
    let ops = dump.files.iter().filter_map(|(file, text)| Some((file.strip_suffix("_bundles.txt")?, text)));
    ops.filter(|(op, _)| !op.ends_with("-final") && !op.ends_with("-schedule-analysis_final"))
        .map(|(op, text)| (op, text.lines().filter(|l| l.ends_with(": bundle slots:")).count() as u64))
        .collect()
}

/// Bundles that the op's listing executes here.
fn executed(dump: &Dump, op: &str, chip: Chip) -> u64 {
    let named = |file: &str| -> bool {
        let rest = file.strip_suffix("-final_bundles.txt").and_then(|f| f.rsplit_once('-'));
        rest.and_then(|(rest, _)| rest.split_once('-')).is_some_and(|(_, name)| name == op)
    };
    let (file, text) = dump.files.iter().find(|(file, _)| named(file)).unwrap();
    let listing = tilewright_bundles::parse(text.clone(), file, chip).unwrap();
    let program = Program::new(&listing, VENDOR, &Placement::default()).unwrap();
    execute(&listing, &program, &Inputs::unknown(10_000_000), &mut Nothing).unwrap().bundles
}
