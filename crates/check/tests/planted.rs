//! Bugs planted in kernels and in targets: each is found, named, and brought down to a small problem.
#![allow(clippy::unwrap_used, reason = "in a test's helpers too")]

mod common;

use common::{Kernel, Mutant, family, on_interp, options, problem};
use tilewright_check::{Interp, Options, Verdict, check};
use tilewright_dtype::{DType, Tensor};
use tilewright_ir::{Builder, Const, OpKind, Program};
use tilewright_kernels::{Config, Problem};

const TILES: &[(&str, usize)] = &[("bm", 16), ("bn", 16), ("bk", 16)];

fn matmul_40() -> Problem {
    problem("matmul m=40 n=33 k=48 dtype=f32")
}

#[test]
fn correct_kernels_hold() {
    for words in [
        "matmul m=40 n=33 k=48 dtype=f32",
        "matmul m=20 n=50 k=33 dtype=bf16 tb epilogue=bias+gelu",
        "matmul m=20 n=10 k=40 dtype=i8",
        "matmul m=9 n=10 k=40 dtype=f8e4m3fn ta",
        "softmax rows=5 cols=300 dtype=f16",
        "layernorm rows=5 cols=100 dtype=bf16",
        "rmsnorm rows=3 cols=70 dtype=f32",
        "cross_entropy rows=5 cols=40 dtype=f32",
        "logsumexp rows=5 cols=40 dtype=f32",
        "rotary batch=2 heads=2 seq=20 head_dim=16 dtype=f32",
        "attention batch=1 heads=2 kv_heads=1 q_len=20 kv_len=33 head_dim=32 dtype=f32 causal",
        "decode_attention batch=2 heads=2 kv_heads=1 kv_len=65 head_dim=32 dtype=f32 lengths",
        "transpose rows=20 cols=35 dtype=bf16",
        "cast rows=9 cols=33 from=f32 to=bf16",
    ] {
        let report = on_interp(words, &options());
        assert_eq!(report.verdict, Verdict::Held, "{words}: {:?} {:?}", report.why, report.failure);
        assert!(report.cases.len() > 14 && report.elements > 100 && report.skipped == 0, "{words}");
        assert!(report.cases.iter().all(|c| c.reference), "{words}");
        assert!(report.notes.is_empty(), "{words}: {:?}", report.notes);
    }
}

/// Softmax over blocks of 16 columns, with a running maximum and sum.
fn softmax(rescaled: bool, shifted: bool) -> Kernel {
    let build = move |p: &Problem, _: &Config| {
        let (rows, cols) = (p.dim("rows"), p.dim("cols"));
        let k = Builder::new("softmax");
        let x = k.input_padded("x", DType::F32, &[rows, cols], f64::NEG_INFINITY);
        let y = k.output("y", DType::F32, &[rows, cols]);
        let [i] = k.grid([("i", rows)]);
        let (low, zero) = (k.splat(-3e38, DType::F32, &[1, 1]), k.splat(0.0, DType::F32, &[1, 1]));
        let [top, sum] = k.fold("j", 0, cols.div_ceil(16), [low, zero], |j, [top, sum]| {
            let x = x.load((i, j), &[1, 16]);
            let new = if shifted { top.max(x.max_along(1)) } else { k.splat(0.0, DType::F32, &[1, 1]) };
            let kept = if rescaled { sum * (top - new).exp() } else { sum };
            [new, kept + (x - new).exp().sum(1)]
        });
        k.fold("j", 0, cols.div_ceil(16), [], |j, []| {
            y.store((i, j), (x.load((i, j), &[1, 16]) - top).exp() / sum);
            []
        });
        k.finish().map(Program::single)
    };
    let reference = |p: &Problem, inputs: &tilewright_kernels::Inputs| {
        let row = |x: &[f64]| {
            let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = x.iter().map(|x| (x - top).exp()).sum();
            x.iter().map(|x| (x - top).exp() / sum).collect::<Vec<_>>()
        };
        inputs["x"].to_f64().chunks(p.dim("cols")).flat_map(row).collect()
    };
    Kernel { build: Box::new(build), reference, overflows: None }
}

fn checked_softmax(kernel: &Kernel, cols: usize) -> tilewright_check::Report {
    let p = Problem::parse("softmax", common::ROWS, &["rows=5".to_string(), format!("cols={cols}")]).unwrap();
    check(kernel, &p, &Config::of(&[("br", 1)]), &Interp, &options()).unwrap()
}

