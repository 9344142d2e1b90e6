//! Softmax of rows.

use std::collections::BTreeMap;

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program};

use super::rows::{self, Cut};
use crate::family::{Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Problem};

pub struct Softmax;

impl Family for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn about(&self) -> &'static str {
        "y[i,j] = exp(x[i,j] - m[i]) / sum over l of exp(x[i,l] - m[i]) with m[i] = max over l of x[i,l]; \
         a row of only -inf, or with +inf or NaN, is NaN"
    }

    fn keys(&self) -> &'static [Key] {
        rows::ROW_KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("softmax.rs")
    }

    fn default_config(&self, p: &Problem, machine: &Machine) -> Config {
        rows::row_config(p, machine, 2)
    }

    fn space(&self, p: &Problem, machine: &Machine) -> Space {
        rows::row_space(p, machine, 2)
    }

    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let cut = Cut::of(p, c)?;
        let b = Builder::new("softmax");
        let x = b.input_padded("x", p.dtype(), &[cut.rows, cut.cols], f64::NEG_INFINITY);
        let y = b.output("y", p.dtype(), &[cut.rows, cut.cols]);
        let i = cut.grid(&b);
        if cut.whole() {
            let x = x.load((i, 0), &cut.tile()).cast(DType::F32);
            let e = (x - x.max_along(1)).exp();
            y.store((i, 0), (e * (1.0 / e.sum(1))).cast(p.dtype()));
        } else {
            let load = |j| x.load((i, j), &cut.tile()).cast(DType::F32);
            let [m, l] = rows::max_and_sum(&b, cut, load);
            let r = 1.0 / l;
            b.fold("j", 0, cut.blocks, [], |j, []| {
                y.store((i, j), ((load(j) - m).exp() * r).cast(p.dtype()));
                []
            });
        }
        b.finish().map(Program::single)
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let mut y = rows::values(inputs, "x")?;
        for row in y.chunks_mut(p.dim("cols")) {
            let m = rows::greatest(row);
            row.iter_mut().for_each(|v| *v = (*v - m).exp());
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|v| *v /= sum);
        }
        Ok(BTreeMap::from([("y".to_string(), y)]))
    }

    /// Three operations an element (subtract, sum, scale) and one exp.
    fn work(&self, p: &Problem) -> Work {
        let n = p.dim("rows") as f64 * p.dim("cols") as f64;
        Work { flops: 3.0 * n, bytes: rows::bytes(p.dtype(), 2.0 * n), transcendentals: n }
    }

    fn rows(&self) -> Option<&'static str> {
        Some("rows")
    }
}
