//! Loops over a tile.

use tilewright_ir::{Op, OpKind, Shape, Value};

use super::{At, Cell};
use crate::layout::vector_dim;
use crate::plan::{Edge, Place, unseen};

impl<'a> Cell<'a> {
    /// Loops over a tile of `shape`, calling `body` where one vector is to be written. `extents`: per dimension, a run-time
    /// number of elements to visit in place of all of them. `loads`: what `body` reads of operands; where one of them may
    /// pass an edge, the loops are written twice, without and with checks, and the cell decides.
    pub(super) fn nest(
        &mut self,
        shape: Shape,
        extents: &[Option<String>],
        loads: &[&'a Op],
        body: &mut dyn FnMut(&mut Self, &At),
    ) {
        self.versions(loads, &mut |cell| {
            let at = At { coords: vec!["0".to_string(); shape.rank()], vector: None, mask: None };
            cell.loops(shape, extents, 0, at, body);
        });
    }

    /// As [`Cell::nest`] over the elements of `v`. Where a load may pass an edge, rows past it that no store will ever see are
    /// not visited: their masked accesses cost as much as whole rows, or more.
    pub(super) fn nest_of(&mut self, v: Value, loads: &[&'a Op], body: &mut dyn FnMut(&mut Self, &At)) {
        let shape = self.kernel.ty(v).shape;
        let seen = self.seen(v, loads);
        self.versions(loads, &mut |cell| {
            let at = At { coords: vec!["0".to_string(); shape.rank()], vector: None, mask: None };
            let extents = if cell.checked { seen.as_slice() } else { &[] };
            cell.loops(shape, extents, 0, at, body);
        });
    }

    /// Per dimension of `v` but the one along which vectors lie: how many elements some store will see, where a load tells
    /// that these may be fewer than all.
    pub(super) fn seen(&mut self, v: Value, loads: &[&'a Op]) -> Vec<Option<String>> {
        let shape = self.kernel.ty(v).shape;
        let mut seen = vec![None; shape.rank()];
        for load in loads {
            let OpKind::Load { array } = load.kind else { continue };
            let (block, operand) = (self.kernel.ty(load.results[0]).shape, self.kernel.operand(array));
            for (d, valid) in self.bounds(load).into_iter().enumerate().take(shape.rank()) {
                let edge =
                    Edge { index: load.operands[d], block: block.dims()[d], size: operand.shape.dims()[d] };
                let along = d != vector_dim(shape) && edge.block > 1 && edge.block == shape.dims()[d];
                if along && seen[d].is_none() && valid.is_some() && unseen(self.kernel, v, d, edge) {
                    seen[d] = valid;
                }
            }
        }
        seen
    }

    /// Writes `body` once where none of `loads` may pass an edge, else twice.
    pub(super) fn versions(&mut self, loads: &[&'a Op], body: &mut dyn FnMut(&mut Self)) {
        let mut inside: Option<String> = None;
        for load in loads {
            for (d, valid) in self.bounds(load).into_iter().enumerate() {
                let Some(valid) = valid else { continue };
                let size = self.kernel.ty(load.results[0]).shape.dims()[d];
                let whole = self.t.bind(format!("icmp eq i64 {valid}, {size}"));
                inside = Some(match inside {
                    None => whole,
                    Some(before) => self.t.bind(format!("and i1 {before}, {whole}")),
                });
            }
        }
        let outer = self.checked;
        self.checked = false;
        self.memo.clear();
        if let Some(inside) = inside {
            let id = self.t.fresh();
            self.t.line(format!("br i1 {inside}, label %inside{id}, label %edge{id}"));
            self.t.label(format!("inside{id}"));
            body(self);
            self.t.line(format!("br label %joined{id}"));
            self.t.label(format!("edge{id}"));
            self.checked = true;
            self.memo.clear();
            body(self);
            self.t.enter(format!("joined{id}"));
        } else {
            body(self);
        }
        self.memo.clear();
        self.checked = outer;
    }

    fn loops(
        &mut self,
        shape: Shape,
        extents: &[Option<String>],
        dim: usize,
        mut at: At,
        body: &mut dyn FnMut(&mut Self, &At),
    ) {
        if dim == shape.rank() {
            self.memo.clear();
            body(self, &at);
            return;
        }
        let extent = extents.get(dim).cloned().flatten();
        if dim == vector_dim(shape) {
            self.vector_loop(shape, extents, dim, extent, at, body);
            return;
        }
        let size = shape.dims()[dim];
        if size == 1 && extent.is_none() {
            self.loops(shape, extents, dim + 1, at, body);
            return;
        }
        let hi = extent.unwrap_or(size.to_string());
        let (l, _) = self.t.begin_loop("0", &hi, 1, &[]);
        at.coords[dim] = l.index.clone();
        self.loops(shape, extents, dim + 1, at, body);
        self.t.end_loop(l, &[], &[]);
    }

    /// Whole vectors in a loop, then the rest under a mask.
    fn vector_loop(
        &mut self,
        shape: Shape,
        extents: &[Option<String>],
        dim: usize,
        extent: Option<String>,
        mut at: At,
        body: &mut dyn FnMut(&mut Self, &At),
    ) {
        let n = shape.dims()[dim];
        at.vector = Some(dim);
        let (whole, rest) = match &extent {
            None => (
                (n / self.lanes * self.lanes).to_string(),
                (!n.is_multiple_of(self.lanes)).then(|| (n % self.lanes).to_string()),
            ),
            Some(extent) => {
                let whole = self.t.bind(format!("and i64 {extent}, {}", -(self.lanes as i64)));
                let rest = self.t.bind(format!("sub i64 {extent}, {whole}"));
                (whole, Some(rest))
            }
        };
        if n >= self.lanes {
            let (l, _) = self.t.begin_loop("0", &whole, self.lanes, &[]);
            at.coords[dim] = l.index.clone();
            self.loops(shape, extents, dim + 1, at.clone(), body);
            self.t.end_loop(l, &[], &[]);
        }
        let Some(rest) = rest else { return };
        at.coords[dim] = whole;
        let id = extent.map(|_| {
            let id = self.t.fresh();
            let some = self.t.bind(format!("icmp sgt i64 {rest}, 0"));
            self.t.line(format!("br i1 {some}, label %tail{id}, label %whole{id}"));
            self.t.label(format!("tail{id}"));
            id
        });
        at.mask = Some(self.lanes_below(&rest));
        self.loops(shape, extents, dim + 1, at, body);
        if let Some(id) = id {
            self.t.enter(format!("whole{id}"));
        }
    }

    /// A mask of the lanes whose number is below `count`, an i64.
    pub(super) fn lanes_below(&mut self, count: &str) -> String {
        let lanes = self.lanes;
        if let Some(n) = super::is_literal(count) {
            let bits: Vec<&str> =
                (0..lanes as i64).map(|i| if i < n { "i1 true" } else { "i1 false" }).collect();
            return format!("<{}>", bits.join(", "));
        }
        let high = self.clamped(count, lanes);
        let short = self.t.bind(format!("trunc i64 {high} to i32"));
        let all = self.splat("i32", &short);
        let ramp = self.ramp();
        self.t.bind(format!("icmp slt <{lanes} x i32> {ramp}, {all}"))
    }

    /// The constant vector 0, 1, 2, … of i32.
    pub(super) fn ramp(&self) -> String {
        let all: Vec<String> = (0..self.lanes).map(|i| format!("i32 {i}")).collect();
        format!("<{}>", all.join(", "))
    }

    /// A vector whose lanes are all the scalar `value`.
    pub(super) fn splat(&mut self, element: &str, value: &str) -> String {
        let lanes = self.lanes;
        let one =
            self.t.bind(format!("insertelement <{lanes} x {element}> poison, {element} {value}, i32 0"));
        self.t.bind(format!(
            "shufflevector <{lanes} x {element}> {one}, <{lanes} x {element}> poison, <{lanes} x i32> zeroinitializer"
        ))
    }

    /// The loads that evaluating `values` performs.
    pub(super) fn loads_in(&self, values: &[Value]) -> Vec<&'a Op> {
        let mut all = Vec::new();
        for &v in values {
            if self.plan.place(v) == Place::Inline
                && let Some(op) = self.def(v)
            {
                self.collect_loads(op, &mut all);
            }
        }
        all
    }

    /// The loads that computing `op` performs: itself, if it is one.
    pub(super) fn loads_of(&self, op: &'a Op) -> Vec<&'a Op> {
        let mut all = Vec::new();
        self.collect_loads(op, &mut all);
        all
    }

    fn collect_loads(&self, op: &'a Op, all: &mut Vec<&'a Op>) {
        if matches!(op.kind, OpKind::Load { .. }) {
            if !all.iter().any(|o| std::ptr::eq(*o, op)) {
                all.push(op);
            }
            return;
        }
        for load in self.loads_in(&op.operands) {
            if !all.iter().any(|o| std::ptr::eq(*o, load)) {
                all.push(load);
            }
        }
    }
}
