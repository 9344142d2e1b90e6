//! Flash attention, forward.

use std::collections::BTreeMap;
use std::ops::Range;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program, Tile};

use super::rows::{self, FLOATS};
use crate::family::{Domain, Family, Inputs, Machine, Space, Work};
use crate::problem::{Config, Key, Kind, Problem};

pub struct Attention;

static KEYS: &[Key] = &[
    Key::dim("batch", "independent sequences"),
    Key::dim("heads", "query heads"),
    Key::dim("kv_heads", "key and value heads, a divisor of heads"),
    Key::dim("q_len", "queries"),
    Key::dim("kv_len", "keys"),
    Key::dim("head_dim", "elements of a head"),
    Key { name: "dtype", kind: Kind::DType(FLOATS), about: "element type" },
    Key { name: "causal", kind: Kind::Flag, about: "a query sees keys up to its own position" },
    Key { name: "window", kind: Kind::Limit, about: "a query sees its last `window` keys; implies causal" },
    Key { name: "lengths", kind: Kind::Flag, about: "a run-time table gives each sequence's number of keys" },
];

impl Family for Attention {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn about(&self) -> &'static str {
        "o[b,h,i] = sum over the keys j that i sees of softmax_j(q[b,h,i] . k[b,g,j] / sqrt(head_dim)) v[b,g,j], \
         g = h / (heads / kv_heads). The last query stands at the last key: query i is at t = i + len - q_len, len = \
         lens[b] or kv_len, and sees j < len, if causal j <= t, with a window w also j > t - w. A query that sees no \
         key gives 0"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("attention.rs")
    }

    fn validate(&self, p: &Problem) -> Result<()> {
        validate_heads(p)
    }

    fn default_config(&self, p: &Problem, machine: &Machine) -> Config {
        let (mut bq, mut bk) = (64.min(p.dim("q_len")), 256.min(p.dim("kv_len")));
        while 2 * tile_bytes(p, bq, bk) > machine.l2_bytes && bq.max(bk) > 1 {
            *(if bk >= bq { &mut bk } else { &mut bq }) /= 2;
        }
        Config::of(&[("bq", bq), ("bk", bk)])
    }

    fn space(&self, p: &Problem, machine: &Machine) -> Space {
        let mut space = Space { configs: vec![self.default_config(p, machine)], pruned: Vec::new() };
        for bq in [16, 32, 64, 128, 256].map(|bq| p.dim("q_len").min(bq)) {
            for bk in [32, 64, 128, 256, 512].map(|bk| p.dim("kv_len").min(bk)) {
                let c = Config::of(&[("bq", bq), ("bk", bk)]);
                let bytes = tile_bytes(p, bq, bk);
                if space.configs.contains(&c) || space.pruned.iter().any(|(known, _)| *known == c) {
                    continue;
                }
                if bytes > machine.l2_bytes {
                    space.pruned.push((c, format!("tiles of {bytes} bytes, L2 has {}", machine.l2_bytes)));
                } else {
                    space.configs.push(c);
                }
            }
        }
        space
    }

    /// Dao, "FlashAttention-2" (2023): a cell folds over key blocks, none of them out of its queries' sight.
    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let [batch, heads, kv_heads, q_len, kv_len, d] = sizes(p);
        let (bq, bk, window) = (c.get("bq")?.min(q_len), c.get("bk")?.min(kv_len), p.dim("window"));
        let b = Builder::new("attention");
        let q = b.input_padded("q", p.dtype(), &[batch, heads, q_len, d], 0.0);
        let [k, v] =
            ["k", "v"].map(|name| b.input_padded(name, p.dtype(), &[batch, kv_heads, kv_len, d], 0.0));
        let lens = p.flag("lengths").then(|| b.table("lens", batch, 0, kv_len as i32));
        let o = b.output("o", p.dtype(), &[batch, heads, q_len, d]);
        let [n, h, i] = b.grid([("n", batch), ("h", heads), ("i", q_len.div_ceil(bq))]);

        let len = lens.map_or_else(|| b.int(kv_len as i32), |lens| lens.at(n));
        let group = h / (heads / kv_heads);
        let at = i * bq + (len - q_len);
        let end = if is_causal(p) { len.min(at + bq).max(0) } else { len };
        let start = if window > 0 { (at - (window - 1)).max(0) } else { b.int(0) };
        let q = q.load((n, h, i, 0), &[1, 1, bq, d]).reshape(&[bq, d]);
        let blocks = (start / bk, (end + (bk - 1)) / bk);
        let [_, l, acc] = b.fold("j", blocks.0, blocks.1, empty(&b, bq, d), |j, state| {
            let [k, v] = [k, v].map(|a| a.load((n, group, j, 0), &[1, 1, bk, d]).reshape(&[bk, d]));
            let key = b.iota(1, &[bq, bk]) + j * bk;
            let mut seen = key.lt(len);
            if is_causal(p) {
                let query = b.iota(0, &[bq, bk]) + at;
                seen = seen & key.le(query);
                if window > 0 {
                    seen = seen & key.gt(query - window);
                }
            }
            let scores = seen.select(scores(q, k), f64::NEG_INFINITY);
            attend(state, scores, if lens.is_some() { valid(v, j, len) } else { v })
        });
        o.store((n, h, i, 0), mean(acc, l).cast(p.dtype()).reshape(&[1, 1, bq, d]));
        b.finish().map(Program::single)
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let [batch, heads, kv_heads, q_len, kv_len, d] = sizes(p);
        let [q, k, v] = [rows::values(inputs, "q")?, rows::values(inputs, "k")?, rows::values(inputs, "v")?];
        let lens = if p.flag("lengths") { rows::values(inputs, "lens")? } else { vec![kv_len as f64; batch] };
        let mut o = Vec::with_capacity(q.len());
        for (row, q) in q.chunks(d).enumerate() {
            let (n, h, i) = (row / (heads * q_len), row / q_len % heads, row % q_len);
            let (len, group) = (lens[n] as i64, h * kv_heads / heads);
            let t = i as i64 + len - q_len as i64;
            let end = if is_causal(p) { len.min(t + 1).max(0) } else { len };
            let start = if p.dim("window") > 0 { (t + 1 - p.dim("window") as i64).clamp(0, end) } else { 0 };
            let keys = (n * kv_heads + group) * kv_len * d..;
            o.extend(row_reference(q, &k[keys.clone()], &v[keys], start as usize..end as usize));
        }
        Ok(BTreeMap::from([("o".to_string(), o)]))
    }

    /// `4 head_dim` operations (a product and a sum, twice) and one exp for each pair of a query and a key that it
    /// sees; bytes of the keys that some query sees. With `lengths`, the work of the greatest lengths.
    fn work(&self, p: &Problem) -> Work {
        let [batch, heads, kv_heads, q_len, kv_len, d] = sizes(p).map(|n| n as f64);
        let pairs = batch * heads * visible(p);
        let window = p.dim("window") as f64;
        let keys = if window > 0.0 { kv_len.min(q_len + window - 1.0) } else { kv_len };
        let elements = 2.0 * batch * d * (heads * q_len + kv_heads * keys);
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

fn sizes(p: &Problem) -> [usize; 6] {
    ["batch", "heads", "kv_heads", "q_len", "kv_len", "head_dim"].map(|k| p.dim(k))
}

fn is_causal(p: &Problem) -> bool {
    p.flag("causal") || p.dim("window") > 0
}

/// Whether the query heads share the key heads evenly.
pub(super) fn validate_heads(p: &Problem) -> Result<()> {
    let (heads, kv_heads) = (p.dim("heads"), p.dim("kv_heads"));
    if heads.is_multiple_of(kv_heads) {
        return Ok(());
    }
    Err(Diagnostic::request(
        "kernel/heads",
        format!("`heads={heads}` is no multiple of `kv_heads={kv_heads}`"),
    )
    .rule("each key head serves the same number of query heads")
    .help(format!("heads={}", heads.next_multiple_of(kv_heads))))
}

/// The state of a fold over key blocks before the first: the greatest score `m` [rows, 1], the sum `l` [rows, 1] of
/// `exp(score - m)`, and the values `acc` [rows, d] so weighted.
pub(super) fn empty<'k>(b: &'k Builder, rows: usize, d: usize) -> [Tile<'k>; 3] {
    [(f64::NEG_INFINITY, 1), (0.0, 1), (0.0, d)]
        .map(|(value, cols)| b.splat(value, DType::F32, &[rows, cols]))
}

