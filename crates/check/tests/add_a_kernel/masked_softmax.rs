//! Softmax of scaled scores under a causal mask.

use std::collections::BTreeMap;

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program};

use crate::family::{Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Kind, Problem};

pub struct MaskedSoftmax;

static KEYS: &[Key] = &[
    Key::dim("rows", "queries"),
    Key::dim("cols", "keys"),
    Key { name: "dtype", kind: Kind::DType(&[DType::F32, DType::BF16]), about: "element type" },
];

impl Family for MaskedSoftmax {
    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let (rows, cols, br) = (p.dim("rows"), p.dim("cols"), c.get("br")?);
        let k = Builder::new("masked_softmax");
        let x = k.input("x", p.dtype(), &[rows, cols]);
        let y = k.output("y", p.dtype(), &[rows, cols]);
        let [i] = k.grid([("i", rows.div_ceil(br))]);
        let s = x.load((i, 0), &[br, cols]).cast(DType::F32) * 0.125;
        let row = k.iota(0, &[br, cols]) + i * br;
        let s = k.iota(1, &[br, cols]).le(row).select(s, f64::NEG_INFINITY);
        let e = (s - s.max_along(1)).exp();
        y.store((i, 0), (e / e.sum(1)).cast(p.dtype()));
        k.finish().map(Program::single)
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let (cols, x) = (p.dim("cols"), inputs["x"].to_f64());
        let mut y = vec![0.0; x.len()];
        for (r, (x, y)) in x.chunks(cols).zip(y.chunks_mut(cols)).enumerate() {
            let seen = &x[..cols.min(r + 1)];
            let top = seen.iter().fold(f64::NEG_INFINITY, |m, v| m.max(v * 0.125));
            let sum: f64 = seen.iter().map(|v| (v * 0.125 - top).exp()).sum();
            y.fill((f64::NEG_INFINITY - top).exp() / sum); // 0, but NaN where the row is
            for (y, v) in y.iter_mut().zip(seen) {
                *y = (v * 0.125 - top).exp() / sum;
            }
        }
        Ok(BTreeMap::from([("y".to_string(), y)]))
    }

    fn default_config(&self, p: &Problem, _: &Machine) -> Config {
        Config::of(&[("br", 8.min(p.dim("rows")))])
    }

    fn space(&self, p: &Problem, m: &Machine) -> Space {
        let (rows, cols) = (p.dim("rows"), p.dim("cols"));
        let default = 8.min(rows);
        let sizes = [1, 2, 4, 8, 16, 32].into_iter().filter(|&br| br <= rows && br != default);
        let (fits, large): (Vec<usize>, Vec<usize>) = sizes.partition(|br| br * cols * 4 <= m.l2_bytes);
        let config = |br: &usize| Config::of(&[("br", *br)]);
        let reason = "rows exceed the second cache level";
        Space {
            configs: [default].iter().chain(&fits).map(config).collect(),
            pruned: large.iter().map(|br| (config(br), reason.to_string())).collect(),
        }
    }

    fn work(&self, p: &Problem) -> Work {
        let (rows, cols) = (p.dim("rows") as f64, p.dim("cols") as f64);
        let corner = rows.min(cols);
        let seen = corner * (corner + 1.0) / 2.0 + (rows - corner) * cols;
        let bytes = (seen + rows * cols) * p.dtype().bits() as f64 / 8.0;
        Work { flops: 4.0 * seen, bytes, transcendentals: seen }
    }

    fn name(&self) -> &'static str {
        "masked_softmax"
    }

    fn about(&self) -> &'static str {
        "y = softmax of x / 8 over each row i's columns 0 ..= i; 0 at the others"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("masked_softmax.rs")
    }
}
