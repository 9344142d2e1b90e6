//! Cross-entropy of rows of logits against a label each.

use std::collections::BTreeMap;

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program};

use super::logsumexp;
use super::rows::{self, Cut};
use crate::family::{Domain, Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Problem};

pub struct CrossEntropy;

impl Family for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross_entropy"
    }

    fn about(&self) -> &'static str {
        "loss[i] = log of the sum over j of exp(x[i,j]), minus x[i,label[i]], in f32; label[i] lies in 0 .. cols"
    }

    fn keys(&self) -> &'static [Key] {
        rows::ROW_KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("cross_entropy.rs")
    }

    fn default_config(&self, p: &Problem, machine: &Machine) -> Config {
        rows::row_config(p, machine, 3)
    }

    fn space(&self, p: &Problem, machine: &Machine) -> Space {
        rows::row_space(p, machine, 3)
    }

    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let cut = Cut::of(p, c)?;
        let b = Builder::new("cross_entropy");
        let x = b.input_padded("x", p.dtype(), &[cut.rows, cut.cols], f64::NEG_INFINITY);
        let labels = b.input_padded("label", DType::I32, &[cut.rows, 1], 0.0);
        let loss = b.output("loss", DType::F32, &[cut.rows, 1]);
        let i = cut.grid(&b);
        let label = labels.load((i, 0), &[cut.br, 1]);
        let init = [f64::NEG_INFINITY, 0.0, 0.0].map(|v| cut.column(&b, v));
        let [m, l, picked] = b.fold("j", 0, cut.blocks, init, |j, [m, l, picked]| {
            let x = x.load((i, j), &cut.tile()).cast(DType::F32);
            let top = m.max(x.max_along(1));
            let shift = rows::finite(top);
            let chosen = cut.columns(&b, j).eq(label).select(x, 0.0);
            [top, l * (m - shift).exp() + (x - shift).exp().sum(1), picked + chosen.sum(1)]
        });
        loss.store((i, 0), logsumexp::joined(m, l) - picked);
        b.finish().map(Program::single)
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let (x, labels) = (rows::values(inputs, "x")?, rows::values(inputs, "label")?);
        let loss = x
            .chunks(p.dim("cols"))
            .zip(labels)
            .map(|(row, label)| logsumexp::of_row(row) - row.get(label as usize).copied().unwrap_or(0.0))
            .collect();
        Ok(BTreeMap::from([("loss".to_string(), loss)]))
    }

    /// Two operations an element (subtract, sum), one exp; one log and two operations a row.
    fn work(&self, p: &Problem) -> Work {
        let (m, n) = (p.dim("rows") as f64, p.dim("cols") as f64);
        let bytes = rows::bytes(p.dtype(), m * n) + 8.0 * m;
        Work { flops: m * (2.0 * n + 2.0), bytes, transcendentals: m * (n + 1.0) }
    }

    fn domain(&self, p: &Problem, operand: &str) -> Domain {
        if operand == "label" { Domain::Index { n: p.dim("cols") } } else { Domain::Any }
    }

    fn rows(&self) -> Option<&'static str> {
        Some("rows")
    }
}
