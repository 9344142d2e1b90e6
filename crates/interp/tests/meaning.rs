//! The meaning of every op, pinned by examples in exact dtypes.

#![allow(clippy::unwrap_used, reason = "a test stops at its first fault")]

mod common;

use common::{Given, assert_same, eval};
use tilewright_dtype::DType::{self, *};
use tilewright_interp::Domain;
use tilewright_ir::{BinaryOp, CmpOp, Form, OPS, ReduceOp, UnaryOp};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// Checks that `body` on the inputs makes `want`.
fn pin(given: &[Given], body: &str, out: (DType, &[usize]), want: &[f64]) {
    let got = eval(Domain::Exact, given, body, out);
    assert_same(&got.v, want, body);
}

fn unary(name: &str, dtype: DType, x: &[f64], want: &[f64]) {
    let ty = (dtype, &[x.len()][..]);
    pin(&[("X", ty.0, ty.1, x)], &format!("  r = {name} x : {dtype}[{}]", x.len()), ty, want);
}

fn binary(name: &str, dtype: DType, x: &[f64], y: &[f64], want: &[f64]) {
    let ty = (dtype, &[x.len()][..]);
    let body = format!("  r = {name} x, y : {dtype}[{}]", x.len());
    pin(&[("X", ty.0, ty.1, x), ("Y", ty.0, ty.1, y)], &body, ty, want);
}

fn compare(name: &str, want: [f64; 5]) {
    let (x, y) = ([1.0, 2.0, 3.0, NAN, INF], [2.0, 2.0, 2.0, 2.0, INF]);
    let dims = &[5][..];
    pin(
        &[("X", F32, dims, &x), ("Y", F32, dims, &y)],
        &format!("  r = {name} x, y : bool[5]"),
        (Bool, dims),
        &want,
    );
}

fn cast(from: DType, to: DType, x: &[f64], want: &[f64]) {
    let n = &[x.len()][..];
    pin(&[("X", from, n, x)], &format!("  r = cast x : {to}[{}]", x.len()), (to, n), want);
}

fn f32s<const N: usize>(x: [f32; N]) -> [f64; N] {
    x.map(f64::from)
}

const LEAST: f64 = i32::MIN as f64;
const MOST: f64 = i32::MAX as f64;

fn unary_meaning(op: UnaryOp) {
    match op {
        UnaryOp::Neg => {
            unary("neg", F32, &[1.5, -INF, NAN], &[-1.5, INF, NAN]);
            unary("neg", I32, &[7.0, LEAST], &[-7.0, LEAST]);
        }
        UnaryOp::Abs => {
            unary("abs", BF16, &[-1.5, -INF, 2.0], &[1.5, INF, 2.0]);
            unary("abs", I32, &[-7.0, LEAST], &[7.0, LEAST]);
        }
        UnaryOp::Exp => {
            let x = [1.0, 0.0, -INF, INF, 89.0, NAN];
            unary("exp", F32, &x, &[f64::from(std::f32::consts::E), 1.0, 0.0, INF, INF, NAN]);
            unary("exp", BF16, &[1.0], &[2.71875]);
        }
        UnaryOp::Log => {
            let x = [2.0, 1.0, 0.0, -1.0, INF];
            unary("log", F32, &x, &[f64::from(std::f32::consts::LN_2), 0.0, -INF, NAN, INF]);
        }
        UnaryOp::Tanh => unary("tanh", F32, &[1.0, 0.0, -INF], &f32s([0.761_594_2, 0.0, -1.0])),
        UnaryOp::Erf => unary("erf", F32, &[0.5, 0.0, INF], &f32s([0.520_499_9, 0.0, 1.0])),
        UnaryOp::Sqrt => {
            unary("sqrt", F32, &[2.0, 0.0, -1.0, INF], &[f64::from(std::f32::consts::SQRT_2), 0.0, NAN, INF]);
            unary("sqrt", F16, &[2.0], &[1.4140625]);
        }
        UnaryOp::Rsqrt => unary("rsqrt", F32, &[4.0, 0.0, INF, -1.0], &[0.5, INF, 0.0, NAN]),
        UnaryOp::Floor => unary("floor", F32, &[1.5, -1.5, 2.0, -INF], &[1.0, -2.0, 2.0, -INF]),
        UnaryOp::Round => unary("round", F32, &[0.5, 1.5, 2.5, -0.6], &[0.0, 2.0, 2.0, -1.0]),
        UnaryOp::Not => {
            unary("not", Bool, &[0.0, 1.0], &[1.0, 0.0]);
            unary("not", I32, &[0.0, -1.0, 5.0], &[-1.0, 0.0, -6.0]);
        }
    }
}

