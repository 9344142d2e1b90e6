//! Bounds by example: special values, unknown truth, steps, and how tight they are.

#![allow(clippy::unwrap_used, reason = "a test stops at its first fault")]

mod common;

use common::{Given, eval};
use tilewright_dtype::DType::{self, *};
use tilewright_dtype::Tensor;
use tilewright_interp::{Accuracy, Domain, Inputs, Options, Values, Verdict, run};
use tilewright_ir::{Builder, Program, ReduceOp};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const BOUND: Domain = Domain::Bound(Accuracy::ieee());

fn bound(given: &[Given], body: &str, out: (DType, &[usize])) -> Values {
    eval(BOUND, given, body, out)
}

/// The bounds of `op x, y` in f32, where `x` is `x0 * 1.1` and so off by a rounding where `x0` is finite and not 0.
fn inexact(op: &str, x: &[f64], y: &[f64]) -> Vec<f64> {
    let n = x.len();
    let dims = &[n][..];
    let body = format!("  s = splat 1.1 : f32[{n}]\n  t = mul x, s : f32[{n}]\n  r = {op} t, y : f32[{n}]");
    let values = bound(&[("X", F32, dims, x), ("Y", F32, dims, y)], &body, (F32, dims));
    (0..n).map(|i| values.bound(i)).collect()
}

#[test]
fn special_values_are_decided_where_there_is_but_one_result() {
    // Infinity plus anything finite; infinities that cancel; NaN.
    assert_eq!(inexact("add", &[1.0, INF, NAN, 1.0], &[INF, -INF, 1.0, NAN]), [0.0; 4]);
    assert_eq!(inexact("mul", &[1.0, 0.0, INF], &[INF, INF, -INF]), [0.0; 3]);
    assert_eq!(inexact("max", &[1.0, INF, NAN], &[INF, 1.0, 1.0]), [0.0; 3]);
    assert_eq!(inexact("div", &[1.0, INF, 0.0], &[INF, 2.0, 0.0]), [0.0; 3]);
    // Over zero: the sign of a zero is not kept.
    assert_eq!(inexact("div", &[1.0], &[0.0]), [INF]);
    // Whether an overflow happens is open.
    assert_eq!(inexact("mul", &[F32.max_finite() / 1.1], &[1.0]), [INF]);
}

#[test]
fn functions_at_their_edges() {
    let x = [0.0, -1.0, INF, -INF, NAN];
    let of = |op: &str| {
        let values = bound(&[("X", F32, &[5], &x)], &format!("  r = {op} x : f32[5]"), (F32, &[5]));
        (0..5).map(|i| (values.v[i], values.bound(i))).collect::<Vec<_>>()
    };
    let log = of("log");
    assert_eq!(log[0], (-INF, 0.0));
    assert!(log[1].0.is_nan() && log[1].1 == 0.0);
    assert_eq!(log[2], (INF, 0.0));
    let exp = of("exp");
    assert_eq!((exp[2], exp[3]), ((INF, 0.0), (0.0, 0.0)));
    // Around -1 the bound is one ULP of f32 there, 2^-25.
    assert!(exp[1].1 > 2f64.powi(-26) && exp[1].1 < 1.001 * 2f64.powi(-25), "{:e}", exp[1].1);
    assert_eq!(of("rsqrt")[0].1, INF);
    assert_eq!(of("rsqrt")[2], (0.0, 0.0));
    assert!(of("sqrt")[1].0.is_nan());
    // A square root whose argument may be negative is undecided.
    let body =
        "  t = sub x, y : f32[1]\n  u = mul t, t : f32[1]\n  w = sub u, u : f32[1]\n  r = sqrt w : f32[1]";
    let values = bound(&[("X", F32, &[1], &[0.1]), ("Y", F32, &[1], &[0.3])], body, (F32, &[1]));
    assert_eq!(values.bound(0), INF);
}

