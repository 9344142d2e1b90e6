//! Which buffers an op reads, through the inline expressions of its operands.

use std::collections::BTreeMap;

use tilewright_ir::{Op, OpKind, Value};

use super::Place;

/// Buffers read; `true` where each is read only at the element that is being computed.
pub(super) type Reads = BTreeMap<usize, bool>;

/// Adds the buffers that evaluating `v` reads, given where values are and what makes them. `same`: whether `v` itself is
/// wanted at the element that is being computed.
pub(super) fn reads<'a>(
    v: Value,
    same: bool,
    place: &[Place],
    def: &dyn Fn(Value) -> Option<&'a Op>,
    visit: &mut dyn FnMut(Value, usize, bool),
) {
    match place[v.0 as usize] {
        Place::Buffer(b) => visit(v, b, same),
        Place::Scalar => {}
        Place::Inline => {
            if let Some(op) = def(v) {
                operands_read(op, same, place, def, visit);
            }
        }
    }
}

/// As [`reads`], for all operands of `op`.
pub(super) fn operands_read<'a>(
    op: &Op,
    same: bool,
    place: &[Place],
    def: &dyn Fn(Value) -> Option<&'a Op>,
    visit: &mut dyn FnMut(Value, usize, bool),
) {
    for (i, &v) in op.operands.iter().enumerate() {
        let moved = match op.kind {
            OpKind::Broadcast
            | OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::Slice { .. }
            | OpKind::Concat { .. }
            | OpKind::Reduce { .. } => true,
            OpKind::Dot => i < 2,
            _ => false,
        };
        reads(v, same && !moved, place, def, visit);
    }
}
