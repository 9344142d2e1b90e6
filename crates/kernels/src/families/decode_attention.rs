//! Decode attention: one query a head, the keys split among cells.

use std::collections::BTreeMap;

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Kernel, Program};

use super::attention::{self, row_reference};
use super::rows::{self, FLOATS};
use crate::family::{Domain, Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Kind, Problem};

pub struct DecodeAttention;

static KEYS: &[Key] = &[
    Key::dim("batch", "independent sequences"),
    Key::dim("heads", "query heads"),
    Key::dim("kv_heads", "key and value heads, a divisor of heads"),
    Key::dim("kv_len", "keys"),
    Key::dim("head_dim", "elements of a head"),
    Key { name: "dtype", kind: Kind::DType(FLOATS), about: "element type" },
    Key { name: "lengths", kind: Kind::Flag, about: "a run-time table gives each sequence's number of keys" },
];

impl Family for DecodeAttention {
    fn name(&self) -> &'static str {
        "decode_attention"
    }

    fn about(&self) -> &'static str {
        "o[b,h] = sum over j < len of softmax_j(q[b,h] . k[b,g,j] / sqrt(head_dim)) v[b,g,j], g = h / (heads / kv_heads), \
         len = lens[b] or kv_len; 0 where len is 0"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("decode_attention.rs")
    }

    fn validate(&self, p: &Problem) -> Result<()> {
        attention::validate_heads(p)
    }

    /// Key blocks that stay in half of L1; splits that give each core two cells of one sequence. The batch has no say:
    /// how a sequence's sums are split does not depend on its neighbours.
    fn default_config(&self, p: &Problem, machine: &Machine) -> Config {
        let key_bytes = p.dim("head_dim") * p.dtype().bits() as usize / 8;
        let bk = rows::power_of_two((machine.l1_bytes / 2 / key_bytes).clamp(16, 512)).min(p.dim("kv_len"));
        let splits = (2 * machine.cores).div_ceil(p.dim("kv_heads"));
        Config::of(&[("bk", bk), ("splits", splits.min(p.dim("kv_len").div_ceil(bk)))])
    }

    fn space(&self, p: &Problem, machine: &Machine) -> Space {
        let mut space = Space { configs: vec![self.default_config(p, machine)], pruned: Vec::new() };
        let cells = p.dim("batch") * p.dim("kv_heads");
        for bk in [32, 64, 128, 256, 512].map(|bk| p.dim("kv_len").min(bk)) {
            for splits in [1, 2, 4, 8, 16, 32, 64] {
                let c = Config::of(&[("bk", bk), ("splits", splits)]);
                if space.configs.contains(&c) || space.pruned.iter().any(|(known, _)| *known == c) {
                    continue;
                }
                if splits > p.dim("kv_len").div_ceil(bk) {
                    space.pruned.push((c, format!("fewer than {splits} blocks of {bk} keys")));
                } else if splits > 1 && cells.saturating_mul(splits / 2) >= 8 * machine.cores {
                    space
                        .pruned
                        .push((c, format!("half the splits give {} cores eight cells each", machine.cores)));
                } else {
                    space.configs.push(c);
                }
            }
        }
        space
    }

    /// Dao et al., "Flash-Decoding" (2023): the query heads that share a key head are the rows of one tile.
    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let bk = c.get("bk")?.min(p.dim("kv_len"));
        let splits = c.get("splits")?.min(p.dim("kv_len").div_ceil(bk));
        Ok(Program { kernels: vec![partial(p, bk, splits)?, combine(p, splits)?] })
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let [batch, heads, kv_heads, kv_len, d] = sizes(p);
        let [q, k, v] = [rows::values(inputs, "q")?, rows::values(inputs, "k")?, rows::values(inputs, "v")?];
        let lens = if p.flag("lengths") { rows::values(inputs, "lens")? } else { vec![kv_len as f64; batch] };
        let mut o = Vec::with_capacity(q.len());
        for (row, q) in q.chunks(d).enumerate() {
            let (n, h) = (row / heads, row % heads);
            let keys = (n * kv_heads + h * kv_heads / heads) * kv_len * d..;
            o.extend(row_reference(q, &k[keys.clone()], &v[keys], 0..lens[n] as usize));
        }
        Ok(BTreeMap::from([("o".to_string(), o)]))
    }

    /// `4 head_dim` operations and one exp for each query and key. With `lengths`, the work of the greatest lengths.
    fn work(&self, p: &Problem) -> Work {
        let [batch, heads, kv_heads, kv_len, d] = sizes(p).map(|n| n as f64);
        let pairs = batch * heads * kv_len;
        let elements = 2.0 * batch * d * (heads + kv_heads * kv_len);
        Work { flops: 4.0 * d * pairs, bytes: rows::bytes(p.dtype(), elements), transcendentals: pairs }
    }

    fn domain(&self, _: &Problem, operand: &str) -> Domain {
        if operand == "v" { Domain::Finite } else { Domain::Any }
    }

    fn overflows(&self) -> Option<&'static str> {
        Some("products of queries and keys")
    }

    fn rows(&self) -> Option<&'static str> {
        Some("batch")
    }
}

