//! Matrix product.

use std::collections::BTreeMap;

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program};

use crate::family::{Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Kind, Problem};

pub struct Matmul;

static KEYS: &[Key] = &[
    Key::dim("m", "rows of the result"),
    Key::dim("n", "columns of the result"),
    Key::dim("k", "terms of each sum"),
    Key { name: "dtype", kind: Kind::DType(&[DType::F32, DType::BF16]), about: "element type" },
];

impl Family for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn about(&self) -> &'static str {
        "o[m,n] = sum over k of a[m,k] * b[k,n]"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("matmul.rs")
    }

    fn default_config(&self, p: &Problem, _: &Machine) -> Config {
        Config::of(&[("bm", 64.min(p.dim("m"))), ("bn", 256.min(p.dim("n"))), ("bk", 256.min(p.dim("k")))])
    }

    fn space(&self, p: &Problem, machine: &Machine) -> Space {
        Space { configs: vec![self.default_config(p, machine)], pruned: Vec::new() }
    }

    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let (m, n, k) = (p.dim("m"), p.dim("n"), p.dim("k"));
        let (bm, bn, bk) = (c.get("bm")?, c.get("bn")?, c.get("bk")?);
        let b = Builder::new("matmul");
        let x = b.input_padded("a", p.dtype(), &[m, k], 0.0);
        let y = b.input_padded("b", p.dtype(), &[k, n], 0.0);
        let o = b.output("o", p.dtype(), &[m, n]);
        let [j, i] = b.grid([("j", n.div_ceil(bn)), ("i", m.div_ceil(bm))]);
        let zero = b.splat(0.0, DType::F32, &[bm, bn]);
        let [acc] = b.fold("k", 0, k.div_ceil(bk), [zero], |k, [acc]| {
            [x.load((i, k), &[bm, bk]).dot(y.load((k, j), &[bk, bn]), acc)]
        });
        o.store((i, j), acc.cast(p.dtype()));
        b.finish().map(Program::single)
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let (m, n, k) = (p.dim("m"), p.dim("n"), p.dim("k"));
        let (a, b) = (inputs["a"].to_f64(), inputs["b"].to_f64());
        let mut o = vec![0.0; m * n];
        for i in 0..m {
            for l in 0..k {
                for j in 0..n {
                    o[i * n + j] += a[i * k + l] * b[l * n + j];
                }
            }
        }
        Ok(BTreeMap::from([("o".to_string(), o)]))
    }

    fn work(&self, p: &Problem) -> Work {
        let (m, n, k) = (p.dim("m") as f64, p.dim("n") as f64, p.dim("k") as f64);
        let bytes = (m * k + k * n + m * n) * p.dtype().bits() as f64 / 8.0;
        Work { flops: 2.0 * m * n * k, bytes, transcendentals: 0.0 }
    }

    fn rows(&self) -> Option<&'static str> {
        Some("m")
    }
}
