//! Matrix product: its problems, its reference, its work. The kernel is [`matmul_program`].

use std::collections::BTreeMap;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;
use tilewright_ir::Program;

use super::blocking;
use super::epilogue::{EPILOGUES, PROLOGUES, Step};
use super::gemm::{Gemm, Prologue, matmul_program};
use super::rows::{bytes, values};
use crate::family::{Domain, Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Kind, Problem};

pub struct Matmul;

static DTYPES: &[DType] =
    &[DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2, DType::I8, DType::U8];

static KEYS: &[Key] = &[
    Key::dim("m", "rows of the result"),
    Key::dim("n", "columns of the result"),
    Key::dim("k", "terms of each sum"),
    Key {
        name: "batch",
        kind: Kind::Dim(Some(1)),
        about: "products; from 2 on, operands have a leading dimension",
    },
    Key { name: "dtype", kind: Kind::DType(DTYPES), about: "type of a and b; with u8, b is i8" },
    Key {
        name: "weights",
        kind: Kind::Choice(&["same", "i4"]),
        about: "type of b where it differs (i8 and u8 only)",
    },
    Key {
        name: "out",
        kind: Kind::Choice(&["same", "f32", "bf16", "f16", "i32"]),
        about: "type of the result; same: dtype, bf16 for f8, f32 for integers; i32: the sums, unscaled",
    },
    Key { name: "ta", kind: Kind::Flag, about: "a is given as [k,m]" },
    Key { name: "tb", kind: Kind::Flag, about: "b is given as [n,k]" },
    Key { name: "prologue", kind: Kind::Words(PROLOGUES), about: "what is done to a first, in order" },
    Key { name: "epilogue", kind: Kind::Words(EPILOGUES), about: "what is done to the sums, in order" },
];

/// The product that a problem names.
fn gemm(p: &Problem) -> Gemm {
    let a = p.dtype();
    let b = match a {
        DType::I8 | DType::U8 if p.word("weights") == "i4" => DType::I4,
        DType::U8 => DType::I8,
        other => other,
    };
    let out = match (p.word("out"), a) {
        ("f32", _) => DType::F32,
        ("bf16", _) => DType::BF16,
        ("f16", _) => DType::F16,
        ("i32", _) => DType::I32,
        (_, DType::I8 | DType::U8) => DType::F32,
        (_, DType::F8E4M3 | DType::F8E5M2) => DType::BF16,
        (_, same) => same,
    };
    let (batch, ta, tb) = (p.dim("batch"), p.flag("ta"), p.flag("tb"));
    Gemm { batch, m: p.dim("m"), n: p.dim("n"), k: p.dim("k"), ta, tb, a, b, out }
}

/// The steps before the product, each of whose operands has `a_` before its name.
fn prologue(p: &Problem) -> Vec<Step> {
    Step::all_of(&p.words("prologue"))
}

/// The steps after the product. Integer sums are scaled by column: first, unless the problem places it elsewhere.
fn epilogue(p: &Problem) -> Vec<Step> {
    let mut steps = Step::all_of(&p.words("epilogue"));
    if gemm(p).acc() == DType::I32 && gemm(p).out != DType::I32 && !steps.contains(&Step::ColScale) {
        steps.insert(0, Step::ColScale);
    }
    steps
}

fn weights(p: &Problem) -> usize {
    if p.has("epilogue", "gated") { 2 } else { 1 }
}

