//! Views: tiles that a micro-kernel or a packing routine can read where they lie.

use tilewright_dtype::DType;
use tilewright_ir::{Const, Op, OpKind, Role, Shape, TileType, Value};

use super::Place;
use super::places::Planner;

/// For a reshape that only adds or drops dimensions of 1: for each result dimension, the operand dimension it is, or
/// `None` where it is new. `None` for any other reshape.
pub fn unit_map(from: TileType, to: TileType) -> Option<Vec<Option<usize>>> {
    let sizes = |t: TileType| -> Vec<usize> { t.shape.dims().iter().copied().filter(|&d| d != 1).collect() };
    if sizes(from) != sizes(to) {
        return None;
    }
    let mut rest = (0..from.shape.rank()).filter(|&d| from.shape.dims()[d] != 1);
    Some(to.shape.dims().iter().map(|&d| if d == 1 { None } else { rest.next() }).collect())
}

impl Planner<'_> {
    /// Whether the value is a block of an operand as it lies in memory, up to transposition, slicing and dimensions of 1.
    pub(super) fn is_view(&self, op: &Op) -> bool {
        match &op.kind {
            OpKind::Load { array } => {
                let operand = self.kernel.operand(*array);
                let zero = |c: Const| c.as_f64() == 0.0;
                let even = |shape: Shape| shape.dims().last().is_some_and(|n| n % 2 == 0);
                let bytes = operand.dtype != DType::I4
                    || even(operand.shape) && even(self.kernel.ty(op.results[0]).shape);
                bytes && matches!(operand.role, Role::Input { pad } if pad.is_none_or(zero))
            }
            OpKind::Transpose { .. } => self.operand_is_view(op),
            OpKind::Slice { .. } => {
                self.kernel.ty(op.results[0]).dtype != DType::I4 && self.operand_is_view(op)
            }
            OpKind::Reshape => {
                unit_map(self.kernel.ty(op.operands[0]), self.kernel.ty(op.results[0])).is_some()
                    && self.operand_is_view(op)
            }
            _ => false,
        }
    }

    fn operand_is_view(&self, op: &Op) -> bool {
        let v = op.operands[0];
        match self.place(v) {
            Place::Buffer(_) => true,
            Place::Inline => self.uses.def(v).is_some_and(|d| self.is_view(d)),
            Place::Scalar => false,
        }
    }

    /// Whether neighbours along one of a view's last two dimensions are neighbours in memory, as packing needs it. i4 have
    /// no address each, so that along other dimensions than these two may share no byte.
    pub(super) fn has_contiguous_rows(&self, v: Value) -> bool {
        let TileType { shape, dtype } = self.kernel.ty(v);
        let nibbles = dtype == DType::I4 && !matches!(self.place(v), Place::Buffer(_));
        self.view_strides(v).is_some_and(|strides| {
            (shape.rank().saturating_sub(2)..shape.rank()).any(|d| match shape.dims()[d] {
                1 => !nibbles,
                _ => strides[d] == 1,
            })
        })
    }

    /// Elements between neighbours along each dimension of a view.
    fn view_strides(&self, v: Value) -> Option<Vec<usize>> {
        if let Place::Buffer(b) = self.place(v) {
            return Some(self.buffers[b].strides[..self.kernel.ty(v).shape.rank()].to_vec());
        }
        let op = self.uses.def(v)?;
        match &op.kind {
            OpKind::Load { array } => {
                let shape = self.kernel.operand(*array).shape;
                Some(shape.strides()[..shape.rank()].to_vec())
            }
            OpKind::Transpose { perm } => {
                let inner = self.view_strides(op.operands[0])?;
                Some(perm[..inner.len()].iter().map(|&p| inner[p]).collect())
            }
            OpKind::Reshape => {
                let inner = self.view_strides(op.operands[0])?;
                let map = unit_map(self.kernel.ty(op.operands[0]), self.kernel.ty(v))?;
                Some(map.into_iter().map(|d| d.map_or(1, |d| inner[d])).collect())
            }
            OpKind::Slice { .. } => self.view_strides(op.operands[0]),
            _ => None,
        }
    }
}
