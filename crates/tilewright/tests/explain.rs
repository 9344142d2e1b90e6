//! Every program of `bench/programs` is explained on three chips, with no cycle unaccounted for.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "other tests use the rest")]
mod common;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use common::Sandbox;
use serde_json::Value;
use tilewright::run::testing::libtpu_or_skip;

const TARGETS: [&str; 3] = ["tpu-v5e", "tpu-v6e", "tpu7x"];

/// The most of a program's cycles that may be of ops that could not be simulated.
const UNACCOUNTED: f64 = 0.02;

/// Sizes and tables of the grouped matmul, whose work depends on them: 16 row tiles over 8 groups of the same size.
fn scalars(program: &str, target: &str) -> Vec<String> {
    if program != "megablox_gmm" {
        return Vec::new();
    }
    let op = if target == "tpu-v5e" { "name.1" } else { "name.5" };
    let list = |numbers: Vec<usize>| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let tables = [
        vec![16],
        (0..=8).map(|group| group * 1024).collect(),
        (0..23).map(|tile| (tile / 2).min(7)).collect(),
        (0..23).map(|tile| tile.min(15)).collect(),
    ];
    let give = |(operand, words)| ["--scalars".to_string(), format!("{op}:{operand}={}", list(words))];
    tables.into_iter().enumerate().flat_map(give).collect()
}

#[test]
fn every_program_is_explained_on_three_chips_with_nothing_unaccounted_for() {
    if libtpu_or_skip().is_none() {
        return;
    }
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/programs"));
    let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let files: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "mlir")).collect();
    assert!(files.len() >= 20, "{files:?}");
    let mut jobs: Vec<(PathBuf, &str)> =
        files.iter().flat_map(|f| TARGETS.map(|target| (f.clone(), target))).collect();
    // The slowest to compile first: two at a time then end together.
    jobs.sort_by_key(|(f, _)| f.to_string_lossy().contains("conv"));
    let jobs = Mutex::new(jobs);
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((file, target)) = jobs.lock().unwrap().pop() else { break };
                    let found = explained(&file, target);
                    faults.lock().unwrap().extend(found);
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// What is wrong with an explanation.
fn explained(file: &Path, target: &str) -> Vec<String> {
    let program = file.file_stem().unwrap().to_string_lossy().into_owned();
    let path = file.display().to_string();
    let mut words = vec!["explain", &path, "--target", target, "--json"];
    let scalars = scalars(&program, target);
    words.extend(scalars.iter().map(String::as_str));
    let ran = Sandbox::new().run(&words);
    if ran.status != 0 {
        return vec![format!("{program} {target}: {}{}", ran.stdout, ran.stderr)];
    }
    let json = ran.json();
    let report = &json["targets"][0];
    let mut faults = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            faults.push(format!("{program} {target}: {what}"));
        }
    };
    let number = |v: &Value, key: &str| v[key].as_f64().unwrap_or(f64::NAN);
    let unaccounted = number(report, "unaccounted");
    must(unaccounted <= UNACCOUNTED, format!("{unaccounted} of its cycles unaccounted for"));
    let ops = report["ops"].as_array().unwrap();
    let sum = |key: &str| ops.iter().map(|o| number(o, key)).sum::<f64>();
    must((sum("cycles") / number(report, "cycles") - 1.0).abs() < 1e-9, "cycles do not add up".to_string());
    must((sum("share") - 1.0).abs() < 1e-9, "shares do not add up".to_string());
    for op in ops {
        let name = op["name"].as_str().unwrap();
        for key in ["matrix_fraction", "hbm_fraction", "saving"] {
            let fraction = number(op, key);
            must((0.0..=1.0).contains(&fraction), format!("{name}: {key} is {fraction}"));
        }
        for (unit, busy) in op["units"].as_object().unwrap() {
            must(busy.as_f64().is_some_and(|b| b <= 1.0), format!("{name}: {unit} is busy {busy}"));
        }
        let decided = op["assumed_branches"].as_u64() != Some(0) && op["exchange"].is_null();
        must(!decided, format!("{name}: unknown values decide it"));
    }
    faults
}