fn binary_meaning(op: BinaryOp) {
    match op {
        BinaryOp::Add => {
            // 257 lies between two bf16 and rounds to the even one.
            binary("add", BF16, &[256.0, INF, 1.0], &[1.0, -INF, 2.0], &[256.0, NAN, 3.0]);
            binary("add", I32, &[MOST], &[1.0], &[LEAST]);
        }
        BinaryOp::Sub => {
            binary("sub", F16, &[2048.0, 1.0], &[-1.0, 3.0], &[2048.0, -2.0]);
            binary("sub", I32, &[LEAST], &[1.0], &[MOST]);
        }
        BinaryOp::Mul => {
            binary("mul", F32, &[1e30, 0.0, -2.0], &[1e30, INF, 3.0], &[INF, NAN, -6.0]);
            binary("mul", I32, &[65537.0, 123456789.0], &[65537.0, 987654321.0], &[131073.0, -67153019.0]);
        }
        BinaryOp::Div => {
            binary("div", F32, &[1.0, 1.0, 0.0], &[3.0, 0.0, 0.0], &[f64::from(1.0f32 / 3.0), INF, NAN]);
            let (x, y) = ([7.0, -7.0, 7.0, -7.0, LEAST], [2.0, 2.0, -2.0, -2.0, -1.0]);
            binary("div", I32, &x, &y, &[3.0, -4.0, -4.0, 3.0, LEAST]);
        }
        BinaryOp::Rem => {
            binary("rem", I32, &[7.0, -7.0, 7.0, -7.0], &[2.0, 2.0, -2.0, -2.0], &[1.0, 1.0, -1.0, -1.0]);
        }
        BinaryOp::Min => binary("min", F32, &[1.0, NAN, 1.0], &[2.0, 1.0, NAN], &[1.0, NAN, NAN]),
        BinaryOp::Max => binary("max", F32, &[1.0, NAN, -INF], &[2.0, 1.0, 5.0], &[2.0, NAN, 5.0]),
        BinaryOp::And => {
            binary("and", Bool, &[0.0, 1.0, 1.0], &[1.0, 0.0, 1.0], &[0.0, 0.0, 1.0]);
            binary("and", I32, &[-1.0, 12.0], &[6.0, 10.0], &[6.0, 8.0]);
        }
        BinaryOp::Or => {
            binary("or", Bool, &[0.0, 1.0, 0.0], &[1.0, 0.0, 0.0], &[1.0, 1.0, 0.0]);
            binary("or", I32, &[-8.0, 12.0], &[1.0, 10.0], &[-7.0, 14.0]);
        }
        BinaryOp::Xor => {
            binary("xor", Bool, &[0.0, 1.0], &[1.0, 1.0], &[1.0, 0.0]);
            binary("xor", I32, &[-1.0, 12.0], &[1.0, 10.0], &[-2.0, 6.0]);
        }
    }
}

fn reduce_meaning(op: ReduceOp) {
    let dims = &[2, 3][..];
    let x = [1.0, 2.0, 3.0, -4.0, NAN, 6.0];
    let reduce = |name: &str, dim: usize, out: &[usize], want: &[f64]| {
        let shape = if dim == 0 { "[1,3]" } else { "[2,1]" };
        pin(&[("X", F32, dims, &x)], &format!("  r = {name} x, {dim} : f32{shape}"), (F32, out), want);
    };
    match op {
        ReduceOp::Add => {
            reduce("reduce_add", 1, &[2, 1], &[6.0, NAN]);
            reduce("reduce_add", 0, &[1, 3], &[-3.0, NAN, 9.0]);
            // Partial sums in f32: in bf16, 256 + 1 would stay 256.
            let x = [256.0, 1.0, 1.0];
            pin(&[("X", BF16, &[3], &x)], "  r = reduce_add x, 0 : bf16[1]", (BF16, &[1]), &[258.0]);
            // In f32 itself they round: 2^24 + 1 stays 2^24.
            let x = [16777216.0, 1.0, 1.0];
            pin(&[("X", F32, &[3], &x)], "  r = reduce_add x, 0 : f32[1]", (F32, &[1]), &[16777216.0]);
            let x = [MOST, 1.0, 1.0];
            pin(&[("X", I32, &[3], &x)], "  r = reduce_add x, 0 : i32[1]", (I32, &[1]), &[LEAST + 1.0]);
        }
        ReduceOp::Max => {
            reduce("reduce_max", 1, &[2, 1], &[3.0, NAN]);
            reduce("reduce_max", 0, &[1, 3], &[1.0, NAN, 6.0]);
        }
        ReduceOp::Min => {
            reduce("reduce_min", 1, &[2, 1], &[1.0, NAN]);
            reduce("reduce_min", 0, &[1, 3], &[-4.0, NAN, 3.0]);
        }
    }
}