#[test]
fn an_unknown_comparison_makes_the_choice_span_both() {
    // x * 1.1 against 1.1 rounded: equal or off by one ULP, so any answer is legal.
    let body = "\
  s = splat 1.1 : f32[2]
  t = mul x, s : f32[2]
  c = lt t, s : bool[2]
  a = splat 5.0 : f32[2]
  b = splat 7.0 : f32[2]
  r = select c, a, b : f32[2]";
    let values = bound(&[("X", F32, &[2], &[1.0, 0.5])], body, (F32, &[2]));
    assert_eq!(values.v, [7.0, 5.0]);
    assert!(values.bound(0) >= 2.0 && values.bound(0) < 2.001);
    assert_eq!(values.bound(1), 0.0);
    assert_eq!(values.judge(0, 5.0), Verdict::Held);
    assert_eq!(values.judge(1, 7.0), Verdict::Failed);
}

#[test]
fn steps_that_an_interval_crosses_keep_both_integers() {
    // 0.1f32 * 10 may round to 1 or stay just above it; 0.35 * 10 stays clear of a step.
    let body = "  s = splat 10.0 : f32[2]\n  t = mul x, s : f32[2]\n  r = cast t : i8[2]";
    let values = bound(&[("X", F32, &[2], &[0.1, 0.35])], body, (I8, &[2]));
    assert_eq!((values.v[0], values.bound(0)), (1.0, 1.0));
    assert_eq!((values.v[1], values.bound(1)), (3.0, 0.0));
    let values =
        bound(&[("X", F32, &[2], &[0.1, 0.35])], &body.replace("cast t : i8", "floor t : f32"), (F32, &[2]));
    assert!(values.bound(0) >= 1.0 && values.bound(1) == 0.0);
}

#[test]
fn copies_and_exact_casts_have_no_bound() {
    let x = [1.0, -0.5, INF, 3.0];
    let body = "  t = cast x : f32[4]\n  u = transpose t, [0] : f32[4]\n  r = cast u : bf16[4]";
    assert_eq!(bound(&[("X", BF16, &[4], &x)], body, (BF16, &[4])).e, None);
    // A constant's own rounding is known: 0.1 in bf16.
    let values = bound(&[], "  r = splat 0.1 : bf16[1]", (BF16, &[1]));
    assert_eq!((values.v[0], values.judge(0, BF16.round(0.1))), (0.1, Verdict::Held));
    assert_eq!(values.judge(0, BF16.round(0.1) + BF16.ulp(0.1)), Verdict::Failed);
}

/// The bound of one addition is half an ULP: what is an ULP off is refused.
#[test]
fn a_result_one_ulp_beyond_is_refused() {
    for dtype in [F32, BF16, F16, F64] {
        let x = [dtype.round(1.3)];
        let values = bound(
            &[("X", dtype, &[1], &x), ("Y", dtype, &[1], &x)],
            &format!("  r = add x, y : {dtype}[1]"),
            (dtype, &[1]),
        );
        let right = dtype.round(2.0 * x[0]);
        assert_eq!(values.judge(0, right), Verdict::Held);
        let step = dtype.ulp(right) * if dtype == F64 { 2.0 } else { 1.0 };
        for wrong in [right + step, right - step, NAN, INF] {
            assert_eq!(values.judge(0, wrong), Verdict::Failed, "{dtype}: {wrong}");
        }
    }
}

/// A product of matrices with the k dimension folded, and its operands.
fn matmul(m: usize, k: usize, n: usize, dtype: DType) -> (Program, Inputs, Vec<f64>, Vec<f64>) {
    let b = Builder::new("matmul");
    let (x, y) = (b.input("x", dtype, &[m, k]), b.input("y", dtype, &[k, n]));
    let o = b.output("o", F32, &[m, n]);
    let [i] = b.grid([("i", 1)]);
    let zero = b.splat(0.0, F32, &[m, n]);
    let [acc] =
        b.fold("k", 0, k / 8, [zero], |k, [c]| [x.load((i, k), &[m, 8]).dot(y.load((k, i), &[8, n]), c)]);
    o.store((i, 0), acc);
    let wave = |i: usize, s: f64| dtype.round((i as f64 * s).sin());
    let xs: Vec<f64> = (0..m * k).map(|i| wave(i, 0.7)).collect();
    let ys: Vec<f64> = (0..k * n).map(|i| wave(i, 1.3)).collect();
    let tensor = |dims: &[usize], v: &[f64]| Tensor::from_f64(dtype, dims, v).unwrap();
    let inputs = Inputs::from([("x".into(), tensor(&[m, k], &xs)), ("y".into(), tensor(&[k, n], &ys))]);
    (Program::single(b.finish().unwrap()), inputs, xs, ys)
}

