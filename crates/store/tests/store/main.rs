//! The store as its users meet it: lookups, several processes at once, migration and damaged files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod damage;
mod lookup;
mod migration;
mod processes;

use std::path::Path;

use tilewright_store::{Outcome, Problem, Provenance, Store, TuneRecord};

fn open(path: &Path) -> Store {
    Store::open(path.to_str()).unwrap()
}

fn problem(key: &str) -> Problem {
    Problem::parse(key).unwrap()
}

/// A checked record of `matmul` on `cpu` and `box`: config `bm`, made at second `bm`.
fn tune(key: &str, bm: i64, seconds: f64) -> TuneRecord {
    TuneRecord {
        kernel: "matmul".into(),
        problem: problem(key),
        target: "cpu".into(),
        machine: "box".into(),
        config: [("bm".to_owned(), bm)].into(),
        seconds: Some(seconds),
        estimate: Some(seconds * 0.9),
        outcome: Outcome::Measured,
        checked: true,
        batch_invariant: None,
        provenance: Provenance {
            ir_hash: format!("ir{bm}"),
            code_hash: format!("code{bm}"),
            compiler: "clang 19.1.7".into(),
            machine: "box".into(),
            versions: [("tilewright".to_owned(), "0.1.0".to_owned())].into(),
            created: bm,
            threads: 2,
        },
    }
}
