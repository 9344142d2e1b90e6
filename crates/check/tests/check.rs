//! What a check is asked for beside a verdict: batch invariance, the caller's own data, JSON; and this CPU.
#![allow(clippy::unwrap_used, reason = "in a test's helpers too")]

mod common;

use common::{Kernel, family, machine, on_interp, options, problem};
use tilewright_check::{Cpu, Interp, Options, Verdict, check, external};
use tilewright_dtype::{DType, Tensor};
use tilewright_ir::{Builder, Program};
use tilewright_kernels::{Config, Inputs, Problem};
use tilewright_run::testing::clang_or_skip;
use tilewright_target_cpu::features::CpuFeatures;

#[test]
fn kernels_of_independent_rows_are_batch_invariant() {
    let asked = Options { batch_invariant: true, derived: 0, ..options() };
    for words in [
        "matmul m=40 n=17 k=48 dtype=f32 ta",
        "softmax rows=40 cols=50 dtype=bf16",
        "cast rows=4 cols=4 from=f32 to=bf16",
        "attention batch=2 heads=2 kv_heads=1 q_len=9 kv_len=20 head_dim=32 dtype=f32 lengths",
    ] {
        let report = on_interp(words, &asked);
        assert_eq!(report.verdict, Verdict::Held, "{words}: {:?}", report.why);
        assert!(report.notes.iter().any(|n| n.starts_with("batch invariant")), "{words}: {:?}", report.notes);
    }
}

/// Sums along rows in another order where there is but one row: right within the bound, yet not the same bits.
#[test]
fn a_row_that_is_summed_otherwise_when_alone_is_found() {
    let build = |p: &Problem, _: &Config| {
        let (rows, cols) = (p.dim("rows"), p.dim("cols"));
        let bc = if rows == 1 { 7 } else { 16 };
        let b = Builder::new("rowsum");
        let x = b.input_padded("x", DType::F32, &[rows, cols], 0.0);
        let y = b.output("y", DType::F32, &[rows, 1]);
        let [i] = b.grid([("i", rows)]);
        let zero = b.splat(0.0, DType::F32, &[1, 1]);
        let [sum] =
            b.fold("j", 0, cols.div_ceil(bc), [zero], |j, [sum]| [sum + x.load((i, j), &[1, bc]).sum(1)]);
        y.store((i, 0), sum);
        b.finish().map(Program::single)
    };
    let kernel = Kernel {
        build: Box::new(build),
        reference: |p, x| x["x"].to_f64().chunks(p.dim("cols")).map(|row| row.iter().sum()).collect(),
        overflows: Some("partial sums"),
    };
    let p = Problem::parse("rowsum", common::ROWS, &["rows=20", "cols=200"]).unwrap();
    let asked = |batch_invariant| {
        let options = Options { batch_invariant, ..options() };
        check(&kernel, &p, &Config::of(&[("br", 1), ("bc", 16)]), &Interp, &options).unwrap()
    };
    assert_eq!(asked(false).verdict, Verdict::Held);
    let report = asked(true);
    assert_eq!(report.verdict, Verdict::Failed);
    let failure = report.failure.unwrap();
    assert_eq!(failure.code, "check/batch-variant");
    assert!(failure.message.contains("run alone"), "{}", failure.message);
}