fn sizes(p: &Problem) -> [usize; 5] {
    ["batch", "heads", "kv_heads", "kv_len", "head_dim"].map(|k| p.dim(k))
}

/// Each split's maximum, sum and weighted values, as [`attention::empty`] describes them. The blocks that a sequence
/// has are shared evenly among its splits, whatever its length.
fn partial(p: &Problem, bk: usize, splits: usize) -> Result<Kernel> {
    let [batch, heads, kv_heads, kv_len, d] = sizes(p);
    let group = heads / kv_heads;
    let b = Builder::new("decode_partial");
    let q = b.input_padded("q", p.dtype(), &[batch, heads, d], 0.0);
    let [k, v] = ["k", "v"].map(|name| b.input_padded(name, p.dtype(), &[batch, kv_heads, kv_len, d], 0.0));
    let lens = p.flag("lengths").then(|| b.table("lens", batch, 0, kv_len as i32));
    let parts = PARTS
        .map(|(name, wide)| b.output(name, DType::F32, &[batch, heads, splits, if wide { d } else { 1 }]));
    let [n, h, s] = b.grid([("n", batch), ("h", kv_heads), ("s", splits)]);

    let len = lens.map_or_else(|| b.int(kv_len as i32), |lens| lens.at(n));
    let blocks = (len + (bk - 1)) / bk;
    let share = (blocks + (splits - 1)) / splits;
    let q = q.load((n, h, 0), &[1, group, d]).reshape(&[group, d]);
    let end = (s * share + share).min(blocks);
    let state = b.fold("j", s * share, end, attention::empty(&b, group, d), |j, state| {
        let [k, v] = [k, v].map(|a| a.load((n, h, j, 0), &[1, 1, bk, d]).reshape(&[bk, d]));
        let seen = (b.iota(1, &[group, bk]) + j * bk).lt(len);
        let scores = seen.select(attention::scores(q, k), f64::NEG_INFINITY);
        attention::attend(state, scores, if lens.is_some() { attention::valid(v, j, len) } else { v })
    });
    for (part, tile) in parts.into_iter().zip(state) {
        part.store((n, h, s, 0), tile.reshape(&[1, group, 1, tile.dims()[1]]));
    }
    b.finish()
}

/// The splits' parts, rescaled to their greatest maximum and summed.
fn combine(p: &Problem, splits: usize) -> Result<Kernel> {
    let [batch, heads, kv_heads, _, d] = sizes(p);
    let group = heads / kv_heads;
    let b = Builder::new("decode_combine");
    let parts = PARTS.map(|(name, wide)| {
        let width = if wide { d } else { 1 };
        (b.input(name, DType::F32, &[batch, heads, splits, width]), width)
    });
    let o = b.output("o", p.dtype(), &[batch, heads, d]);
    let [n, h] = b.grid([("n", batch), ("h", kv_heads)]);
    let [m, l, acc] = parts.map(|(part, width)| part.load((n, h, 0, 0), &[1, group, splits, width]));
    let weights = (m - rows::finite(m.max_along(2))).exp();
    let [l, acc] = [l, acc].map(|part| (weights * part).sum(2));
    o.store((n, h, 0), attention::mean(acc, l).cast(p.dtype()).reshape(&[1, group, d]));
    b.finish()
}

/// The arrays between the two kernels, and whether they hold whole heads.
const PARTS: [(&str, bool); 3] = [("part_m", false), ("part_l", false), ("part_acc", true)];
