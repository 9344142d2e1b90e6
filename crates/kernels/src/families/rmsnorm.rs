//! Root-mean-square normalisation of rows.

use std::collections::BTreeMap;

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program, Tile};

use super::rows::{self, Cut, FLOATS};
use crate::family::{Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Kind, Problem};

pub struct RmsNorm;

static KEYS: &[Key] = &[
    Key::dim("rows", "independent rows"),
    Key::dim("cols", "elements of a row"),
    Key { name: "dtype", kind: Kind::DType(FLOATS), about: "element type" },
    Key { name: "residual", kind: Kind::Flag, about: "normalise x + r, and return the sum too" },
    Key { name: "eps", kind: Kind::Choice(&["1e-6", "1e-5"]), about: "added to the mean square" },
];

impl Family for RmsNorm {
    fn name(&self) -> &'static str {
        "rmsnorm"
    }

    fn about(&self) -> &'static str {
        "y[i,j] = x[i,j] / sqrt(mean over l of x[i,l]^2 + eps) * w[j]; with residual, x + r (in f32, before it is \
         rounded to the output `sum`) stands for x"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("rmsnorm.rs")
    }

    fn default_config(&self, p: &Problem, machine: &Machine) -> Config {
        rows::row_config(p, machine, 3)
    }

    fn space(&self, p: &Problem, machine: &Machine) -> Space {
        rows::row_space(p, machine, 3)
    }

    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let (cut, dtype, eps) = (Cut::of(p, c)?, p.dtype(), rows::eps(p));
        let b = Builder::new("rmsnorm");
        let x = rows::Summed::declare(&b, p, cut);
        let w = b.input_padded("w", dtype, &[1, cut.cols], 0.0);
        let y = b.output("y", dtype, &[cut.rows, cut.cols]);
        let i = cut.grid(&b);
        let write = |j, x: Tile<'_>, scale| {
            let w = w.load((0, j), &[1, cut.bc]).cast(DType::F32);
            y.store((i, j), (x * scale * w).cast(dtype));
        };
        if cut.whole() {
            let zero = b.int(0);
            let t = x.load(i, zero);
            x.keep(i, zero, t);
            write(zero, t, (cut.mean((t * t).sum(1)) + eps).rsqrt());
        } else {
            let [squares] = b.fold("j", 0, cut.blocks, [cut.column(&b, 0.0)], |j, [squares]| {
                let t = x.load(i, j);
                x.keep(i, j, t);
                [squares + (t * t).sum(1)]
            });
            let scale = (cut.mean(squares) + eps).rsqrt();
            b.fold("j", 0, cut.blocks, [], |j, []| {
                write(j, x.load(i, j), scale);
                []
            });
        }
        b.finish().map(Program::single)
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let (mut outputs, x) = rows::residual_reference(p, inputs)?;
        let w = rows::values(inputs, "w")?;
        let mut y = Vec::with_capacity(x.len());
        for row in x.chunks(p.dim("cols")) {
            let mean = row.iter().map(|v| v * v).sum::<f64>() / row.len() as f64;
            y.extend(row.iter().zip(&w).map(|(v, w)| v / (mean + rows::eps(p)).sqrt() * w));
        }
        outputs.insert("y".to_string(), y);
        Ok(outputs)
    }

    /// Four operations an element (square, sum, two products), one more for the residual; one rsqrt a row.
    fn work(&self, p: &Problem) -> Work {
        let (m, n, residual) = (p.dim("rows") as f64, p.dim("cols") as f64, p.flag("residual"));
        let arrays = if residual { 4.0 } else { 2.0 };
        let flops = m * n * if residual { 5.0 } else { 4.0 };
        Work { flops, bytes: rows::bytes(p.dtype(), (arrays * m + 1.0) * n), transcendentals: m }
    }

    fn rows(&self) -> Option<&'static str> {
        Some("rows")
    }
}