/// The f32 scores [rows, keys] of queries [rows, d] against keys [keys, d].
pub(super) fn scores<'k>(q: Tile<'k>, k: Tile<'k>) -> Tile<'k> {
    let (rows, keys, d) = (q.dims()[0], k.dims()[0], k.dims()[1]);
    q.dot(k.t(), q.builder().splat(0.0, DType::F32, &[rows, keys])) * (1.0 / (d as f64).sqrt())
}

/// The state after one more block: scores [rows, keys], -inf where a row does not see a key, and values [keys, d]. The
/// weights are rounded to the values' dtype for the product.
pub(super) fn attend<'k>([m, l, acc]: [Tile<'k>; 3], scores: Tile<'k>, v: Tile<'k>) -> [Tile<'k>; 3] {
    let top = m.max(scores.max_along(1));
    let shift = rows::finite(top);
    let (weights, old) = ((scores - shift).exp(), (m - shift).exp());
    [top, l * old + weights.sum(1), weights.cast(v.ty().dtype).dot(v, acc * old)]
}

/// Values [keys, d] of block `j`, with 0 in rows from `len` on: a weight of 0 would not silence what lies there.
pub(super) fn valid<'k>(v: Tile<'k>, j: Tile<'k>, len: Tile<'k>) -> Tile<'k> {
    let dims = v.dims();
    (v.builder().iota(0, &dims) + j * dims[0]).lt(len).select(v, 0.0)
}