#[test]
fn given_data_come_first_and_go_with_drawn_ones() {
    let (f, p) = (family("matmul"), problem("matmul m=8 n=4 k=6 dtype=f32"));
    let config = f.default_config(&p, &machine());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.npy");
    let weights: Vec<f64> = (0..24).map(|i| f64::from(i) * 1e3).collect();
    tilewright_dtype::files::write_npy(&path, &Tensor::from_f64(DType::F32, &[6, 4], &weights).unwrap())
        .unwrap();
    let program = f.build(&p, &config).unwrap();
    let (given, notes) = external::given(&[format!("b={}", path.display())], &program).unwrap();
    assert!(notes[0].contains("b.npy"));
    let report = check(f, &p, &config, &Interp, &Options { given: given.clone(), ..options() }).unwrap();
    assert_eq!((report.verdict, report.cases[0].case.as_str()), (Verdict::Held, "given"));
    assert!(report.cases[1..].iter().all(|c| c.case != "given"));
    // A failure on given data is reported at the sizes that the data have.
    let zeros = common::Answer(|_: &str, t: &mut Tensor| t.bytes_mut().fill(0));
    let report = check(f, &p, &config, &zeros, &Options { given, ..options() }).unwrap();
    assert_eq!(report.failure.unwrap().case, "given");
    assert!(report.smallest.is_none());
}

#[test]
fn the_json_has_its_stable_keys() {
    let report = on_interp("softmax rows=3 cols=40 dtype=f32", &options());
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["verdict"], "held");
    assert!(json["cases"].as_array().is_some_and(|c| c.len() > 14 && c[0]["case"] == "normal"));
    let worst = &json["worst"];
    assert!(worst["case"].is_string() && worst["index"].is_array());
    assert!(["value", "reference", "bound", "margin"].iter().all(|k| worst[k].is_f64()), "{worst}");
    let nan = common::Answer(|_: &str, t: &mut Tensor| t.set(0, f64::NAN));
    let (f, p) = (family("softmax"), problem("softmax rows=3 cols=40 dtype=f32"));
    let report = check(f, &p, &f.default_config(&p, &machine()), &nan, &options()).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!((&json["verdict"], &json["worst"]["value"]), (&"failed".into(), &"nan".into()));
    assert_eq!(json["failure"]["code"], "check/wrong-value");
    assert!(json["smallest"]["problem"].is_string());
}

/// Nothing can be proved of a quotient whose divisor may be rounded to zero.
#[test]
fn what_no_bound_decides_is_undecided() {
    let build = |p: &Problem, _: &Config| {
        let dims = [p.dim("rows"), p.dim("cols")];
        let b = Builder::new("steep");
        let x = b.input("x", DType::F32, &dims);
        let y = b.output("y", DType::F32, &dims);
        let [i] = b.grid([("i", 1)]);
        y.store((i, 0), 1.0 / ((x.load((i, 0), &dims) + 1e8) - 1e8));
        b.finish().map(Program::single)
    };
    let reference =
        |_: &Problem, x: &Inputs| x["x"].to_f64().iter().map(|x| 1.0 / ((x + 1e8) - 1e8)).collect();
    let kernel =
        Kernel { build: Box::new(build), reference, overflows: Some("a divisor that is rounded to 0") };
    let p = Problem::parse("steep", common::ROWS, &["rows=2", "cols=5"]).unwrap();
    let once = Options { derived: 0, budget: std::time::Duration::ZERO, ..options() };
    let report = check(&kernel, &p, &Config::of(&[("br", 1)]), &Interp, &once).unwrap();
    assert_eq!(report.verdict, Verdict::Undecided, "{:?}", report.failure);
    assert!(report.why.unwrap().contains("ill-conditioned") && report.skipped > 0);
}

#[test]
fn this_cpu_holds_on_the_portable_path_and_its_own() {
    if clang_or_skip().is_none() {
        return;
    }
    for features in [CpuFeatures::BASELINE, CpuFeatures::detect()] {
        let cpu = Cpu::new(features, 2).unwrap();
        for words in
            ["matmul m=40 n=33 k=48 dtype=bf16 epilogue=bias+relu", "softmax rows=5 cols=100 dtype=f32"]
        {
            let (f, p) = (family(words.split(' ').next().unwrap()), problem(words));
            let few = Options { derived: 2, ..options() };
            let report = check(f, &p, &f.default_config(&p, &machine()), &cpu, &few).unwrap();
            assert_eq!(report.verdict, Verdict::Held, "{words} on {features}: {:?}", report.why);
        }
    }
}