/// Within its own operations' bounds all is well: exp overflows as it must. The reference says that it need not.
#[test]
fn a_softmax_that_forgets_the_maximum_is_found() {
    assert_eq!(checked_softmax(&softmax(true, true), 40).verdict, Verdict::Held);
    let report = checked_softmax(&softmax(false, false), 40);
    assert_eq!(report.verdict, Verdict::Failed);
    assert_eq!(report.failure.unwrap().code, "check/overflow");
}

/// A last block of one column: its value is a row's greatest in few draws, and always in one family of inputs.
#[test]
fn a_running_sum_that_is_not_rescaled_is_found_in_the_last_block() {
    assert_eq!(checked_softmax(&softmax(true, true), 17).verdict, Verdict::Held);
    let report = checked_softmax(&softmax(false, true), 17);
    assert_eq!(report.verdict, Verdict::Failed);
    assert_eq!(report.failure.unwrap().code, "check/source-disagrees");
}

/// The last step of the sum is not taken: the target is wrong, the kernel right.
#[test]
fn a_target_that_drops_the_last_block_is_found_where_there_are_two() {
    let shorter = Mutant(|program: &mut Program| {
        for op in &mut program.kernels[0].body.ops {
            if let OpKind::Splat(Const::Int(steps)) = &mut op.kind
                && *steps > 1
            {
                *steps -= 1;
            }
        }
    });
    let p = problem("matmul m=40 n=33 k=100 dtype=f32");
    let report = check(family("matmul"), &p, &Config::of(TILES), &shorter, &options()).unwrap();
    assert_eq!(report.verdict, Verdict::Failed);
    assert_eq!(report.failure.as_ref().unwrap().code, "check/wrong-value");
    let smallest =
        Problem::parse("matmul", family("matmul").keys(), &words(&report.smallest.unwrap().problem)).unwrap();
    assert_eq!((smallest.dim("m"), smallest.dim("n"), smallest.dim("k")), (1, 1, 17), "{smallest}");
}

#[test]
fn targets_that_answer_without_computing_are_found() {
    for constant in [0.0, 1.0] {
        let lazy =
            common::Answer(move |_: &str, t: &mut Tensor| (0..t.len()).for_each(|i| t.set(i, constant)));
        for words in [
            "matmul m=40 n=33 k=48 dtype=bf16",
            "softmax rows=3 cols=40 dtype=f32",
            "transpose rows=9 cols=9",
        ] {
            let (f, p) = (family(words.split(' ').next().unwrap()), problem(words));
            let report = check(f, &p, &f.default_config(&p, &common::machine()), &lazy, &options()).unwrap();
            assert_eq!(report.failure.unwrap().code, "check/wrong-value", "{words} {constant}");
        }
    }
}

#[test]
fn a_result_that_is_slightly_off_is_found() {
    let scaled =
        common::Answer(|_: &str, t: &mut Tensor| (0..t.len()).for_each(|i| t.set(i, t.get(i) * 1.0001)));
    let report = check(family("matmul"), &matmul_40(), &Config::of(TILES), &scaled, &options()).unwrap();
    let failure = report.failure.unwrap();
    assert_eq!(failure.code, "check/wrong-value");
    let worst = report.worst.unwrap();
    assert!(worst.element.margin > 1.0 && worst.element.margin < 1e4, "{worst:?}");
}

#[test]
fn an_element_left_unwritten_is_named() {
    let forgetful = common::Answer(|_: &str, t: &mut Tensor| {
        if t.shape() == [40, 33] {
            let last = t.len() - 1;
            let bytes = t.bytes_mut().len();
            t.bytes_mut()[bytes / (last + 1) * last..].fill(0xFF);
        }
    });
    let report = check(family("matmul"), &matmul_40(), &Config::of(TILES), &forgetful, &options()).unwrap();
    let failure = report.failure.unwrap();
    assert_eq!((failure.code, failure.element.unwrap().index), ("check/unwritten", vec![39, 32]));
    assert_eq!(report.smallest.unwrap().problem, "m=40 n=33 k=1 dtype=f32");
}

