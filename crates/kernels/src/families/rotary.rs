//! Rotary position embedding.

use std::collections::BTreeMap;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program};

use super::rows::{self, FLOATS};
use crate::family::{Domain, Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Kind, Problem};

pub struct Rotary;

static KEYS: &[Key] = &[
    Key::dim("batch", "independent sequences"),
    Key::dim("heads", "heads"),
    Key::dim("seq", "positions"),
    Key::dim("head_dim", "elements of a head, an even number"),
    Key { name: "dtype", kind: Kind::DType(FLOATS), about: "element type of x and y" },
];

impl Family for Rotary {
    fn name(&self) -> &'static str {
        "rotary"
    }

    fn about(&self) -> &'static str {
        "y = [x1 cos - x2 sin, x2 cos + x1 sin] with x1, x2 the halves of x[b,h,s,:] (not its even and odd elements) and \
         cos, sin f32[seq, head_dim/2] of the positions"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("rotary.rs")
    }

    fn validate(&self, p: &Problem) -> Result<()> {
        let d = p.dim("head_dim");
        if d.is_multiple_of(2) {
            return Ok(());
        }
        Err(Diagnostic::request("kernel/head-dim", format!("`head_dim={d}` has no halves"))
            .rule("rotary turns pairs of elements")
            .help(format!("head_dim={}", d + 1)))
    }

    fn default_config(&self, p: &Problem, machine: &Machine) -> Config {
        let positions = machine.l1_bytes / 2 / (12 * p.dim("head_dim"));
        let bs = rows::power_of_two(positions.min(p.dim("seq")));
        Config::of(&[("bh", rows::power_of_two((positions / bs).min(p.dim("heads")))), ("bs", bs)])
    }

    fn space(&self, p: &Problem, machine: &Machine) -> Space {
        let mut space = Space { configs: vec![self.default_config(p, machine)], pruned: Vec::new() };
        for (bh, bs) in [1, 4, 16].into_iter().flat_map(|bh| [1, 4, 16, 64, 256].map(|bs| (bh, bs))) {
            let c = Config::of(&[("bh", bh), ("bs", bs)]);
            let bytes = 12 * bh * bs * p.dim("head_dim");
            if bh > p.dim("heads") || bs > p.dim("seq") || space.configs.contains(&c) {
                continue;
            }
            if bytes > machine.l2_bytes {
                let why = format!(
                    "three f32 tiles of {bh} heads by {bs} positions take {bytes} bytes, more than L2"
                );
                space.pruned.push((c, why));
            } else {
                space.configs.push(c);
            }
        }
        space
    }

    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let [batch, heads, seq, d] = ["batch", "heads", "seq", "head_dim"].map(|k| p.dim(k));
        let (bh, bs, half) = (c.get("bh")?.min(heads), c.get("bs")?.min(seq), d / 2);
        let b = Builder::new("rotary");
        let x = b.input_padded("x", p.dtype(), &[batch, heads, seq, d], 0.0);
        let [cos, sin] = ["cos", "sin"].map(|name| b.input_padded(name, DType::F32, &[seq, half], 0.0));
        let y = b.output("y", p.dtype(), &[batch, heads, seq, d]);
        let [n, h, s] = b.grid([("n", batch), ("h", heads.div_ceil(bh)), ("s", seq.div_ceil(bs))]);
        let [cos, sin] = [cos, sin].map(|a| a.load((s, 0), &[bs, half]).reshape(&[1, 1, bs, half]));
        let x = x.load((n, h, s, 0), &[1, bh, bs, d]).cast(DType::F32);
        let [x1, x2] = [0, half].map(|start| x.slice(&[0, 0, 0, start], &[1, bh, bs, half]));
        let turned = (x1 * cos - x2 * sin).concat(x2 * cos + x1 * sin, 3);
        y.store((n, h, s, 0), turned.cast(p.dtype()));
        b.finish().map(Program::single)
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let (seq, d) = (p.dim("seq"), p.dim("head_dim"));
        let [x, cos, sin] =
            [rows::values(inputs, "x")?, rows::values(inputs, "cos")?, rows::values(inputs, "sin")?];
        let mut y = vec![0.0; x.len()];
        for (row, (x, y)) in x.chunks(d).zip(y.chunks_mut(d)).enumerate() {
            for e in 0..d / 2 {
                let angle = row % seq * (d / 2) + e;
                y[e] = x[e] * cos[angle] - x[e + d / 2] * sin[angle];
                y[e + d / 2] = x[e + d / 2] * cos[angle] + x[e] * sin[angle];
            }
        }
        Ok(BTreeMap::from([("y".to_string(), y)]))
    }

    /// Three operations an element: two products and a sum.
    fn work(&self, p: &Problem) -> Work {
        let [batch, heads, seq, d] = ["batch", "heads", "seq", "head_dim"].map(|k| p.dim(k) as f64);
        let n = batch * heads * seq * d;
        Work { flops: 3.0 * n, bytes: rows::bytes(p.dtype(), 2.0 * n) + 4.0 * seq * d, transcendentals: 0.0 }
    }

    fn domain(&self, _: &Problem, operand: &str) -> Domain {
        if operand == "x" { Domain::Any } else { Domain::Unit }
    }

    fn rows(&self) -> Option<&'static str> {
        Some("batch")
    }
}