#[test]
fn a_bf16_dot_is_f32_arithmetic_on_rounded_inputs() {
    let (m, k, n) = (5, 48, 7);
    let (program, inputs, xs, ys) = matmul(m, k, n, BF16);
    let exact = &run(&program, &inputs, Domain::Exact, &Options::default()).unwrap().outputs["o"];
    let bound = &run(&program, &inputs, BOUND, &Options::default()).unwrap().outputs["o"];
    for i in 0..m * n {
        let terms = || (0..k).map(|j| (xs[i / n * k + j] as f32, ys[j * n + i % n] as f32));
        let forward = terms().fold(0f32, |s, (x, y)| s + x * y);
        assert_eq!(exact.v[i], f64::from(forward));
        let backward = terms().rev().fold(0f32, |s, (x, y)| x.mul_add(y, s));
        for legal in [forward, backward] {
            assert_eq!(bound.judge(i, legal.into()), Verdict::Held);
        }
        // The sum of absolute products is below k: the bound is below gamma(k + 1) k, and a lost term shows.
        assert!(bound.bound(i) > 0.0 && bound.bound(i) < 1.01 * (k * (k + 8)) as f64 * 2f64.powi(-24));
        let (x, y) = terms().next().unwrap();
        if (x * y).abs() > 1e-3 {
            assert_eq!(bound.judge(i, f64::from(forward - x * y)), Verdict::Failed);
        }
    }
}

#[test]
fn flushed_denormals_are_legal_only_where_the_target_flushes() {
    let tiny = F32.min_normal() / 4.0;
    let given: &[Given] = &[("X", F32, &[1], &[tiny])];
    let body = "  r = add x, x : f32[1]";
    assert_eq!(bound(given, body, (F32, &[1])).judge(0, 0.0), Verdict::Failed);
    let flushing = Domain::Bound(Accuracy { flushes_denormals: true, ..Accuracy::ieee() });
    assert_eq!(eval(flushing, given, body, (F32, &[1])).judge(0, 0.0), Verdict::Held);
    // Only the dot of bf16: x * 2^126 loses all of x.
    let given: &[Given] = &[
        ("X", BF16, &[1, 1], &[tiny]),
        ("Y", BF16, &[1, 1], &[2f64.powi(126)]),
        ("C", F32, &[1, 1], &[0.0]),
    ];
    let body = "  r = dot x, y, c : f32[1,1]";
    assert_eq!(bound(given, body, (F32, &[1, 1])).judge(0, 0.0), Verdict::Failed);
    let flushing = Domain::Bound(Accuracy { dot_flushes_denormals: true, ..Accuracy::ieee() });
    assert_eq!(eval(flushing, given, body, (F32, &[1, 1])).judge(0, 0.0), Verdict::Held);
}

#[test]
fn combined_sums_may_come_in_any_order() {
    let b = Builder::new("combined");
    let x = b.input("x", F32, &[64]);
    let o = b.output_combined("o", F32, &[1], ReduceOp::Add);
    let [i] = b.grid([("i", 64)]);
    o.store((0,), x.load((i,), &[1]));
    let program = Program::single(b.finish().unwrap());
    let xs: Vec<f32> = (0..64).map(|i| ((i * i) as f32).sin() * 2f32.powi(i % 12)).collect();
    let wide: Vec<f64> = xs.iter().map(|&x| x.into()).collect();
    let inputs = Inputs::from([("x".into(), Tensor::from_f64(F32, &[64], &wide).unwrap())]);
    let values = &run(&program, &inputs, BOUND, &Options::default()).unwrap().outputs["o"];
    let forward: f32 = xs.iter().sum();
    let backward: f32 = xs.iter().rev().sum();
    assert_ne!(forward, backward);
    for sum in [forward, backward] {
        assert_eq!(values.judge(0, sum.into()), Verdict::Held);
    }
    assert_eq!(values.judge(0, f64::from(forward) + 10.0), Verdict::Failed);
}

#[test]
fn accuracy_survives_json() {
    let json = serde_json::to_string(&Accuracy::ieee()).unwrap();
    assert_eq!(serde_json::from_str::<Accuracy>(&json).unwrap(), Accuracy::default());
}
