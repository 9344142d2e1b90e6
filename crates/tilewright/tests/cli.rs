//! The command line from outside: words, exit status, what is printed where.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{Sandbox, lines_fit};
use serde_json::Value;
use tilewright::run::testing::{clang_or_skip, libtpu_or_skip};

#[test]
fn a_wrong_request_exits_2_with_one_clear_diagnostic() {
    let cases: [(&[&str], &str); 21] = [
        (
            &["show", "matmull", "m=1"],
            "error[kernel/unknown]: unknown kernel `matmull`\n  note: known: KERNELS\n  help: did you mean `matmul`?\n",
        ),
        (
            &["shwo"],
            "error[cli/unknown-command]: unknown command `shwo`\n  \
             note: known: kernels, targets, show, check, bench, tune, explain, setup, tour\n  help: did you mean `show`?\n",
        ),
        (
            &["matmul", "m=1"],
            "error[cli/unknown-command]: unknown command `matmul`\n  \
             note: known: kernels, targets, show, check, bench, tune, explain, setup, tour\n  \
             help: `matmul` is a kernel: `tilewright check matmul …`, or show, bench, tune\n",
        ),
        (
            &["show", "--thread", "2"],
            "error[cli/unknown-option]: unknown option `--thread`\n  help: did you mean `--threads`?\n",
        ),
        (
            &["show", "softmax", "row=3", "cols=4"],
            "error[problem/unknown-key]: unknown part of a `softmax` problem `row`\n  \
             note: known: rows, cols, dtype\n  help: did you mean `rows`?\n",
        ),
        (
            &["show", "softmax", "rows=3", "cols=4", "dtype=f61"],
            "error[problem/value]: unknown value of `dtype` `f61`\n  note: known: f32, bf16, f16\n  help: did you mean `f16`?\n",
        ),
        (
            &["show", "softmax", "rows=3"],
            "error[problem/missing-key]: a `softmax` problem needs `cols` (elements of a row)\n  help: add `cols=64`\n",
        ),
        (
            &["show", "softmax", "rows=0", "cols=4"],
            "error[problem/value]: `rows=0` is no size from 1 to 2147483647\n",
        ),
        (
            &["show", "softmax", "rows=3", "cols=4", "--target", "cpus"],
            "error[cli/unknown-target]: unknown target `cpus`\n  note: known: cpu\n  help: did you mean `cpu`?\n",
        ),
        (
            &["show", "softmax", "rows=3", "cols=4", "--target", "tpu-v5e"],
            "error[cli/unknown-target]: unknown target `tpu-v5e`\n  note: known: cpu\n  \
             note: this version compiles for the CPU only\n",
        ),
        (
            &["show", "softmax", "rows=3", "cols=4", "--stage", "lowred"],
            "error[cli/value]: unknown value of --stage `lowred`\n  \
             note: known: source, ir, lowered, code, asm\n  help: did you mean `lowered`?\n",
        ),
        (
            &["show", "softmax", "rows=3", "cols=4", "--cpu-features", "avx521"],
            "error[cpu/unknown-feature]: unknown CPU feature `avx521`\n  \
             rule: a level, then its extensions: `avx512,bf16,vnni`\n  \
             note: known: native, baseline, avx2, avx512, bf16, vnni\n  help: did you mean `avx512`?\n",
        ),
        (
            &["bench", "softmax", "rows=3", "cols=4", "--vs", "openblass"],
            "error[bench/unknown-peer]: unknown peer `openblass`\n  \
             note: known: openblas, onednn, gemm, torch, jax\n  help: did you mean `openblas`?\n",
        ),
        (
            &["tune", "softmax", "rows=3", "cols=4", "--budget", "5 days"],
            "error[cli/value]: `5 days` is no value of `--budget`\n  note: a time is a number and `ms`, `s`, `m` or `h`\n",
        ),
        (
            &["show", "softmax", "rows", "cols=4"],
            "error[problem/value]: `rows` (independent rows) has no value\n  \
             rule: flags alone are written without a value\n  help: `rows=64`\n",
        ),
        (
            &["show", "matmul", "m=3", "n=4", "k=5", "epilogue="],
            "error[problem/value]: `epilogue` (what is done to the sums, in order) has no value\n  \
             rule: flags alone are written without a value\n  help: `epilogue=bias`\n",
        ),
        (
            &["show", "softmax", "rows=3", "cols=4", "--config", "br=1,br=2"],
            "error[cli/value]: `br=1,br=2` is no value of `--config`\n  note: `br` is given twice\n",
        ),
        (
            &["show", "softmax", "rows=3", "cols=4", "--cpu-features", "avx2,baseline"],
            "error[cpu/feature-needs]: `avx2,baseline` is not a CPU\n  \
             rule: there is one level: a higher one has what a lower one has\n  help: for example `avx512`\n",
        ),
        (
            &["check", "softmax", "rows=3", "cols=4", "--store", ""],
            "error[store/no-name]: `--store` names no file\n  help: --store FILE\n",
        ),
        (
            &["check", "softmax", "rows=3", "cols=4", "--threads", "-1"],
            "error[cli/value]: `-1` is no value of `--threads`\n  note: -1 is not in 1..=1024\n",
        ),
        (
            &["check", "softmax", "rows=3", "cols=4", "--input", "x=a.npy:w"],
            "error[check/input-syntax]: `x=a.npy:w` names a tensor of a file that holds one array\n  \
             rule: NAME=FILE.safetensors:TENSOR, or NAME=FILE.npy\n  help: --input x=a.npy\n",
        ),
    ];
    let sandbox = Sandbox::new();
    let kernels: Vec<&str> = tilewright::kernels::families().iter().map(|f| f.name()).collect();
    for (words, want) in cases {
        let ran = sandbox.run(words);
        let stderr: String =
            ran.stderr.lines().filter(|l| !l.starts_with("warning:")).map(|l| format!("{l}\n")).collect();
        assert_eq!(stderr, want.replace("KERNELS", &kernels.join(", ")), "{words:?}");
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{words:?}");
    }
}

