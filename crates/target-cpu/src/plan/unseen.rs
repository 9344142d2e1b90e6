//! Elements past an edge that no one will see: every store that they could reach drops them.

use std::collections::BTreeSet;

use tilewright_ir::{Block, Kernel, Op, OpKind, Value};

use super::unit_map;

/// One dimension of a block of an operand, which may pass the operand's edge.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The block index.
    pub index: Value,
    /// Elements of a block.
    pub block: usize,
    /// Elements of the operand.
    pub size: usize,
}

/// Whether elements of `v` past `edge` along `dim` have no influence on any output. Only edges whose index stays what
/// it is while the cell runs are followed.
pub fn unseen(kernel: &Kernel, v: Value, dim: usize, edge: Edge) -> bool {
    let fixed = kernel.body.args.contains(&edge.index)
        || kernel.body.ops.iter().any(|op| op.results.contains(&edge.index));
    let mut f = Follow { kernel, edge, reached: BTreeSet::new(), next: vec![(v, dim)] };
    while let Some((v, dim)) = f.next.pop() {
        if !fixed || !f.uses(&kernel.body, None, v, dim) {
            return false;
        }
    }
    true
}

struct Follow<'a> {
    kernel: &'a Kernel,
    edge: Edge,
    reached: BTreeSet<(Value, usize)>,
    next: Vec<(Value, usize)>,
}

impl Follow<'_> {
    /// Follows dimension `dim` of `v` into its uses in `block`, the region of `owner`; `false` where one may see it.
    fn uses(&mut self, block: &Block, owner: Option<&Op>, v: Value, dim: usize) -> bool {
        for op in &block.ops {
            if (0..op.operands.len()).any(|i| op.operands[i] == v && !self.operand(op, i, dim)) {
                return false;
            }
            if !op.regions.iter().all(|r| self.uses(r, Some(op), v, dim)) {
                return false;
            }
        }
        if let Some(owner) = owner {
            for (i, _) in block.yields.iter().enumerate().filter(|(_, y)| **y == v) {
                self.reach(owner.results[i], dim);
                if let Some(&arg) = block.args.get(i + 1) {
                    self.reach(arg, dim);
                }
            }
        }
        true
    }

    fn reach(&mut self, v: Value, dim: usize) -> bool {
        if self.reached.insert((v, dim)) {
            self.next.push((v, dim));
        }
        true
    }

    /// Follows operand `i` of `op`.
    fn operand(&mut self, op: &Op, i: usize, dim: usize) -> bool {
        let from = self.kernel.ty(op.operands[i]);
        let result = op.results.first().copied();
        let along = |to: Option<usize>, f: &mut Self| match (to, result) {
            (Some(d), Some(r)) => f.reach(r, d),
            _ => false,
        };
        let rank = from.shape.rank();
        let kept = |f: &Self| {
            result.is_some_and(|r| f.kernel.ty(r).shape.dims().get(dim) == Some(&from.shape.dims()[dim]))
        };
        match &op.kind {
            OpKind::Store { array } => {
                let size = self.kernel.operand(*array).shape.dims()[dim];
                let Edge { index, block, size: edge } = self.edge;
                op.operands[dim] == index && from.shape.dims()[dim] == block && size == edge
            }
            OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(_) | OpKind::Select | OpKind::Cast => {
                along(Some(dim), self)
            }
            OpKind::Broadcast => kept(self) && along(Some(dim), self),
            OpKind::Slice { start } => start[dim] == 0 && kept(self) && along(Some(dim), self),
            OpKind::Reshape => {
                let to = result.map(|r| self.kernel.ty(r)).and_then(|to| unit_map(from, to));
                along(to.and_then(|map| map.iter().position(|&d| d == Some(dim))), self)
            }
            OpKind::Transpose { perm } => along(perm[..rank].iter().position(|&p| p == dim), self),
            OpKind::Concat { dim: joined } | OpKind::Reduce { dim: joined, .. } => {
                *joined != dim && along(Some(dim), self)
            }
            OpKind::Dot => {
                let summed = match i {
                    0 => rank - 1,
                    1 => rank - 2,
                    _ => rank,
                };
                dim != summed && along(Some(dim), self)
            }
            OpKind::Fold => {
                let carried = op.regions[0].args[i - 1];
                self.reach(carried, dim) && self.reach(op.results[i - 2], dim)
            }
            _ => false,
        }
    }
}