fn cast_meaning() {
    cast(F32, BF16, &[257.0, 1e39, 1.0], &[256.0, INF, 1.0]);
    cast(F32, F8E4M3, &[500.0, 448.0, INF], &[NAN, 448.0, NAN]);
    cast(F32, I8, &[300.0, -300.0, NAN, 1.9, -1.9], &[127.0, -128.0, 0.0, 1.0, -1.0]);
    cast(F32, I4, &[7.9, -9.0], &[7.0, -8.0]);
    cast(I32, U8, &[257.0, -1.0], &[1.0, 255.0]);
    cast(I32, I4, &[8.0, 17.0], &[-8.0, 1.0]);
    cast(I32, F16, &[2049.0, 70000.0], &[2048.0, INF]);
    cast(F32, Bool, &[0.0, -0.0, 0.5, NAN], &[0.0, 0.0, 1.0, 1.0]);
    cast(Bool, F32, &[0.0, 1.0], &[0.0, 1.0]);
    cast(I4, F32, &[-8.0, 7.0, 3.0], &[-8.0, 7.0, 3.0]);
}

fn dot_meaning() {
    let (x, y) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    let c = [100.0, 200.0, 300.0, 400.0];
    pin(
        &[("X", F16, &[2, 3], &x), ("Y", F16, &[3, 2], &y), ("C", F32, &[2, 2], &c)],
        "  r = dot x, y, c : f32[2,2]",
        (F32, &[2, 2]),
        &[104.0, 205.0, 310.0, 411.0],
    );
    // Every partial sum rounds in the accumulator's dtype, in order of k.
    pin(
        &[
            ("X", F32, &[1, 2], &[1.0, 1.0]),
            ("Y", F32, &[2, 1], &[1.0, 1.0]),
            ("C", F32, &[1, 1], &[16777216.0]),
        ],
        "  r = dot x, y, c : f32[1,1]",
        (F32, &[1, 1]),
        &[16777216.0],
    );
    // Batches, and integers that wrap.
    pin(
        &[
            ("X", U8, &[2, 1, 1], &[255.0, 2.0]),
            ("Y", I8, &[2, 1, 1], &[-128.0, 3.0]),
            ("C", I32, &[2, 1, 1], &[LEAST, 1.0]),
        ],
        "  r = dot x, y, c : i32[2,1,1]",
        (I32, &[2, 1, 1]),
        &[LEAST - 255.0 * 128.0 + 4294967296.0, 7.0],
    );
}

fn movement_meaning(form: Form) {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let given: &[Given] = &[("X", F32, &[2, 3], &x)];
    let small: &[Given] = &[("X", F32, &[2, 1], &[1.0, 2.0])];
    match form {
        Form::Broadcast => {
            pin(small, "  r = broadcast x : f32[2,2]", (F32, &[2, 2]), &[1.0, 1.0, 2.0, 2.0]);
            pin(&[], "  s = splat 2.5 : f32[]\n  r = broadcast s : f32[3]", (F32, &[3]), &[2.5; 3]);
        }
        Form::Reshape => pin(given, "  r = reshape x : f32[3,2]", (F32, &[3, 2]), &x),
        Form::Transpose => {
            pin(
                given,
                "  r = transpose x, [1, 0] : f32[3,2]",
                (F32, &[3, 2]),
                &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0],
            );
            let x: Vec<f64> = (0..6).map(f64::from).collect();
            pin(
                &[("X", I32, &[1, 2, 3], &x)],
                "  r = transpose x, [2, 0, 1] : i32[3,1,2]",
                (I32, &[3, 1, 2]),
                &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0],
            );
        }
        Form::Slice => pin(given, "  r = slice x, [0, 1] : f32[2,2]", (F32, &[2, 2]), &[2.0, 3.0, 5.0, 6.0]),
        Form::Concat => {
            let given = [given[0], small[0]].map(|(n, d, s, v)| (if s[1] == 1 { "Y" } else { n }, d, s, v));
            let want = [1.0, 2.0, 3.0, 1.0, 4.0, 5.0, 6.0, 2.0];
            pin(&given, "  r = concat x, y, 1 : f32[2,4]", (F32, &[2, 4]), &want);
        }
        _ => pin(&[], "  r = iota 1 : i32[2,3]", (I32, &[2, 3]), &[0.0, 1.0, 2.0, 0.0, 1.0, 2.0]),
    }
}

