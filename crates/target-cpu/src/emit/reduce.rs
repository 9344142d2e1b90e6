//! Reductions along one dimension, into a buffer.

use tilewright_dtype::DType;
use tilewright_ir::rules::reduce_identity;
use tilewright_ir::{Op, ReduceOp};

use super::{At, Cell, Reg};
use crate::layout::vector_dim;

/// Partial results kept apart along vectors, so that one addition does not wait for the last.
const PARTS: usize = 4;

impl<'a> Cell<'a> {
    /// Reduces the op's operand along `dim` into buffer `b`.
    pub(super) fn reduce(&mut self, op: &'a Op, reduce: ReduceOp, dim: usize, b: usize) {
        let source = self.kernel.ty(op.operands[0]);
        let loads = self.loads_in(&op.operands);
        if dim == vector_dim(source.shape) {
            self.along_lanes(op, reduce, dim, b);
            return;
        }
        let size = source.shape.dims()[dim];
        self.nest_of(op.results[0], &loads, &mut |cell, at| {
            let (dtype, ty, identity) = cell.accumulator(reduce, source.dtype);
            let carried = [(ty, identity)];
            let (l, parts) = cell.t.begin_loop("0", &size.to_string(), 1, &carried);
            cell.memo.clear();
            let mut inner = at.clone();
            inner.coords[dim] = l.index.clone();
            let x = cell.eval(op.operands[0], &inner);
            let x = cell.opened(&x);
            let next = cell.combine(reduce, &parts[0], &x.text, dtype);
            cell.t.end_loop(l, &carried, &[next]);
            cell.memo.clear();
            let value = cell.finished(&parts[0], source.dtype);
            cell.write_buffer(b, at, &value, false);
        });
    }

    /// The dtype in which partial results are kept, its vector type, and the identity of the reduction.
    fn accumulator(&mut self, reduce: ReduceOp, dtype: DType) -> (DType, String, String) {
        let kept = if dtype.is_float() { DType::F32 } else { DType::I32 };
        let identity = self.constant(reduce_identity(reduce, kept), kept);
        (kept, self.vector_type(kept, false), identity.text)
    }

    /// Partial results, rounded once to the result's dtype.
    fn finished(&mut self, text: &str, dtype: DType) -> Reg {
        if dtype.is_float() { self.narrowed(text, dtype) } else { self.reg(text.to_string(), dtype, false) }
    }

    fn along_lanes(&mut self, op: &'a Op, reduce: ReduceOp, dim: usize, b: usize) {
        let source = self.kernel.ty(op.operands[0]);
        let loads = self.loads_in(&op.operands);
        // Rows are the result's other dimensions, among them the one along which its vectors lie.
        let seen = self.seen(op.operands[0], &loads);
        self.versions(&loads, &mut |cell| {
            let rank = source.shape.rank();
            let mut at = At { coords: vec!["0".to_string(); rank], vector: None, mask: None };
            let mut open = Vec::new();
            for d in (0..rank).filter(|&d| d != dim && source.shape.dims()[d] > 1) {
                let all = source.shape.dims()[d].to_string();
                let rows = seen[d].clone().filter(|_| cell.checked).unwrap_or(all);
                let (l, _) = cell.t.begin_loop("0", &rows, 1, &[]);
                at.coords[d] = l.index.clone();
                open.push(l);
            }
            let (dtype, total) = cell.row(op, reduce, dim, &at);
            let folded = cell.across_lanes(reduce, &total, dtype);
            let value = cell.finished(&folded, source.dtype);
            cell.write_buffer(b, &at, &value, false);
            while let Some(l) = open.pop() {
                cell.t.end_loop(l, &[], &[]);
            }
        });
    }

    /// Reduces one row to a vector of partial results.
    fn row(&mut self, op: &'a Op, reduce: ReduceOp, dim: usize, row: &At) -> (DType, String) {
        let source = self.kernel.ty(op.operands[0]);
        let (n, lanes) = (source.shape.dims()[dim], self.lanes);
        let (dtype, ty, identity) = self.accumulator(reduce, source.dtype);
        let wide = n / (lanes * PARTS) * (lanes * PARTS);
        let mut at = At { vector: Some(dim), ..row.clone() };
        let mut total = identity.clone();
        if wide > 0 {
            let carried = vec![(ty.clone(), identity.clone()); PARTS];
            let (l, parts) = self.t.begin_loop("0", &wide.to_string(), lanes * PARTS, &carried);
            self.memo.clear();
            let mut next = Vec::new();
            for (i, part) in parts.iter().enumerate() {
                at.coords[dim] = self.add(&l.index, &(i * lanes).to_string());
                next.push(self.step(op, reduce, &at, part, dtype));
            }
            self.t.end_loop(l, &carried, &next);
            total = parts[0].clone();
            for part in &parts[1..] {
                total = self.combine(reduce, &total, part, dtype);
            }
        }
        let whole = n / lanes * lanes;
        if whole > wide {
            let carried = [(ty.clone(), total.clone())];
            let (l, parts) = self.t.begin_loop(&wide.to_string(), &whole.to_string(), lanes, &carried);
            self.memo.clear();
            at.coords[dim] = l.index.clone();
            let next = self.step(op, reduce, &at, &parts[0], dtype);
            self.t.end_loop(l, &carried, &[next]);
            total = parts[0].clone();
        }
        if n > whole {
            self.memo.clear();
            let mask = self.lanes_below(&(n - whole).to_string());
            at.coords[dim] = whole.to_string();
            at.mask = Some(mask.clone());
            let x = self.eval(op.operands[0], &at);
            let x = self.opened(&x);
            let kept = self.t.bind(format!("select <{lanes} x i1> {mask}, {ty} {}, {ty} {identity}", x.text));
            total = self.combine(reduce, &total, &kept, dtype);
        }
        self.memo.clear();
        (dtype, total)
    }

    fn step(&mut self, op: &'a Op, reduce: ReduceOp, at: &At, part: &str, dtype: DType) -> String {
        let x = self.eval(op.operands[0], at);
        let x = self.opened(&x);
        self.combine(reduce, part, &x.text, dtype)
    }

    /// Combines the lanes of a vector, halving it; lane 0 of the result holds the total.
    fn across_lanes(&mut self, reduce: ReduceOp, vector: &str, dtype: DType) -> String {
        let lanes = self.lanes;
        let ty = self.vector_type(dtype, false);
        let mut total = vector.to_string();
        let mut half = lanes / 2;
        while half > 0 {
            let from: Vec<String> =
                (0..lanes).map(|i| format!("i32 {}", if i < half { i + half } else { i })).collect();
            let other = self.t.bind(format!(
                "shufflevector {ty} {total}, {ty} poison, <{lanes} x i32> <{}>",
                from.join(", ")
            ));
            total = self.combine(reduce, &total, &other, dtype);
            half /= 2;
        }
        total
    }
}
