//! How a matrix product is cut into tiles: the configs worth a measurement, and the reasons against the others.

use tilewright_dtype::DType;

use super::gemm::Gemm;
use crate::family::{Machine, Space};
use crate::problem::Config;

const ROWS: &[usize] = &[16, 32, 64, 96, 128, 192, 256, 512];
const COLS: &[usize] = &[64, 128, 256, 384, 512, 1024];
const TERMS: &[usize] = &[128, 256, 512, 1024];

/// Configs left to a tuner at most.
const KEPT: usize = 48;

/// What it costs to bring one element of a block into the order that an inner loop reads, in multiply-adds. Like
/// [`SUM_COST`] it only ranks configs against each other: what is kept is measured.
const PACK_COST: f64 = 16.0;

/// What it costs to read and write one accumulator in the second cache level, in multiply-adds.
const SUM_COST: f64 = 32.0;

/// The cheapest legal config by the model. Its `bk` follows from `k`, types and machine alone, so that the order in
/// which a row's terms are added does not depend on the number of rows.
pub fn default_config(g: &Gemm, weights: usize, machine: &Machine) -> Config {
    let plan = Plan { g, weights, machine };
    let terms = candidates(TERMS, g.k);
    let bk = terms.iter().rev().find(|&&bk| plan.panel(bk) <= machine.l1_bytes).unwrap_or(&terms[0]);
    let cuts = plan.cuts().filter(|c| c.bk == *bk && plan.illegal(*c).is_none());
    let smallest = Cut { bm: ROWS[0].min(g.m), bn: COLS[0].min(g.n), bk: terms[0] };
    let best = cuts.min_by(|x, y| plan.cost(*x).total_cmp(&plan.cost(*y))).unwrap_or(smallest);
    plan.config(best, plan.better_order(best))
}

/// The configs of a product with `weights` weight matrices, the default first.
pub fn space(g: &Gemm, weights: usize, machine: &Machine) -> Space {
    let plan = Plan { g, weights, machine };
    let default = default_config(g, weights, machine);
    let mut pruned = Vec::new();
    let mut legal = Vec::new();
    for cut in plan.cuts() {
        let order = plan.better_order(cut);
        if let Some(why) = plan.illegal(cut).or_else(|| plan.idle(cut)) {
            pruned.push((plan.config(cut, order), why));
            continue;
        }
        legal.push(cut);
        if let Some(why) = plan.worse_order(cut) {
            pruned.push((plan.config(cut, 3 - order), why));
        }
    }
    legal.sort_by(|x, y| plan.cost(*x).total_cmp(&plan.cost(*y)));
    let least = legal.first().map_or(1.0, |c| plan.cost(*c));
    let mut configs = vec![default];
    for cut in legal {
        let (config, ratio) = (plan.config(cut, plan.better_order(cut)), plan.cost(cut) / least);
        if configs.contains(&config) {
            continue;
        }
        if configs.len() < KEPT && ratio < 2.0 {
            configs.push(config);
        } else {
            pruned.push((
                config,
                format!("packing, accumulator traffic and tails cost {ratio:.2} times the best cut's"),
            ));
        }
    }
    Space { configs, pruned }
}

#[derive(Clone, Copy)]
struct Cut {
    bm: usize,
    bn: usize,
    bk: usize,
}

struct Plan<'a> {
    g: &'a Gemm,
    weights: usize,
    machine: &'a Machine,
}