#[test]
fn in_json_the_fault_is_an_object_on_standard_output() {
    let sandbox = Sandbox::new();
    for words in [&["show", "matmull", "--json"][..], &["--json", "shwo"], &["--jso", "--json"]] {
        let ran = sandbox.run(words);
        assert_eq!((ran.status, ran.stderr.as_str()), (2, ""), "{words:?}");
        let fault = &ran.json()["error"];
        for key in ["code", "message", "span", "rule", "help", "notes"] {
            assert!(fault.get(key).is_some(), "{words:?}: no `{key}` in {fault}");
        }
        assert!(fault["help"].as_str().is_some_and(|h| h.starts_with("did you mean")), "{fault}");
    }
}

#[test]
fn shapes_that_no_memory_holds_are_refused_with_the_bytes() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["check", "matmul", "m=1000000", "n=1000000", "k=1000000", "--quiet"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("error[memory/too-large]")
            && ran.stderr.contains("12000000000000 bytes of operands"),
        "{}",
        ran.stderr
    );
    let largest = "2147483647";
    let words = ["m", "n", "k", "batch"].map(|d| format!("{d}={largest}"));
    for command in ["show", "check", "bench", "tune"] {
        let all: Vec<&str> =
            [command, "matmul"].into_iter().chain(words.iter().map(String::as_str)).collect();
        let ran = sandbox.run(&all);
        assert_eq!(ran.status, 2, "{command}: {}", ran.stderr);
        assert!(ran.stderr.contains("bytes"), "{command}: {}", ran.stderr);
    }
}

