//! Runs a few ops written in the text form.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at its first fault")]

use tilewright_dtype::{DType, Tensor};
use tilewright_interp::{Domain, Inputs, Options, Outcome, Values, run};
use tilewright_ir::{Program, parse};

/// An input: name (upper case), element type, dimensions, values.
pub type Given<'a> = (&'a str, DType, &'a [usize], &'a [f64]);

/// A program that loads each input whole under its name in lower case, runs `body`, and stores `r` as `O`.
pub fn text(given: &[Given], body: &str, (dtype, dims): (DType, &[usize])) -> String {
    let ty = |dtype: DType, dims: &[usize]| format!("{dtype}{}", tilewright_ir::Shape::new(dims).unwrap());
    let zeros = |dims: &[usize]| vec!["0"; dims.len()].join(", ");
    let operands: Vec<String> = given.iter().map(|(n, d, s, _)| format!("{n}: {}", ty(*d, s))).collect();
    let loads: Vec<String> = given
        .iter()
        .map(|(n, d, s, _)| format!("  {} = load {n}[{}] : {}\n", n.to_lowercase(), zeros(s), ty(*d, s)))
        .collect();
    format!(
        "kernel test({}) -> (O: {})\ngrid (i: 1) {{\n{}{body}\n  store O[{}], r\n}}\n",
        operands.join(", "),
        ty(dtype, dims),
        loads.concat(),
        zeros(dims)
    )
}

/// The inputs as tensors.
pub fn tensors(given: &[Given]) -> Inputs {
    given
        .iter()
        .map(|(name, dtype, dims, values)| {
            (name.to_string(), Tensor::from_f64(*dtype, dims, values).unwrap())
        })
        .collect()
}

pub fn parsed(text: &str) -> Program {
    parse(text, "test.tw").unwrap_or_else(|d| panic!("{d}\n{text}"))
}

/// Runs it; nothing must be reported.
pub fn eval(domain: Domain, given: &[Given], body: &str, out: (DType, &[usize])) -> Values {
    let outcome = outcome(domain, given, body, out);
    assert!(outcome.report.is_empty(), "{:?}", outcome.report);
    outcome.outputs.into_values().next().unwrap()
}

pub fn outcome(domain: Domain, given: &[Given], body: &str, out: (DType, &[usize])) -> Outcome {
    let program = parsed(&text(given, body, out));
    run(&program, &tensors(given), domain, &Options::default()).unwrap_or_else(|d| panic!("{d}"))
}

/// Equal, NaN to NaN.
#[allow(dead_code, reason = "not every test file compares values")]
pub fn assert_same(got: &[f64], want: &[f64], what: &str) {
    let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
    assert!(
        got.len() == want.len() && got.iter().zip(want).all(same),
        "{what}: {got:?} where {want:?} belongs"
    );
}