/// The weighted mean `acc / l`, 0 where nothing was weighed.
pub(super) fn mean<'k>(acc: Tile<'k>, l: Tile<'k>) -> Tile<'k> {
    acc * (1.0 / l.ne(0.0).select(l, 1.0))
}

/// One query's attention to the keys in `seen`, in float64; `k` and `v` begin at key 0.
pub(super) fn row_reference(q: &[f64], k: &[f64], v: &[f64], seen: Range<usize>) -> Vec<f64> {
    let d = q.len();
    let score = |j: usize| q.iter().zip(&k[j * d..]).map(|(q, k)| q * k).sum::<f64>() / (d as f64).sqrt();
    let scores: Vec<f64> = seen.clone().map(score).collect();
    let m = rows::greatest(&scores);
    if m == f64::NEG_INFINITY {
        return vec![0.0; d];
    }
    let weights: Vec<f64> = scores.iter().map(|s| (s - m).exp()).collect();
    let l: f64 = weights.iter().sum();
    (0..d).map(|e| weights.iter().zip(seen.clone()).map(|(w, j)| w * v[j * d + e]).sum::<f64>() / l).collect()
}

/// The pairs of a query and a key that it sees, in one head: the sum over queries of the keys up to its position, less
/// those before its window.
fn visible(p: &Problem) -> f64 {
    let (q_len, kv_len, window) = (p.dim("q_len") as f64, p.dim("kv_len") as f64, p.dim("window") as f64);
    // The sum over z < end of z clamped to 0 ..= kv_len.
    let ramp = |end: f64| {
        let (within, past) = (end.clamp(0.0, kv_len), (end - kv_len).max(0.0));
        within * (within - 1.0).max(0.0) / 2.0 + past * kv_len
    };
    let keys_up_to = |last: f64| ramp(last + 1.0) - ramp(last + 1.0 - q_len);
    match (is_causal(p), window > 0.0) {
        (false, _) => q_len * kv_len,
        (true, false) => keys_up_to(kv_len),
        (true, true) => keys_up_to(kv_len) - keys_up_to(kv_len - window),
    }
}

/// The bytes of a cell's tiles: queries, keys, values; f32 scores, weights and sums.
fn tile_bytes(p: &Problem, bq: usize, bk: usize) -> usize {
    let d = p.dim("head_dim");
    let narrow = bq.saturating_add(2 * bk).saturating_mul(d).saturating_mul(p.dtype().bits() as usize / 8);
    narrow.saturating_add(4 * bq.saturating_mul(2 * bk + d))
}