#[test]
fn without_clang_what_needs_it_exits_3_and_the_rest_works() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TILEWRIGHT_CLANG", "/nonexistent");
    let problem = ["softmax", "rows=3", "cols=5"];
    for command in [&["check"][..], &["bench", "--vs=none"], &["tune"], &["show", "--stage=asm"], &["tour"]] {
        let words: Vec<&str> = match command {
            ["tour"] => vec!["tour"],
            [name, rest @ ..] => [*name].into_iter().chain(problem).chain(rest.iter().copied()).collect(),
            [] => Vec::new(),
        };
        let ran = sandbox.run(&words);
        assert_eq!(ran.status, 3, "{words:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("error[run/clang-missing]"), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("apt-get install clang"), "{words:?}: {}", ran.stderr);
    }
    for stage in ["source", "ir", "lowered"] {
        assert_eq!(
            sandbox.run(&["show", "softmax", "rows=3", "cols=5", "--stage", stage]).status,
            0,
            "{stage}"
        );
    }
    let ran = sandbox
        .run(&["check", "softmax", "rows=3", "cols=5", "--target", "interp", "--budget", "0s", "--json"]);
    assert_eq!((ran.status, ran.json()["verdict"].as_str()), (0, Some("held")), "{}", ran.stderr);
}

#[test]
fn what_is_shown_parses_back_and_names_source_lines() {
    let sandbox = Sandbox::new();
    let words = ["show", "matmul", "m=70", "n=33", "k=40", "dtype=bf16", "epilogue=bias+gelu"];
    let text = sandbox.run(&words).stdout;
    let program = tilewright::ir::parse(&text, "shown").unwrap();
    assert_eq!(tilewright::ir::print(&program), text);
    let located = sandbox.run(&[&words[..], &["--locations"]].concat()).stdout;
    assert!(located.lines().any(|l| l.contains("dot") && l.contains(".rs:")), "{located}");
    let json = sandbox.run(&[&words[..], &["--json", "--config", "bm=32,bn=16"]].concat()).json();
    assert_eq!(json["config"]["bm"], 32);
    assert_eq!((json["stage"].as_str(), json["config_source"].as_str()), (Some("ir"), Some("given")));
    assert!(json["text"].as_str().is_some_and(|t| t.contains("bf16[32,")), "{json}");
}

#[test]
fn tables_fit_the_window_and_lists_are_complete() {
    let mut sandbox = Sandbox::new();
    for width in [40, 60, 100] {
        sandbox.set("COLUMNS", &width.to_string());
        for words in [&["kernels"][..], &["kernels", "matmul"], &["kernels", "attention"]] {
            let ran = sandbox.run(words);
            assert_eq!(ran.status, 0);
            lines_fit(&ran.stdout, width);
        }
    }
    let json = sandbox.run(&["kernels", "--json"]).json();
    let named: Vec<&str> =
        json["kernels"].as_array().unwrap().iter().filter_map(|k| k["name"].as_str()).collect();
    let known: Vec<&str> = tilewright::kernels::families().iter().map(|f| f.name()).collect();
    assert_eq!(named, known);
    assert_eq!(json["kernels"][0]["problem"][0]["name"], "m");
    assert_eq!(sandbox.run(&["--version"]).stdout, format!("tilewright {}\n", env!("CARGO_PKG_VERSION")));
    assert!(sandbox.run(&["--help"]).stdout.contains("tour"));
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let sandbox = Sandbox::new();
    let ran =
        sandbox.shell("\"$TW\" show matmul m=64 n=64 k=64 --stage source | head -n 1; echo ${PIPESTATUS[0]}");
    let mut lines = ran.stdout.lines();
    assert!(lines.next().is_some_and(|l| l.starts_with("//!")), "{}", ran.stdout);
    assert_eq!((lines.next(), ran.stderr.as_str()), (Some("0"), ""));
}

#[test]
fn a_store_that_is_none_is_named_and_left_alone() {
    if clang_or_skip().is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let garbage = b"this is no database, and it is mine".repeat(100);
    std::fs::write(sandbox.store(), &garbage).unwrap();
    for command in ["bench", "tune", "check"] {
        let ran = sandbox.run(&[command, "softmax", "rows=3", "cols=5"]);
        assert_ne!(ran.status, 0, "{command}");
        assert!(ran.stderr.contains(&sandbox.store().display().to_string()), "{command}: {}", ran.stderr);
        assert_eq!(std::fs::read(sandbox.store()).unwrap(), garbage, "{command}");
    }
}

