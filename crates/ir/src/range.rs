//! What is known of scalars before a kernel runs: the interval each i32 scalar lies in, and the grid dimensions it
//! depends on. The verifier refuses by it, and targets drop bounds checks by it.

use crate::ops::{BinaryOp, UnaryOp};
use crate::program::{Block, Const, Kernel, Op, OpKind, Role, Value};
use crate::types::TileType;

/// A closed interval of integers; it may exceed i32 where an i32 computation could overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Least value.
    pub lo: i64,
    /// Greatest value.
    pub hi: i64,
}

impl Interval {
    /// Every i32.
    pub const I32: Interval = Interval { lo: i32::MIN as i64, hi: i32::MAX as i64 };

    /// One value.
    pub fn point(x: i64) -> Interval {
        Interval { lo: x, hi: x }
    }

    /// Whether every value is an i32.
    pub fn fits_i32(self) -> bool {
        self.lo >= Interval::I32.lo && self.hi <= Interval::I32.hi
    }

    fn union(self, other: Interval) -> Interval {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    fn corners(self, other: Interval, f: impl Fn(i64, i64) -> i64) -> Interval {
        let all = [f(self.lo, other.lo), f(self.lo, other.hi), f(self.hi, other.lo), f(self.hi, other.hi)];
        let lo = all.iter().copied().fold(i64::MAX, i64::min);
        let hi = all.iter().copied().fold(i64::MIN, i64::max);
        Interval { lo, hi }
    }
}

/// What is known of one value.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Where an i32 scalar lies; [`Interval::I32`] for everything else.
    pub interval: Interval,
    /// Bit `d` is set where the value may differ between cells that differ in grid dimension `d`.
    pub grid: u32,
}

/// The result of the analysis, indexed by value.
#[derive(Clone, Debug)]
pub struct Ranges {
    known: Vec<Known>,
}

impl Ranges {
    /// Analyses a kernel whose values are defined before use.
    pub fn of(kernel: &Kernel) -> Ranges {
        let unknown = Known { interval: Interval::I32, grid: 0 };
        let mut r = Ranges { known: vec![unknown; kernel.values.len()] };
        let (indices, scalars) = kernel.body.args.split_at(kernel.grid.len().min(kernel.body.args.len()));
        for (d, (&v, dim)) in indices.iter().zip(&kernel.grid).enumerate() {
            let interval = Interval { lo: 0, hi: dim.extent as i64 - 1 };
            r.set(v, Known { interval, grid: 1 << d.min(31) });
        }
        let declared = kernel.operands.iter().filter_map(|o| match o.role {
            Role::Scalar { min, max } => Some(Interval { lo: min.into(), hi: max.into() }),
            _ => None,
        });
        for (&v, interval) in scalars.iter().zip(declared) {
            r.set(v, Known { interval, grid: 0 });
        }
        r.block(kernel, &kernel.body);
        r
    }

    /// What is known of `v`.
    pub fn known(&self, v: Value) -> Known {
        self.known[v.0 as usize]
    }

    /// The interval of an i32 scalar.
    pub fn interval(&self, v: Value) -> Interval {
        self.known(v).interval
    }

    fn set(&mut self, v: Value, known: Known) {
        self.known[v.0 as usize] = known;
    }

    fn block(&mut self, kernel: &Kernel, block: &Block) {
        for op in &block.ops {
            self.op(kernel, op);
        }
    }

    fn op(&mut self, kernel: &Kernel, op: &Op) {
        let grid = op.operands.iter().fold(0, |g, &v| g | self.known(v).grid);
        match op.kind {
            OpKind::Fold => self.fold(kernel, op, grid),
            OpKind::If => {
                for region in &op.regions {
                    self.block(kernel, region);
                }
                for (i, &result) in op.results.iter().enumerate() {
                    let yields = op.regions.iter().filter_map(|r| r.yields.get(i)).map(|&v| self.known(v));
                    let joined = yields.reduce(|a, b| Known {
                        interval: a.interval.union(b.interval),
                        grid: a.grid | b.grid,
                    });
                    if let Some(k) = joined {
                        self.set(result, Known { grid: k.grid | grid, ..k });
                    }
                }
            }
            _ => {
                for &result in &op.results {
                    let scalar = kernel.ty(result) == TileType::INDEX;
                    let interval = if scalar { self.scalar(kernel, op) } else { Interval::I32 };
                    self.set(result, Known { interval, grid });
                }
            }
        }
    }

    fn fold(&mut self, kernel: &Kernel, op: &Op, grid: u32) {
        let (lo, hi) = (self.interval(op.operands[0]), self.interval(op.operands[1]));
        let body = &op.regions[0];
        for (i, &arg) in body.args.iter().enumerate() {
            let interval =
                if i == 0 { Interval { lo: lo.lo, hi: (hi.hi - 1).max(lo.lo) } } else { Interval::I32 };
            self.set(arg, Known { interval, grid });
        }
        // Carried values may pick up dependences in the body: two passes reach the fixed point of the bit sets.
        for _ in 0..2 {
            self.block(kernel, body);
            for (&arg, &y) in body.args.iter().skip(1).zip(&body.yields) {
                let from = self.known(y).grid;
                self.known[arg.0 as usize].grid |= from;
            }
        }
        for (&result, &y) in op.results.iter().zip(&body.yields) {
            let from = self.known(y).grid;
            self.set(result, Known { interval: Interval::I32, grid: grid | from });
        }
    }

    fn scalar(&self, kernel: &Kernel, op: &Op) -> Interval {
        let x = op.operands.first().map_or(Interval::I32, |&v| self.interval(v));
        let y = op.operands.get(1).map_or(Interval::I32, |&v| self.interval(v));
        match &op.kind {
            OpKind::Splat(Const::Int(v)) => Interval::point(*v),
            OpKind::Lookup { table } => match kernel.operand(*table).role {
                Role::Table { min, max } => Interval { lo: min.into(), hi: max.into() },
                _ => Interval::I32,
            },
            OpKind::Binary(BinaryOp::Add) => Interval { lo: x.lo + y.lo, hi: x.hi + y.hi },
            OpKind::Binary(BinaryOp::Sub) => Interval { lo: x.lo - y.hi, hi: x.hi - y.lo },
            OpKind::Binary(BinaryOp::Mul) => x.corners(y, i64::saturating_mul),
            OpKind::Binary(BinaryOp::Div) if y.lo > 0 => x.corners(y, i64::div_euclid),
            OpKind::Binary(BinaryOp::Rem) if y.lo > 0 => Interval { lo: 0, hi: y.hi - 1 },
            OpKind::Binary(BinaryOp::Min) => Interval { lo: x.lo.min(y.lo), hi: x.hi.min(y.hi) },
            OpKind::Binary(BinaryOp::Max) => Interval { lo: x.lo.max(y.lo), hi: x.hi.max(y.hi) },
            OpKind::Unary(UnaryOp::Neg) => Interval { lo: -x.hi, hi: -x.lo },
            OpKind::Select => {
                let z = op.operands.get(2).map_or(Interval::I32, |&v| self.interval(v));
                y.union(z)
            }
            _ => Interval::I32,
        }
    }
}