fn memory_meaning() {
    // Block index times tile shape; pad past the edge; what would be stored past the edge is dropped.
    let text = "\
kernel test(X: f32[5] pad -1.0) -> (O: f32[5])
grid (i: 2) {
  x = load X[i] : f32[4]
  s = reduce_add x, 0 : f32[1]
  b = broadcast s : f32[4]
  r = add x, b : f32[4]
  store O[i], r
}
";
    let inputs = common::tensors(&[("X", F32, &[5], &[1.0, 2.0, 3.0, 4.0, 5.0])]);
    let options = tilewright_interp::Options::default();
    let outcome = tilewright_interp::run(&common::parsed(text), &inputs, Domain::Exact, &options).unwrap();
    assert!(outcome.report.is_empty(), "{:?}", outcome.report);
    assert_same(&outcome.outputs["O"].v, &[11.0, 12.0, 13.0, 14.0, 7.0], "load and store");
}

fn control_meaning(form: Form) {
    let fold = "\
  z = splat 1.0 : f32[2]
  r = fold k in 0..3 (c = z) {
    t = mul c, x : f32[2]
    yield t
  }";
    let branch = "\
  n = splat 3.0 : f32[]
  m = splat 2.0 : f32[]
  q = lt n, m : bool[]
  r = if q {
    yield x
  } else {
    t = neg x : f32[2]
    yield t
  }";
    let given: &[Given] = &[("X", F32, &[2], &[2.0, 3.0])];
    match form {
        Form::Fold => {
            pin(given, fold, (F32, &[2]), &[8.0, 27.0]);
            pin(given, &fold.replace("0..3", "3..3"), (F32, &[2]), &[1.0, 1.0]);
            pin(given, &fold.replace("0..3", "3..1"), (F32, &[2]), &[1.0, 1.0]);
        }
        Form::If => {
            pin(given, branch, (F32, &[2]), &[-2.0, -3.0]);
            pin(given, &branch.replace("lt", "gt"), (F32, &[2]), &[2.0, 3.0]);
        }
        _ => {
            let given: &[Given] = &[
                ("C", Bool, &[2], &[1.0, 0.0]),
                ("X", F16, &[2], &[1.0, NAN]),
                ("Y", F16, &[2], &[NAN, 4.0]),
            ];
            pin(given, "  r = select c, x, y : f16[2]", (F16, &[2]), &[1.0, 4.0]);
        }
    }
}

fn lookup_meaning() {
    let text = "\
kernel test(T: table[3] 0..=9, n: scalar 0..=2) -> (O: i32[1])
grid (i: 1) {
  t = lookup T[n] : i32[]
  r = broadcast t : i32[1]
  store O[0], r
}
";
    let inputs = common::tensors(&[("T", I32, &[3], &[7.0, 8.0, 9.0]), ("n", I32, &[], &[2.0])]);
    let options = tilewright_interp::Options::default();
    let outcome = tilewright_interp::run(&common::parsed(text), &inputs, Domain::Exact, &options).unwrap();
    assert_same(&outcome.outputs["O"].v, &[9.0], "lookup");
}

fn meaning(form: Form) {
    match form {
        Form::Splat => {
            pin(&[], "  r = splat 257.0 : bf16[2]", (BF16, &[2]), &[256.0; 2]);
            pin(&[], "  r = splat true : bool[1]", (Bool, &[1]), &[1.0]);
        }
        Form::Load | Form::Store => memory_meaning(),
        Form::Lookup => lookup_meaning(),
        Form::Cast => cast_meaning(),
        Form::Unary(op) => unary_meaning(op),
        Form::Binary(op) => binary_meaning(op),
        Form::Compare(CmpOp::Eq) => compare("eq", [0.0, 1.0, 0.0, 0.0, 1.0]),
        Form::Compare(CmpOp::Ne) => compare("ne", [1.0, 0.0, 1.0, 1.0, 0.0]),
        Form::Compare(CmpOp::Lt) => compare("lt", [1.0, 0.0, 0.0, 0.0, 0.0]),
        Form::Compare(CmpOp::Le) => compare("le", [1.0, 1.0, 0.0, 0.0, 1.0]),
        Form::Compare(CmpOp::Gt) => compare("gt", [0.0, 0.0, 1.0, 0.0, 0.0]),
        Form::Compare(CmpOp::Ge) => compare("ge", [0.0, 1.0, 1.0, 0.0, 1.0]),
        Form::Select | Form::Fold | Form::If => control_meaning(form),
        Form::Iota | Form::Broadcast | Form::Reshape | Form::Transpose | Form::Slice | Form::Concat => {
            movement_meaning(form);
        }
        Form::Reduce(op) => reduce_meaning(op),
        Form::Dot => dot_meaning(),
    }
}

/// The match above has no wildcard: a new op does not compile until its meaning is pinned.
#[test]
fn every_op_means_what_its_examples_say() {
    for op in OPS {
        meaning(op.form);
    }
}