#[test]
fn real_data_that_cannot_be_read_is_named() {
    let sandbox = Sandbox::new();
    let file = sandbox.folder().join("torn.safetensors");
    std::fs::write(&file, b"\xff\xff\xff\xff\xff\xff\xff\x7f{").unwrap();
    let input = format!("x={}:weight", file.display());
    let ran = sandbox.run(&["check", "softmax", "rows=3", "cols=5", "--target", "interp", "--input", &input]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("torn.safetensors"), "{}", ran.stderr);
}

/// The last of the JSON contract: every key that programs are promised.
fn has(object: &Value, keys: &[&str]) {
    for key in keys {
        assert!(!object[*key].is_null(), "no `{key}` in {object}");
    }
}

#[test]
fn tune_then_bench_and_check_use_its_config_and_keep_the_json_contract() {
    if clang_or_skip().is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let problem = ["softmax", "rows=40", "cols=50"];
    let run =
        |command: &[&str]| sandbox.run(&[&command[..1], &problem[..], &command[1..], &["--json"]].concat());

    let ran = run(&["bench", "--vs", "gemm", "--budget", "100ms"]);
    assert!(ran.stderr.contains("never tuned"), "says loudly that nothing was tuned: {}", ran.stderr);
    let bench = ran.json();
    has(
        &bench,
        &[
            "problem",
            "target",
            "config",
            "seconds",
            "ci",
            "flops",
            "bytes",
            "peak_fraction",
            "bandwidth_fraction",
            "peers",
        ],
    );
    assert_eq!((ran.status, bench["config_source"].as_str()), (0, Some("default")));
    assert!(bench["launch_seconds"].as_f64().is_some_and(|s| s < 1e-3), "{bench}");
    assert!(bench["absent"]["gemm"].is_string(), "gemm has no softmax: {bench}");

    let ran = run(&["tune", "--budget", "1500ms"]);
    let tune = ran.json();
    has(&tune, &["best", "default", "tried", "rejected"]);
    has(&tune["best"], &["config", "seconds", "estimate"]);
    has(&tune["default"], &["config", "seconds"]);
    for rejected in tune["rejected"].as_array().unwrap() {
        has(rejected, &["config", "reason"]);
    }

    let ran = run(&["check", "--budget", "100ms"]);
    assert!(!ran.stderr.contains("never tuned"), "{}", ran.stderr);
    let check = ran.json();
    has(&check, &["verdict", "cases", "worst"]);
    has(&check["worst"], &["case", "index", "value", "reference", "bound"]);
    assert_eq!((ran.status, check["verdict"].as_str()), (0, Some("held")));
    assert_eq!(check["config"], tune["best"]["config"]);

    let near = sandbox
        .run(&["bench", "softmax", "rows=41", "cols=50", "--vs", "none", "--budget", "50ms", "--json"]);
    assert!(near.stderr.contains("rows=40 cols=50"), "names the nearest tuned problem: {}", near.stderr);
    assert!(near.json()["config_source"]["nearest"]["problem"].is_string(), "{}", near.stdout);
}

