//! Which values are scalars, inline expressions or buffers.

use std::collections::{BTreeSet, HashMap};

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{BinaryOp, Block, Kernel, Op, OpKind, UnaryOp, Value};

use super::uses::Uses;
use super::{Carry, Place, unit_map};
use crate::features::CpuFeatures;
use crate::layout::{Buffer, Rows};
use crate::micro::MicroSpec;

/// An expression this costly (in ops weighted as in [`own_cost`]) is computed once where it has several uses.
const COSTLY: usize = 4;
/// An expression of more ops than this is cut.
const LARGEST: usize = 48;

/// A plan under construction.
pub(super) struct Planner<'a> {
    pub kernel: &'a Kernel,
    pub uses: Uses<'a>,
    pub place: Vec<Place>,
    pub buffers: Vec<Buffer>,
    pub carries: HashMap<Value, Vec<Carry>>,
    pub zero_first: BTreeSet<Value>,
    pub swaps: HashMap<Value, usize>,
    lanes: usize,
    /// Per value: the columns of the panels that a micro-kernel writes to it, in whole steps of which its rows are padded.
    panels: Vec<Option<usize>>,
    /// Ops in the inline expression of a value, and their cost.
    size: Vec<usize>,
    cost: Vec<usize>,
}

impl<'a> Planner<'a> {
    pub fn new(kernel: &'a Kernel, lanes: usize) -> Planner<'a> {
        let n = kernel.values.len();
        Planner {
            kernel,
            uses: Uses::of(kernel),
            place: vec![Place::Inline; n],
            buffers: Vec::new(),
            carries: HashMap::new(),
            zero_first: BTreeSet::new(),
            swaps: HashMap::new(),
            lanes,
            panels: vec![None; n],
            size: vec![1; n],
            cost: vec![0; n],
        }
    }

    pub fn place(&self, v: Value) -> Place {
        self.place[v.0 as usize]
    }

    /// Finds what micro-kernels write: results of `dot`, and tiles of folds that carry them, so that they may be summed
    /// in place.
    pub fn panels(&mut self, features: CpuFeatures) -> Result<()> {
        let mut fault = None;
        let mut folds = Vec::new();
        let kernel = self.kernel;
        kernel.walk(&mut |op| match op.kind {
            OpKind::Dot => {
                let [x, y] = [0, 1].map(|i| kernel.ty(op.operands[i]).dtype);
                match MicroSpec::new(x, y, features) {
                    Ok(spec) => self.panels[op.results[0].0 as usize] = Some(spec.nr()),
                    Err(d) => fault = fault.take().or(Some(d.at_if_absent(Some(op.loc.span())))),
                }
            }
            OpKind::Fold => folds.push(op),
            _ => {}
        });
        if let Some(d) = fault {
            return Err(d);
        }
        // Inner folds come last: what they yield outer folds may carry.
        for fold in folds.iter().rev() {
            let body = &fold.regions[0];
            for ((&arg, &y), &result) in body.args[1..].iter().zip(&body.yields).zip(&fold.results) {
                let columns = self.panels[y.0 as usize];
                self.panels[arg.0 as usize] = columns;
                self.panels[result.0 as usize] = columns;
            }
        }
        Ok(())
    }

    /// Decides the place of every value, in the order of the text.
    pub fn places(&mut self) {
        for &arg in &self.kernel.body.args {
            self.place[arg.0 as usize] = Place::Scalar;
        }
        self.block(&self.kernel.body);
    }

    /// A buffer of its own for `v`.
    pub fn new_buffer(&mut self, v: Value, rows: Rows) -> usize {
        let rows = self.panels[v.0 as usize].map_or(rows, Rows::Panels);
        self.buffers.push(Buffer::new(self.kernel.ty(v), self.lanes, rows));
        self.buffers.len() - 1
    }

    fn materialise(&mut self, v: Value, rows: Rows) {
        self.place[v.0 as usize] = Place::Buffer(self.new_buffer(v, rows));
    }

    fn is_scalar(&self, v: Value) -> bool {
        self.kernel.ty(v).shape.rank() == 0
    }

    fn block(&mut self, block: &Block) {
        for op in &block.ops {
            for region in &op.regions {
                for (i, &arg) in region.args.iter().enumerate() {
                    if i == 0 || self.is_scalar(arg) {
                        self.place[arg.0 as usize] = Place::Scalar;
                    } else {
                        self.materialise(arg, Rows::Vectors);
                    }
                }
                self.block(region);
                for &y in &region.yields {
                    // A yielded expression is computed where its op stands, so that it may be computed in place.
                    if matches!(op.kind, OpKind::Fold) && self.place(y) == Place::Inline {
                        self.materialise(y, Rows::Vectors);
                    }
                }
            }
            self.op(op);
        }
    }

    fn op(&mut self, op: &Op) {
        let Some(&result) = op.results.first() else { return };
        let ty = self.kernel.ty(result);
        match op.kind {
            OpKind::Fold => {
                for (&r, &arg) in op.results.iter().zip(&op.regions[0].args[1..]) {
                    self.place[r.0 as usize] = self.place(arg);
                }
            }
            OpKind::If => {
                for &r in &op.results {
                    if self.is_scalar(r) {
                        self.place[r.0 as usize] = Place::Scalar;
                    } else {
                        self.materialise(r, Rows::Vectors);
                    }
                }
            }
            _ if ty.shape.rank() == 0 => self.place[result.0 as usize] = Place::Scalar,
            OpKind::Dot | OpKind::Reduce { .. } | OpKind::Concat { .. } => {
                self.materialise(result, Rows::Vectors)
            }
            OpKind::Reshape if unit_map(self.kernel.ty(op.operands[0]), ty).is_none() => {
                self.materialise(result, Rows::Dense);
            }
            _ => self.expression(op, result),
        }
    }

    fn expression(&mut self, op: &Op, result: Value) {
        let inner = |all: &[usize]| -> usize { op.operands.iter().map(|v| all[v.0 as usize]).sum() };
        let cost = own_cost(self.kernel, op) + inner(&self.cost);
        let size = 1 + inner(&self.size);
        let u = &self.uses.uses[result.0 as usize];
        let depth = self.uses.depth[result.0 as usize];
        let repeated = u.depths.len() > 1 || u.by_broadcast || u.depths.iter().any(|&d| d > depth);
        let direct = self.is_view(op) && (!u.by_dot || self.has_contiguous_rows(result));
        let buffered = (u.by_dot && !direct)
            || (u.by_transpose && !direct && cost > 0)
            || (repeated && cost >= COSTLY)
            || size > LARGEST;
        if buffered {
            self.materialise(result, Rows::Vectors);
        } else {
            self.cost[result.0 as usize] = cost;
            self.size[result.0 as usize] = size;
        }
    }
}

/// What evaluating the op once costs, in vector instructions, roughly.
fn own_cost(kernel: &Kernel, op: &Op) -> usize {
    let narrow = op
        .operands
        .iter()
        .chain(&op.results)
        .any(|&v| !matches!(kernel.ty(v).dtype, DType::F32 | DType::I32 | DType::Bool));
    let base = match op.kind {
        OpKind::Unary(UnaryOp::Exp | UnaryOp::Log | UnaryOp::Tanh | UnaryOp::Erf) => 16,
        OpKind::Unary(UnaryOp::Sqrt | UnaryOp::Rsqrt) | OpKind::Binary(BinaryOp::Div | BinaryOp::Rem) => 6,
        OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(_) | OpKind::Select | OpKind::Cast => 1,
        _ => 0,
    };
    if narrow && base > 0 { base + 1 } else { base }
}