impl Family for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn about(&self) -> &'static str {
        "o[m,n] = epilogue(sum over k of prologue(a)[m,k] * b[k,n])"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("gemm.rs")
    }

    fn validate(&self, p: &Problem) -> Result<()> {
        let g = gemm(p);
        let (integer, raw) = (g.acc() == DType::I32, g.out == DType::I32);
        let greatest = |d: DType| d.int_range().map_or(0, |(lo, hi)| lo.abs().max(hi));
        let terms = i64::from(i32::MAX) / (greatest(g.a) * greatest(g.b)).max(1);
        let rules = [
            (raw && !integer, "out=i32", "only i8 and u8 are summed in i32"),
            (p.word("weights") != "same" && !integer, "weights=i4", "i4 weights go with i8 and u8"),
            (
                raw && p.word("epilogue") != "none",
                "out=i32 with an epilogue",
                "i32 sums are stored as they are",
            ),
            (
                p.word("prologue") != "none" && (integer || g.a.bits() == 8),
                "prologue",
                "prologues need f32, bf16 or f16",
            ),
            (weights(p) == 2 && integer, "epilogue=gated", "gated products are of floats"),
            (integer && g.k as i64 > terms, "so large a k", "sums of k products stay below 2^31"),
        ];
        match rules.into_iter().find(|(broken, ..)| *broken) {
            Some((_, what, rule)) => {
                Err(Diagnostic::request("problem/conflict", format!("no kernel has {what} in `matmul {p}`"))
                    .rule(rule)
                    .help("leave one of the two out"))
            }
            None => Ok(()),
        }
    }

    fn default_config(&self, p: &Problem, machine: &Machine) -> Config {
        blocking::default_config(&gemm(p), weights(p), machine)
    }

    fn space(&self, p: &Problem, machine: &Machine) -> Space {
        blocking::space(&gemm(p), weights(p), machine)
    }

    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let g = gemm(p);
        let (first, then) = (prologue(p), epilogue(p));
        let before: Prologue<'_> = &|block, x| match first.as_slice() {
            [] => x,
            steps => Step::apply_all(steps, block, &[x], "a_", g.a).cast(g.a),
        };
        match (g.out, weights(p)) {
            (DType::I32, _) => matmul_program(&g, c, before, &|_, [sums]| sums),
            (out, 1) => {
                matmul_program(&g, c, before, &|block, [acc]| Step::apply_all(&then, block, &[acc], "", out))
            }
            (out, _) => matmul_program(&g, c, before, &|block, [gate, up]| {
                Step::apply_all(&then, block, &[gate, up], "", out)
            }),
        }
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let (batch, m, n, k) = (p.dim("batch"), p.dim("m"), p.dim("n"), p.dim("k"));
        let mut a = plain(values(inputs, "a")?, m, k, p.flag("ta"));
        for step in prologue(p) {
            step.reference(&mut a, k, &operand(step, "a_", inputs)?);
        }
        let product = |b: Vec<f64>| {
            let mut o = vec![0.0; batch * m * n];
            for (row, o) in o.chunks_mut(n).enumerate() {
                let b = &b[row / m * k * n..][..k * n];
                for (x, b) in a[row * k..].iter().zip(b.chunks(n)) {
                    o.iter_mut().zip(b).for_each(|(o, b)| *o += x * b);
                }
            }
            o
        };
        let mut o = product(plain(values(inputs, "b")?, k, n, p.flag("tb")));
        for step in epilogue(p) {
            let v = match step {
                Step::Gated => product(plain(values(inputs, "b2")?, k, n, p.flag("tb"))),
                _ => operand(step, "", inputs)?,
            };
            step.reference(&mut o, n, &v);
        }
        Ok(BTreeMap::from([("o".to_string(), o)]))
    }

    fn work(&self, p: &Problem) -> Work {
        let g = gemm(p);
        let (batch, m, n, k) = (g.batch as f64, g.m as f64, g.n as f64, g.k as f64);
        let weights = weights(p) as f64;
        let mut work = Work {
            flops: 2.0 * batch * m * n * k * weights,
            bytes: bytes(g.a, batch * m * k)
                + bytes(g.b, weights * batch * k * n)
                + bytes(g.out, batch * m * n),
            transcendentals: 0.0,
        };
        for (steps, cols, added) in [(prologue(p), g.k, g.a), (epilogue(p), g.n, g.out)] {
            for step in steps {
                let [z, r, c] = step.operand(g.batch, g.m, cols).unwrap_or_default();
                let dtype = if step.is_scale() { DType::F32 } else { added };
                work.bytes += bytes(dtype, z as f64 * r as f64 * c as f64);
                if step.is_transcendental() {
                    work.transcendentals += batch * m * cols as f64;
                }
            }
        }
        work
    }

    fn domain(&self, _: &Problem, operand: &str) -> Domain {
        if operand.ends_with("scale") { Domain::Positive { lo: 0.01, hi: 10.0 } } else { Domain::Any }
    }

    fn overflows(&self) -> Option<&'static str> {
        Some("partial sums of products")
    }

    fn rows(&self) -> Option<&'static str> {
        Some("m")
    }
}

/// Row-major matrices of `rows` by `cols`, from their transposes where `transposed`.
fn plain(given: Vec<f64>, rows: usize, cols: usize, transposed: bool) -> Vec<f64> {
    if !transposed {
        return given;
    }
    let matrices = given.chunks(rows * cols);
    matrices.flat_map(|x| (0..rows * cols).map(move |e| x[e % cols * rows + e / cols])).collect()
}

/// The values of a step's operand; none where it has none.
fn operand(step: Step, prefix: &str, inputs: &Inputs) -> Result<Vec<f64>> {
    match step.operand(1, 1, 1) {
        Some(_) => values(inputs, &format!("{prefix}{}", step.name())),
        None => Ok(Vec::new()),
    }
}