/// Row sums whose mask lets one column past the edge in, whose scale is wrong, or which store too little.
fn row_sums(p: &Problem, c: &Config, bug: &str) -> tilewright_diag::Result<Program> {
    let (rows, cols, bc) = (p.dim("rows"), p.dim("cols"), c.get("bc")?);
    let b = Builder::new("rowsum");
    // Past the edge the padding is 1, so that the mask is needed.
    let x = b.input_padded("x", DType::F32, &[rows, cols], 1.0);
    let y = b.output("y", DType::F32, &[rows, 1]);
    let grid = if bug == "grid" { rows.div_ceil(2) } else { rows };
    let [i] = b.grid([("i", grid)]);
    let limit = if bug == "mask" { cols + 1 } else { cols };
    let zero = b.splat(0.0, DType::F32, &[1, 1]);
    let [sum] = b.fold("j", 0, cols.div_ceil(bc), [zero], |j, [sum]| {
        let column = b.iota(1, &[1, bc]) + j * bc;
        let inside = column.lt(limit);
        [sum + inside.select(x.load((i, j), &[1, bc]), 0.0).sum(1)]
    });
    y.store((i, 0), if bug == "scale" { sum * 1.01 } else { sum });
    b.finish().map(Program::single)
}

fn check_row_sums(bug: &'static str, cols: usize) -> tilewright_check::Report {
    let kernel = Kernel {
        build: Box::new(move |p, c| row_sums(p, c, bug)),
        reference: |p, x| x["x"].to_f64().chunks(p.dim("cols")).map(|row| row.iter().sum()).collect(),
        overflows: Some("partial sums"),
    };
    let p = Problem::parse("rowsum", common::ROWS, &["rows=10", &format!("cols={cols}")]).unwrap();
    check(&kernel, &p, &Config::of(&[("br", 1), ("bc", 16)]), &Interp, &options()).unwrap()
}

#[test]
fn a_correct_mask_holds() {
    let report = check_row_sums("", 100);
    assert_eq!(report.verdict, Verdict::Held, "{:?}", report.why);
}

#[test]
fn a_mask_off_by_one_is_found_in_the_source_and_shrunk() {
    let report = check_row_sums("mask", 100);
    let failure = report.failure.unwrap();
    assert_eq!(failure.code, "check/source-disagrees");
    assert_eq!(report.smallest.unwrap().problem, "rows=1 cols=1");
    // With a whole number of tiles the mask does no harm, but in the tails of derived problems.
    let report = check_row_sums("mask", 96);
    let failure = report.failure.unwrap();
    assert_eq!((report.verdict, failure.code), (Verdict::Failed, "check/source-disagrees"));
    assert_ne!(failure.problem, report.problem);
}

#[test]
fn a_wrong_scale_is_found_in_the_source() {
    let report = check_row_sums("scale", 96);
    assert_eq!(report.failure.unwrap().code, "check/source-disagrees");
    assert_eq!(report.smallest.unwrap().problem, "rows=1 cols=1");
}

#[test]
fn a_grid_that_covers_half_is_found() {
    let report = check_row_sums("grid", 96);
    let failure = report.failure.unwrap();
    assert_eq!(failure.code, "interp/unwritten");
    assert!(failure.diagnostics[0].message.contains("`y`[5, 0]"), "{:?}", failure.diagnostics);
    assert_eq!(report.smallest.unwrap().problem, "rows=2 cols=1");
}

/// Each true value lies below 1e-4: a fixed tolerance would let zeros pass.
#[test]
fn zeros_do_not_pass_a_softmax_of_many_columns() {
    let (f, p) = (family("softmax"), problem("softmax rows=1 cols=393216 dtype=f32"));
    let config = Config::of(&[("br", 1), ("bc", 4096)]);
    let zeros = common::Answer(|_: &str, t: &mut Tensor| t.bytes_mut().fill(0));
    let quick = Options { derived: 0, ..options() };
    let report = check(f, &p, &config, &zeros, &quick).unwrap();
    assert_eq!(report.failure.unwrap().code, "check/wrong-value");
    let one_case = Options { budget: std::time::Duration::ZERO, ..quick };
    let report = check(f, &p, &config, &Interp, &one_case).unwrap();
    assert_eq!((report.verdict, report.cases.len()), (Verdict::Held, 1), "{:?}", report.why);
    assert!(report.cases[0].tight > 393_000, "{:?}", report.cases[0]);
}

/// At magnitude 30 the results of a correct bf16 kernel are off by more than 0.1, rightly.
#[test]
fn correct_bf16_at_magnitude_thirty_holds() {
    let report = on_interp("matmul m=32 n=32 k=256 dtype=bf16", &options());
    let scaled = report.cases.iter().find(|c| c.case == "scaled" && c.problem == report.problem).unwrap();
    assert!(scaled.wrong == 0 && scaled.undecided == 0 && scaled.tight > 900, "{scaled:?}");
    assert!(scaled.margin.unwrap() > 0.1, "the bound is not idle: {scaled:?}");
    assert_eq!(report.verdict, Verdict::Held);
}

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}
