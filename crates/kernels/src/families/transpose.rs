//! Transposition of a matrix.

use std::collections::BTreeMap;

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program};

use super::rows::{bytes, values};
use crate::family::{Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Kind, Problem};

pub struct Transpose;

static KEYS: &[Key] = &[
    Key::dim("rows", "rows of the input"),
    Key::dim("cols", "columns of the input"),
    Key {
        name: "dtype",
        kind: Kind::DType(&[
            DType::F32,
            DType::BF16,
            DType::F16,
            DType::F8E4M3,
            DType::F8E5M2,
            DType::I32,
            DType::I8,
            DType::U8,
        ]),
        about: "element type",
    },
];

impl Family for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn about(&self) -> &'static str {
        "y[c,r] = x[r,c]"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("transpose.rs")
    }

    fn default_config(&self, p: &Problem, machine: &Machine) -> Config {
        self.space(p, machine).configs.swap_remove(0)
    }

    /// Tiles by size, the largest that stays in half of L1 first: a row of a tile should fill whole cache lines on both
    /// sides.
    fn space(&self, p: &Problem, machine: &Machine) -> Space {
        let (rows, cols) = (p.dim("rows"), p.dim("cols"));
        let mut space = Space::default();
        for side in [256, 128, 64, 32, 16, 8] {
            for (br, bc) in [(side, side), (side, 2 * side), (2 * side, side)] {
                let c = Config::of(&[("br", br.min(rows)), ("bc", bc.min(cols))]);
                let tile = bytes(p.dtype(), br.min(rows) as f64 * bc.min(cols) as f64);
                if space.configs.contains(&c) || space.pruned.iter().any(|(known, _)| *known == c) {
                    continue;
                }
                if tile > machine.l2_bytes as f64 / 4.0 {
                    let why =
                        format!("a tile takes {tile} bytes, a quarter of L2 is {}", machine.l2_bytes / 4);
                    space.pruned.push((c, why));
                } else {
                    space.configs.push(c);
                }
            }
        }
        let fits = |c: &Config| {
            bytes(p.dtype(), c.0.values().product::<i64>() as f64) <= machine.l1_bytes as f64 / 2.0
        };
        space.configs.sort_by_key(|c| !fits(c));
        space
    }

    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let (rows, cols) = (p.dim("rows"), p.dim("cols"));
        let (br, bc) = (c.get("br")?.min(rows), c.get("bc")?.min(cols));
        let b = Builder::new("transpose");
        let x = b.input("x", p.dtype(), &[rows, cols]);
        let y = b.output("y", p.dtype(), &[cols, rows]);
        let [i, j] = b.grid([("i", rows.div_ceil(br)), ("j", cols.div_ceil(bc))]);
        y.store((j, i), x.load((i, j), &[br, bc]).t());
        b.finish().map(Program::single)
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let (rows, cols) = (p.dim("rows"), p.dim("cols"));
        let x = values(inputs, "x")?;
        let y = (0..cols).flat_map(|c| x.iter().skip(c).step_by(cols).copied()).take(rows * cols).collect();
        Ok(BTreeMap::from([("y".to_string(), y)]))
    }

    fn work(&self, p: &Problem) -> Work {
        let elements = p.dim("rows") as f64 * p.dim("cols") as f64;
        Work { bytes: 2.0 * bytes(p.dtype(), elements), ..Work::default() }
    }

    fn rows(&self) -> Option<&'static str> {
        Some("rows")
    }
}
