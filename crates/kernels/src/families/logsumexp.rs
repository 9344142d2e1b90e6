//! Log of the sum of exponentials of rows.

use std::collections::BTreeMap;

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program, Tile};

use super::rows::{self, Cut};
use crate::family::{Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Problem};

pub struct LogSumExp;

impl Family for LogSumExp {
    fn name(&self) -> &'static str {
        "logsumexp"
    }

    fn about(&self) -> &'static str {
        "y[i] = log of the sum over j of exp(x[i,j]), in f32; +inf with a +inf in the row, -inf for a row of only -inf, \
         NaN with a NaN"
    }

    fn keys(&self) -> &'static [Key] {
        rows::ROW_KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("logsumexp.rs")
    }

    fn default_config(&self, p: &Problem, machine: &Machine) -> Config {
        rows::row_config(p, machine, 2)
    }

    fn space(&self, p: &Problem, machine: &Machine) -> Space {
        rows::row_space(p, machine, 2)
    }

    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let cut = Cut::of(p, c)?;
        let b = Builder::new("logsumexp");
        let x = b.input_padded("x", p.dtype(), &[cut.rows, cut.cols], f64::NEG_INFINITY);
        let y = b.output("y", DType::F32, &[cut.rows, 1]);
        let i = cut.grid(&b);
        let [m, l] = rows::max_and_sum(&b, cut, |j| x.load((i, j), &cut.tile()).cast(DType::F32));
        y.store((i, 0), joined(m, l));
        b.finish().map(Program::single)
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let y = rows::values(inputs, "x")?.chunks(p.dim("cols")).map(of_row).collect();
        Ok(BTreeMap::from([("y".to_string(), y)]))
    }

    /// Two operations an element (subtract, sum), one exp; one log a row.
    fn work(&self, p: &Problem) -> Work {
        let (m, n) = (p.dim("rows") as f64, p.dim("cols") as f64);
        let bytes = rows::bytes(p.dtype(), m * n) + 4.0 * m;
        Work { flops: m * (2.0 * n + 1.0), bytes, transcendentals: m * (n + 1.0) }
    }

    fn rows(&self) -> Option<&'static str> {
        Some("rows")
    }
}

/// `m + log l`, but infinity where the maximum is: there `l` is NaN, a sum with `exp(inf - inf)` in it.
pub(super) fn joined<'k>(m: Tile<'k>, l: Tile<'k>) -> Tile<'k> {
    m.eq(f64::INFINITY).select(m, m + l.log())
}

/// The log-sum-exp of one row in float64.
pub(super) fn of_row(row: &[f64]) -> f64 {
    let m = rows::greatest(row);
    if m.is_infinite() { m } else { m + row.iter().map(|v| (v - m).exp()).sum::<f64>().ln() }
}