impl Plan<'_> {
    fn cuts(&self) -> impl Iterator<Item = Cut> {
        let (rows, cols, terms) =
            (candidates(ROWS, self.g.m), candidates(COLS, self.g.n), candidates(TERMS, self.g.k));
        let tiles: Vec<(usize, usize)> =
            rows.iter().flat_map(|&bm| cols.iter().map(move |&bn| (bm, bn))).collect();
        tiles
            .into_iter()
            .flat_map(move |(bm, bn)| terms.clone().into_iter().map(move |bk| Cut { bm, bn, bk }))
    }

    fn config(&self, c: Cut, order: usize) -> Config {
        Config::of(&[("bm", c.bm), ("bn", c.bn), ("bk", c.bk), ("order", order)])
    }

    /// Bytes of `bk` terms of two vectors of columns: what an inner loop holds nearest the core.
    fn panel(&self, bk: usize) -> usize {
        bk * 2 * self.machine.lanes * width(self.g.b)
    }

    fn illegal(&self, Cut { bm, bn, bk }: Cut) -> Option<String> {
        let (l1, l2) = (self.machine.l1_bytes, self.machine.l2_bytes);
        let sums = 4 * self.weights * bm * bn;
        let blocks = bk * (bm * width(self.g.a) + self.weights * bn * width(self.g.b));
        if sums > l2 / 2 {
            return Some(format!(
                "accumulators of {bm} x {bn} take {}, more than half of L2 ({})",
                size(sums),
                size(l2)
            ));
        }
        if sums + blocks > l2 {
            return Some(format!(
                "accumulators and blocks take {}, L2 has {}",
                size(sums + blocks),
                size(l2)
            ));
        }
        if self.panel(bk) > l1 && bk > TERMS[0] {
            return Some(format!(
                "two vectors of columns by {bk} terms take {}, L1 has {}",
                size(self.panel(bk)),
                size(l1)
            ));
        }
        None
    }

    fn idle(&self, c: Cut) -> Option<String> {
        let cores = self.machine.cores;
        let most = self.cells(Cut { bm: ROWS[0].min(self.g.m), bn: COLS[0].min(self.g.n), ..c });
        let cells = self.cells(c);
        (cells < cores.min(most))
            .then(|| format!("{cells} cells for {cores} cores, smaller tiles make up to {most}"))
    }

    fn cells(&self, c: Cut) -> usize {
        product(&[self.g.batch, self.g.m.div_ceil(c.bm), self.g.n.div_ceil(c.bn)])
    }

    /// Multiply-adds, or as much work, of the core that has the most cells.
    fn cost(&self, c: Cut) -> f64 {
        let cells = self.cells(c).div_ceil(self.machine.cores.max(1)) as f64;
        let (k, steps, w) = (self.g.k as f64, self.g.k.div_ceil(c.bk) as f64, self.weights as f64);
        let (bm, bn) = (c.bm as f64, c.bn as f64);
        cells * (w * bm * bn * (k + SUM_COST * steps) + PACK_COST * k * (bm + w * bn))
    }

    /// Bytes from memory when consecutive cells go down the rows, and so share a strip of weights, and when they go along
    /// the columns and share a strip of `a`: the other operand is read anew for each strip.
    fn traffic(&self, c: Cut) -> [usize; 2] {
        let g = self.g;
        let (a, b) = (product(&[g.m, g.k, width(g.a)]), product(&[self.weights, g.n, g.k, width(g.b)]));
        [
            b.saturating_add(product(&[a, g.n.div_ceil(c.bn)])),
            a.saturating_add(product(&[b, g.m.div_ceil(c.bm)])),
        ]
    }

    fn better_order(&self, c: Cut) -> usize {
        let [down, along] = self.traffic(c);
        if along < down { 2 } else { 1 }
    }

    fn worse_order(&self, c: Cut) -> Option<String> {
        let [down, along] = self.traffic(c);
        let moves = self.g.m > c.bm && self.g.n > c.bn;
        moves.then(|| {
            format!("reads {} from memory, the other order {}", size(down.max(along)), size(down.min(along)))
        })
    }
}

/// The product, or the largest number: a problem too large for the memory is refused later, by its bytes.
fn product(factors: &[usize]) -> usize {
    factors.iter().fold(1, |n, &f| n.saturating_mul(f))
}

/// Bytes of an element as an inner loop reads it: f16 and f8 are widened to f32 before.
fn width(dtype: DType) -> usize {
    match dtype {
        DType::BF16 => 2,
        DType::I8 | DType::U8 | DType::I4 => 1,
        _ => 4,
    }
}

/// Tile sizes for a dimension: those below it, and the dimension itself where it is no larger than the largest.
fn candidates(sizes: &[usize], dim: usize) -> Vec<usize> {
    let mut fit: Vec<usize> = sizes.iter().copied().filter(|&s| s < dim).collect();
    if fit.len() < sizes.len() {
        fit.push(dim);
    }
    fit
}

fn size(bytes: usize) -> String {
    if bytes < 1 << 20 {
        format!("{:.0} KiB", bytes as f64 / 1024.0)
    } else {
        format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
    }
}