#[test]
fn a_race_against_a_peer_gives_its_ratio() {
    if clang_or_skip().is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let ran = sandbox
        .run(&["bench", "matmul", "m=48", "n=40", "k=56", "--vs", "gemm", "--budget", "200ms", "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let bench = ran.json();
    let gemm = &bench["peers"]["gemm"];
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let (ratio, ci) = (number(&gemm["ratio"]), &gemm["ratio_ci"]);
    assert!(number(&ci["lo"]) <= ratio && ratio <= number(&ci["hi"]), "{bench}");
    let of_medians = number(&gemm["seconds"]) / number(&bench["seconds"]);
    assert!((0.2..5.0).contains(&(ratio / of_medians)), "theirs over ours: {bench}");
    let text =
        sandbox.run(&["bench", "matmul", "m=48", "n=40", "k=56", "--vs", "gemm", "--budget", "100ms"]).stdout;
    for part in ["config", "GFLOP/s", "floor", "launch", "gemm"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    lines_fit(&text, 110);
}

#[test]
fn the_object_and_its_assembly_are_shown() {
    if clang_or_skip().is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let words = ["show", "softmax", "rows=3", "cols=50", "--cpu-features", "baseline"];
    let asm = sandbox.run(&[&words[..], &["--stage", "asm"]].concat());
    assert!(asm.stdout.contains("softmax") && asm.stdout.contains("ret"), "{}{}", asm.stdout, asm.stderr);
    let code = sandbox.run(&[&words[..], &["--stage", "code", "--json", "--time-passes"]].concat()).json();
    has(&code["code"], &["path", "bytes", "key", "compiler", "kernels"]);
    assert!(std::fs::metadata(code["code"]["path"].as_str().unwrap()).is_ok());
    let passes: Vec<&str> =
        code["passes"].as_array().unwrap().iter().filter_map(|p| p["pass"].as_str()).collect();
    let lowering = tilewright::target_cpu::PASSES.iter().map(|(name, _)| *name);
    assert_eq!(passes, std::iter::once("build").chain(lowering).chain(["clang"]).collect::<Vec<_>>());
}

const ADD: &str = "module @jit_f {
  func.func public @main(%arg0: tensor<256x256xf32>, %arg1: tensor<256x256xf32>) -> tensor<256x256xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<256x256xf32>
    return %0 : tensor<256x256xf32>
  }
}
";

#[test]
fn a_tpu_program_is_explained_on_every_chip() {
    if libtpu_or_skip().is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.folder().join("add.mlir"), ADD).unwrap();
    let file = "add.mlir";
    let ran = sandbox.run(&["explain", file, "--target", "tpu-v5e,tpu-v5p,tpu-v6e,tpu7x", "--json"]);
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    let json = ran.json();
    let targets = json["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 4);
    for target in targets {
        has(target, &["target", "cycles", "seconds", "estimate", "model", "ops", "unaccounted"]);
        assert_eq!(
            (target["estimate"].as_bool(), target["unaccounted"].as_f64()),
            (Some(true), Some(0.0)),
            "{target}"
        );
        let op = &target["ops"][0];
        let keys = [
            "name",
            "kind",
            "count",
            "cycles",
            "seconds",
            "share",
            "flops",
            "useful_flops",
            "hbm_bytes",
            "matrix_fraction",
            "hbm_fraction",
            "limiter",
            "saving",
            "savings",
            "units",
            "stalls",
            "spills",
            "vmem_bytes",
            "advice",
        ];
        has(op, &keys);
        // Two arrays are read and one is written; the two cores of a v5p share the work.
        let bytes = 3.0 * 256.0 * 256.0 * 4.0 / if target["target"] == "tpu-v5p" { 2.0 } else { 1.0 };
        assert_eq!(op["hbm_bytes"].as_f64(), Some(bytes), "{op}");
        assert!(op["hbm_fraction"].as_f64().is_some_and(|f| f > 0.05 && f < 1.0), "{op}");
        let limiter = op["limiter"].as_str().unwrap();
        assert!(["transfer latency", "HBM bandwidth"].contains(&limiter), "{op}");
    }
    // A refusal on one target leaves the others' reports.
    let words = ["explain", file, "--target", "tpu-v5e,tpu7x", "--topology", "v5e:1x1", "--json"];
    let ran = sandbox.run(&words);
    let json = ran.json();
    assert_eq!((ran.status, json["targets"].as_array().unwrap().len()), (2, 1), "{}", ran.stdout);
    assert_eq!(json["refused"][0]["error"]["code"], "tpu/topology");
    let text = sandbox.run(&["explain", file, "--target", "tpu-v5e"]).stdout;
    assert!(text.contains("estimate") && text.contains("add.1") && text.contains("held back by"), "{text}");
    lines_fit(&text, 110);
}

#[test]
fn what_cannot_be_explained_says_why() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.folder().join("empty")).unwrap();
    let empty = "empty";
    let cases: [(&[&str], i32, &str); 5] = [
        (&["explain", "no.mlir"], 2, "explain/program"),
        (&["explain", "softmax"], 2, "explain/kernel"),
        (&["explain", empty, "--target", "tpu-v5e"], 2, "tpu/dump"),
        (&["explain", empty], 2, "explain/target"),
        (&["explain", "no.mlir", "--target", "tpu-v5"], 2, "cli/unknown-target"),
    ];
    for (words, status, code) in cases {
        let ran = sandbox.run(words);
        assert_eq!(ran.status, status, "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("error[{code}]")), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn without_the_tpu_compiler_the_step_to_take_is_told() {
    let mut sandbox = Sandbox::new();
    std::fs::write(sandbox.folder().join("add.mlir"), ADD).unwrap();
    let file = "add.mlir";
    sandbox.set("TILEWRIGHT_LIBTPU", "/nonexistent");
    let ran = sandbox.run(&["explain", file]);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("run/libtpu-missing") && ran.stderr.contains("tilewright setup tpu"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_file_that_is_no_module_says_what_it_is() {
    let sandbox = Sandbox::new();
    let cases: [(&str, &[u8], &str); 4] = [
        ("empty.mlir", b"", "it is empty"),
        ("hlo.txt", b"HloModule jit_f\n", "it is HLO, not StableHLO"),
        ("data.bin", b"\x00\xff\xfe", "neither text nor bytecode"),
        ("cut.mlirbc", b"ML\xefR\x0dStableHLO_v1.15.0\x00\x01\x05", "it ends early"),
    ];
    for (file, bytes, what) in cases {
        std::fs::write(sandbox.folder().join(file), bytes).unwrap();
        let ran = sandbox.run(&["explain", file]);
        assert_eq!(ran.status, 2, "{file}: {}", ran.stderr);
        for part in ["error[tpu/module]", what, file, "as_text()"] {
            assert!(ran.stderr.contains(part), "{file}: {}", ran.stderr);
        }
    }
}

#[test]
fn what_the_tpu_compiler_refuses_is_one_diagnostic_with_what_would_work() {
    if libtpu_or_skip().is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let gpu = ADD.replace(
        "stablehlo.add %arg0, %arg1 : tensor<256x256xf32>",
        "stablehlo.custom_call @__cublas$gemm(%arg0) : (tensor<256x256xf32>) -> tensor<256x256xf32>",
    );
    let sharded = ADD.replace("module @jit_f", "module @jit_f attributes {mhlo.num_partitions = 16 : i32}");
    assert_ne!(sharded, ADD);
    for (file, text, words, code, parts) in [
        (
            "broken.mlir",
            ADD.replace("stablehlo.add", "stablehlo.ad"),
            ["--target", "tpu-v5e"],
            "run/tpu-refused",
            ["broken.mlir:3:", "stablehlo.ad"],
        ),
        (
            "huge.mlir",
            ADD.replace("256x256", "65536x65536"),
            ["--target", "tpu-v6e"],
            "run/tpu-memory",
            ["17179869184 bytes (16.00 GiB): argument 1 ", "result"],
        ),
        ("gpu.mlir", gpu, ["--target", "tpu-v5e"], "tpu/platform", ["NVIDIA GPUs", "__cublas$gemm"]),
        (
            "sharded.mlir",
            sharded,
            ["--topology", "v5e:2x2"],
            "tpu/topology",
            ["16 devices", "--topology v5e:4x4"],
        ),
    ] {
        std::fs::write(sandbox.folder().join(file), text).unwrap();
        let ran = sandbox.run(&[["explain", file].as_slice(), words.as_slice()].concat());
        assert_eq!(ran.status, 2, "{file}: {}", ran.stderr);
        assert_eq!(ran.stderr.matches("error[").count(), 1, "{}", ran.stderr);
        for part in [&format!("error[{code}]"), parts[0], parts[1]] {
            assert!(ran.stderr.contains(part), "{file}: no `{part}` in {}", ran.stderr);
        }
    }
}
