//! Conversion between element types.

use std::collections::BTreeMap;

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program};

use super::rows::{bytes, row_config, row_space, values};
use crate::family::{Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Kind, Problem};

pub struct Cast;

static DTYPES: &[DType] =
    &[DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2, DType::I32, DType::I8, DType::U8];

static KEYS: &[Key] = &[
    Key::dim("rows", "rows"),
    Key::dim("cols", "columns"),
    Key { name: "from", kind: Kind::DType(DTYPES), about: "element type of the input" },
    Key { name: "to", kind: Kind::DType(DTYPES), about: "element type of the output" },
];

impl Family for Cast {
    fn name(&self) -> &'static str {
        "cast"
    }

    fn about(&self) -> &'static str {
        "y = x in another element type: floats round to nearest even, float to integer truncates and saturates, integers wrap"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("cast.rs")
    }

    fn default_config(&self, p: &Problem, machine: &Machine) -> Config {
        row_config(p, machine, 2)
    }

    fn space(&self, p: &Problem, machine: &Machine) -> Space {
        row_space(p, machine, 2)
    }

    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let (rows, cols) = (p.dim("rows"), p.dim("cols"));
        let (br, bc) = (c.get("br")?.min(rows), c.get("bc")?.min(cols));
        let b = Builder::new("cast_to");
        let x = b.input("x", p.dtype_of("from"), &[rows, cols]);
        let y = b.output("y", p.dtype_of("to"), &[rows, cols]);
        let [i, j] = b.grid([("i", rows.div_ceil(br)), ("j", cols.div_ceil(bc))]);
        y.store((i, j), x.load((i, j), &[br, bc]).cast(p.dtype_of("to")));
        b.finish().map(Program::single)
    }

    /// Rounding between floats is the target's, and lies in the bound: the reference keeps the value.
    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let mut y = values(inputs, "x")?;
        if let Some((lo, hi)) = p.dtype_of("to").int_range() {
            let wraps = p.dtype_of("from").is_int();
            for y in &mut y {
                let whole = if wraps {
                    lo + (*y as i64 - lo).rem_euclid(hi - lo + 1)
                } else {
                    (*y as i64).clamp(lo, hi)
                };
                *y = whole as f64;
            }
        }
        Ok(BTreeMap::from([("y".to_string(), y)]))
    }

    fn work(&self, p: &Problem) -> Work {
        let elements = p.dim("rows") as f64 * p.dim("cols") as f64;
        Work {
            bytes: bytes(p.dtype_of("from"), elements) + bytes(p.dtype_of("to"), elements),
            ..Work::default()
        }
    }

    fn rows(&self) -> Option<&'static str> {
        Some("rows")
    }
}
