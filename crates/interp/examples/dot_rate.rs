//! How fast each domain multiplies matrices, on one thread: `cargo run --release --example dot_rate`.

use std::time::Instant;

use tilewright_diag::Result;
use tilewright_dtype::{DType, Tensor};
use tilewright_interp::{Accuracy, Domain, Inputs, Options, run};
use tilewright_ir::{Builder, Program};

fn main() -> Result<()> {
    for (name, factor, domain) in [
        ("exact", None, Domain::Exact),
        ("float64", None, Domain::Float64),
        ("bound", None, Domain::Bound(Accuracy::ieee())),
        ("bound, inexact operand", Some(1.1), Domain::Bound(Accuracy::ieee())),
    ] {
        let (program, inputs, flops) = matmul(factor)?;
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            run(&program, &inputs, domain, &Options { parallel: false })?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{name:24} {:6.2} GFLOP/s", flops / best / 1e9);
    }
    Ok(())
}

/// A product of f32 matrices in tiles of 64 by 256 by 64, the first times `factor`, which makes it inexact.
fn matmul(factor: Option<f64>) -> Result<(Program, Inputs, f64)> {
    let (m, k, n, steps) = (64, 256, 64, 16);
    let b = Builder::new("matmul");
    let (x, y) = (b.input("x", DType::F32, &[m, k * steps]), b.input("y", DType::F32, &[k * steps, n]));
    let o = b.output("o", DType::F32, &[m, n]);
    let [i] = b.grid([("i", 1)]);
    let zero = b.splat(0.0, DType::F32, &[m, n]);
    let [acc] = b.fold("k", 0, steps, [zero], |s, [c]| {
        let block = x.load((i, s), &[m, k]);
        [factor.map_or(block, |f| block * f).dot(y.load((s, i), &[k, n]), c)]
    });
    o.store((i, 0), acc);
    let program = Program::single(b.finish()?);
    let wave = |dims: &[usize]| {
        let values: Vec<f64> = (0..dims.iter().product()).map(|i: usize| (i as f64).sin()).collect();
        Tensor::from_f64(DType::F32, dims, &values)
    };
    let inputs = Inputs::from([("x".into(), wave(&[m, k * steps])?), ("y".into(), wave(&[k * steps, n])?)]);
    Ok((program, inputs, (2 * m * k * n * steps) as f64))
}
