//! Layer normalisation of rows.

use std::collections::BTreeMap;

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program, Tile};

use super::rows::{self, Cut, FLOATS};
use crate::family::{Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Kind, Problem};

pub struct LayerNorm;

static KEYS: &[Key] = &[
    Key::dim("rows", "independent rows"),
    Key::dim("cols", "elements of a row"),
    Key { name: "dtype", kind: Kind::DType(FLOATS), about: "element type" },
    Key { name: "residual", kind: Kind::Flag, about: "normalise x + r, and return the sum too" },
    Key { name: "eps", kind: Kind::Choice(&["1e-5", "1e-6", "1e-12"]), about: "added to the variance" },
];

impl Family for LayerNorm {
    fn name(&self) -> &'static str {
        "layernorm"
    }

    fn about(&self) -> &'static str {
        "y[i,j] = (x[i,j] - mean[i]) / sqrt(variance[i] + eps) * w[j] + bias[j], the variance over cols (not cols - 1); \
         with residual, x + r (in f32, before it is rounded to the output `sum`) stands for x"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("layernorm.rs")
    }

    fn default_config(&self, p: &Problem, machine: &Machine) -> Config {
        rows::row_config(p, machine, 3)
    }

    fn space(&self, p: &Problem, machine: &Machine) -> Space {
        rows::row_space(p, machine, 3)
    }

    /// The variance sums squares of differences from the mean, a pass of its own, and never takes the difference of
    /// two large sums.
    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let (cut, dtype, eps) = (Cut::of(p, c)?, p.dtype(), rows::eps(p));
        let b = Builder::new("layernorm");
        let x = rows::Summed::declare(&b, p, cut);
        let [w, bias] = ["w", "bias"].map(|name| b.input_padded(name, dtype, &[1, cut.cols], 0.0));
        let y = b.output("y", dtype, &[cut.rows, cut.cols]);
        let i = cut.grid(&b);
        let write = |j, centred: Tile<'_>, scale| {
            let [w, bias] = [w, bias].map(|a| a.load((0, j), &[1, cut.bc]).cast(DType::F32));
            y.store((i, j), (centred * scale * w + bias).cast(dtype));
        };
        if cut.whole() {
            let zero = b.int(0);
            let t = x.load(i, zero);
            x.keep(i, zero, t);
            let centred = t - cut.mean(t.sum(1));
            write(zero, centred, (cut.mean((centred * centred).sum(1)) + eps).rsqrt());
        } else {
            let [sum] = b.fold("j", 0, cut.blocks, [cut.column(&b, 0.0)], |j, [sum]| {
                let t = x.load(i, j);
                x.keep(i, j, t);
                [sum + t.sum(1)]
            });
            let mean = cut.mean(sum);
            let [squares] = b.fold("j", 0, cut.blocks, [cut.column(&b, 0.0)], |j, [squares]| {
                let centred = cut.columns(&b, j).lt(cut.cols).select(x.load(i, j) - mean, 0.0);
                [squares + (centred * centred).sum(1)]
            });
            let scale = (cut.mean(squares) + eps).rsqrt();
            b.fold("j", 0, cut.blocks, [], |j, []| {
                write(j, x.load(i, j) - mean, scale);
                []
            });
        }
        b.finish().map(Program::single)
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let (mut outputs, x) = rows::residual_reference(p, inputs)?;
        let (w, bias) = (rows::values(inputs, "w")?, rows::values(inputs, "bias")?);
        let mut y = Vec::with_capacity(x.len());
        for row in x.chunks(p.dim("cols")) {
            let n = row.len() as f64;
            let mean = row.iter().sum::<f64>() / n;
            let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
            let deviation = (variance + rows::eps(p)).sqrt();
            y.extend(row.iter().zip(&w).zip(&bias).map(|((v, w), bias)| (v - mean) / deviation * w + bias));
        }
        outputs.insert("y".to_string(), y);
        Ok(outputs)
    }

    /// Seven operations an element (sum, subtract, square, sum, two products, bias), one more for the residual; one
    /// rsqrt a row.
    fn work(&self, p: &Problem) -> Work {
        let (m, n, residual) = (p.dim("rows") as f64, p.dim("cols") as f64, p.flag("residual"));
        let arrays = if residual { 4.0 } else { 2.0 };
        let flops = m * n * if residual { 8.0 } else { 7.0 };
        Work { flops, bytes: rows::bytes(p.dtype(), (arrays * m + 2.0) * n), transcendentals: m }
    }

    fn overflows(&self) -> Option<&'static str> {
        Some("sums of a row and of its squares")
    }

    fn rows(&self) -> Option<&'static str> {
        Some("rows")
    }
}
