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

    /// What is known of an i32 computed from one that may overflow. No i32 lies outside.
    pub const ANY: Interval = Interval { lo: i64::MIN, hi: i64::MAX };

    /// One value.
    pub fn point(x: i64) -> Interval {
        Interval { lo: x, hi: x }
    }

    /// Whether every value is an i32.
    pub fn fits_i32(self) -> bool {
        self.lo >= Interval::I32.lo && self.hi <= Interval::I32.hi
    }

    /// What an op may take for granted of an operand: an overflow may have wrapped it to any i32, and taints what is
    /// made of it.
    fn as_operand(self) -> Interval {
        if self.fits_i32() { self } else { Interval::ANY }
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
    /// Whether the current pass learnt anything.
    changed: bool,
}

impl Ranges {
    /// Analyses a kernel whose values are defined before use.
    pub fn of(kernel: &Kernel) -> Ranges {
        let unknown = Known { interval: Interval::I32, grid: 0 };
        let mut r = Ranges { known: vec![unknown; kernel.values.len()], changed: true };
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
        // Carried tiles pick up dependences in their fold's body: pass over the kernel until the bit sets stand still.
        while std::mem::take(&mut r.changed) {
            r.block(kernel, &kernel.body);
        }
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
        let old = std::mem::replace(&mut self.known[v.0 as usize], known);
        self.changed |= old.grid != known.grid;
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
            let interval = if i == 0 {
                Interval { lo: lo.lo, hi: hi.hi.saturating_sub(1).max(lo.lo) }
            } else {
                Interval::I32
            };
            let carried = self.known(arg).grid;
            self.set(arg, Known { interval, grid: grid | carried });
        }
        self.block(kernel, body);
        let carried = body.args.iter().skip(1).zip(&body.yields).zip(&op.results);
        for ((&arg, &y), &result) in carried {
            let known = Known { interval: Interval::I32, grid: self.known(arg).grid | self.known(y).grid };
            self.set(arg, known);
            self.set(result, known);
        }
    }

    fn scalar(&self, kernel: &Kernel, op: &Op) -> Interval {
        let operand = |i: usize| op.operands.get(i).map_or(Interval::I32, |&v| self.interval(v).as_operand());
        let (x, y) = (operand(0), operand(1));
        match &op.kind {
            OpKind::Splat(Const::Int(v)) => Interval::point(*v),
            OpKind::Lookup { table } => match kernel.operand(*table).role {
                Role::Table { min, max } => Interval { lo: min.into(), hi: max.into() },
                _ => Interval::I32,
            },
            OpKind::Binary(BinaryOp::Add) => {
                Interval { lo: x.lo.saturating_add(y.lo), hi: x.hi.saturating_add(y.hi) }
            }
            OpKind::Binary(BinaryOp::Sub) => {
                Interval { lo: x.lo.saturating_sub(y.hi), hi: x.hi.saturating_sub(y.lo) }
            }
            OpKind::Binary(BinaryOp::Mul) => x.corners(y, i64::saturating_mul),
            OpKind::Binary(BinaryOp::Div) if y.lo > 0 => x.corners(y, i64::div_euclid),
            OpKind::Binary(BinaryOp::Rem) if y.lo > 0 => Interval { lo: 0, hi: y.hi - 1 },
            OpKind::Binary(BinaryOp::Min) => Interval { lo: x.lo.min(y.lo), hi: x.hi.min(y.hi) },
            OpKind::Binary(BinaryOp::Max) => Interval { lo: x.lo.max(y.lo), hi: x.hi.max(y.hi) },
            OpKind::Unary(UnaryOp::Neg) => Interval { lo: x.hi.saturating_neg(), hi: x.lo.saturating_neg() },
            OpKind::Select => y.union(operand(2)),
            _ if !x.fits_i32() || !y.fits_i32() => Interval::ANY,
            _ => Interval::I32,
        }
    }
}
