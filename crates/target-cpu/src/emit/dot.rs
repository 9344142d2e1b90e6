//! Products of tiles: operands as packed panels or where they lie, and the micro-kernel over them.
//!
//! Panels of an operand whose block does not depend on the fastest grid dimension are kept for the cells that follow: a
//! tag per panel block says which block it holds. A launch clears the tags, as operands may have changed.

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;
use tilewright_ir::{Op, OpKind, TileType, Value};

use super::{At, Cell};
use crate::layout::element_bytes;
use crate::micro::{MicroSpec, Rows};
use crate::plan::{Place, unit_map};

/// A tile as it lies in memory.
#[derive(Clone, Debug)]
struct View {
    /// First element.
    base: String,
    /// Bytes between neighbours, per dimension of the tile; 0 where there is one element.
    strides: Vec<usize>,
    /// Elements inside the operand, per dimension, where that may be fewer than all.
    valid: Vec<Option<String>>,
    /// Element type in memory.
    dtype: DType,
    /// The load, where the tile is a block of an operand.
    load: Option<Value>,
}

/// Where the micro-kernel reads an operand.
struct Panels {
    base: String,
    /// Bytes between panels of A (or B).
    panel: i64,
    /// Bytes between rows and between units of A.
    row: i64,
    unit: i64,
}

impl<'a> Cell<'a> {
    /// `result = c + x . y` into buffer `b`.
    pub(super) fn dot(&mut self, op: &'a Op, b: usize) -> Result<()> {
        let [x, y, c] = [op.operands[0], op.operands[1], op.operands[2]];
        let ty = self.kernel.ty(op.results[0]);
        let zero = self.start(c, b);
        let (vx, vy) = (self.view(x)?, self.view(y)?);
        let spec = MicroSpec::new(vx.dtype, vy.dtype, self.options.features)?;
        let rank = ty.shape.rank();
        let mut batch = vec!["0".to_string(); rank];
        let mut open = Vec::new();
        for (d, at) in batch.iter_mut().enumerate().take(rank - 2) {
            if ty.shape.dims()[d] > 1 {
                let (l, _) = self.t.begin_loop("0", &ty.shape.dims()[d].to_string(), 1, &[]);
                *at = l.index.clone();
                open.push(l);
            }
        }
        self.product(op, b, &spec, (&vx, &vy), &batch, &zero)?;
        while let Some(l) = open.pop() {
            self.t.end_loop(l, &[], &[]);
        }
        Ok(())
    }

    /// Brings the accumulator into buffer `b`; returns whether the micro-kernel starts from zero instead, as an i1.
    fn start(&mut self, c: Value, b: usize) -> String {
        let zero = matches!(self.def(c).map(|d| &d.kind), Some(OpKind::Splat(value)) if value.as_f64() == 0.0);
        match self.plan.place(c) {
            Place::Buffer(own) if own == b => self.first.get(&c).cloned().unwrap_or("false".to_string()),
            Place::Inline if zero => "true".to_string(),
            _ => {
                self.copy(c, b);
                "false".to_string()
            }
        }
    }

    fn product(
        &mut self,
        op: &'a Op,
        b: usize,
        spec: &MicroSpec,
        (vx, vy): (&View, &View),
        batch: &[String],
        zero: &str,
    ) -> Result<()> {
        let ty = self.kernel.ty(op.results[0]);
        let rank = ty.shape.rank();
        let (m, n) = (ty.shape.dims()[rank - 2], ty.shape.dims()[rank - 1]);
        let k = self.kernel.ty(op.operands[0]).shape.dims()[rank - 1];
        let buffer = self.plan.buffers[b].clone();
        let row = if m > 1 { buffer.strides[rank - 2] } else { buffer.strides[rank - 2].max(n.next_multiple_of(spec.nr())) };
        if row % spec.nr() != 0 {
            return Err(Diagnostic::request("cpu/dot-layout", format!("rows of {row} accumulators for panels of {}", spec.nr())));
        }
        let rows = vx.valid[rank - 2].clone();
        let columns = vy.valid[rank - 1].clone();
        self.clear_edges(b, ty, zero, &[(&rows, m), (&columns, n)]);
        let b_panels = self.pack_b(op, spec, vy, batch, (k, n));
        let a_panels = self.pack_a(spec, vx, batch, (m, k, n));
        let mut c = self.buffer_base(b);
        for (d, at) in batch.iter().enumerate().take(rank - 2) {
            let step = self.times(at, buffer.strides[d] * 4);
            c = self.offset(&c, &step);
        }
        let f = self.rt.dot(spec);
        let (m, n) = (rows.unwrap_or(m.to_string()), columns.unwrap_or(n.to_string()));
        self.t.line(format!(
            "call void {f}(ptr {}, i64 {}, i64 {}, i64 {}, ptr {}, i64 {}, i64 {k}, ptr {c}, i64 {}, i64 {m}, i64 {n}, i1 {zero})",
            a_panels.base,
            a_panels.panel,
            a_panels.row,
            a_panels.unit,
            b_panels.base,
            b_panels.panel,
            row * 4,
        ));
        Ok(())
    }

    /// Where the micro-kernel starts from zero but computes only what lies inside the operands, the rest is set to zero.
    fn clear_edges(&mut self, b: usize, ty: TileType, zero: &str, edges: &[(&Option<String>, usize)]) {
        if zero == "false" {
            return;
        }
        let mut short: Option<String> = None;
        for (valid, size) in edges {
            let Some(valid) = valid else { continue };
            let fewer = self.t.bind(format!("icmp slt i64 {valid}, {size}"));
            short = Some(match short {
                None => fewer,
                Some(before) => self.t.bind(format!("or i1 {before}, {fewer}")),
            });
        }
        let Some(short) = short else { return };
        let needed = self.t.bind(format!("and i1 {short}, {zero}"));
        let id = self.t.fresh();
        self.t.line(format!("br i1 {needed}, label %clear{id}, label %cleared{id}"));
        self.t.label(format!("clear{id}"));
        self.nest(ty.shape, &[], &[], &mut |cell, at: &At| {
            let nothing = cell.reg("zeroinitializer".to_string(), ty.dtype, false);
            cell.write_buffer(b, at, &nothing, false);
        });
        self.t.enter(format!("cleared{id}"));
    }

    /// A: where it lies if rows are contiguous and few panels read it, else packed.
    fn pack_a(&mut self, spec: &MicroSpec, v: &View, batch: &[String], (m, k, n): (usize, usize, usize)) -> Panels {
        let rank = v.strides.len();
        let element = element_bytes(v.dtype);
        let base = self.batch_base(v, batch);
        let (along_m, along_k) = (v.strides[rank - 2], v.strides[rank - 1]);
        let contiguous = along_k == element || k == 1;
        let whole = v.valid[rank - 1].is_none() && v.valid[rank - 2].is_none();
        let reread = n > 2 * spec.nr();
        if spec.a_in_place() && contiguous && whole && !(reread && v.load.is_some()) {
            let row = along_m as i64;
            return Panels { base, panel: row * spec.mr as i64, row, unit: 4 };
        }
        let (rows, stride) =
            if contiguous { (Rows::Width, along_m) } else { (Rows::K, along_k) };
        let bytes = spec.a_panel_bytes(k).next_multiple_of(64);
        let place = self.scratch_place(0, bytes * m.div_ceil(spec.mr));
        let f = self.rt.pack(&spec.pack_a(rows));
        let (kv, mv) = (valid(v, rank - 1, k), valid(v, rank - 2, m));
        self.t.line(format!(
            "call void {f}(ptr {base}, i64 {stride}, i64 {k}, i64 {m}, i64 {kv}, i64 {mv}, ptr {place}, i64 {bytes})"
        ));
        Panels { base: place, panel: bytes as i64, row: 4, unit: 4 * spec.mr as i64 }
    }

    /// B: always packed, and kept for the next cells where its block is theirs too.
    fn pack_b(&mut self, op: &'a Op, spec: &MicroSpec, v: &View, batch: &[String], (k, n): (usize, usize)) -> Panels {
        let rank = v.strides.len();
        let element = element_bytes(v.dtype);
        let base = self.batch_base(v, batch);
        let (along_k, along_n) = (v.strides[rank - 2], v.strides[rank - 1]);
        let (rows, stride) =
            if along_n == element || n == 1 && along_k != element { (Rows::K, along_k) } else { (Rows::Width, along_n) };
        let panel = spec.b_panel_bytes(k).next_multiple_of(64);
        let bytes = panel * n.div_ceil(spec.nr());
        let f = self.rt.pack(&spec.pack_b(rows));
        let (kv, nv) = (valid(v, rank - 2, k), valid(v, rank - 1, n));
        let pack = |place: &str| {
            format!(
                "call void {f}(ptr {base}, i64 {stride}, i64 {k}, i64 {n}, i64 {kv}, i64 {nv}, ptr {place}, i64 {panel})"
            )
        };
        let kept = if batch.iter().all(|b| b == "0") { self.kept_slots(op, v, bytes) } else { None };
        let Some((load, slots)) = kept else {
            // A's panels come first in the scratch; their size is known by the same rule as in `pack_a`.
            let place = self.scratch_place(self.a_scratch(op, spec), bytes);
            self.t.line(pack(&place));
            return Panels { base: place, panel: panel as i64, row: 0, unit: 0 };
        };
        let first = self.arena.next_multiple_of(64);
        let tags = first + slots * bytes;
        self.arena = tags + slots * 8;
        self.arena = self.arena.next_multiple_of(64);
        self.tags.push((tags, slots));
        let slot = match self.folds.last() {
            Some(fold) if slots > 1 => {
                let (index, lower) = (fold.index.clone(), fold.lower.clone());
                self.t.bind(format!("sub i64 {index}, {lower}"))
            }
            _ => "0".to_string(),
        };
        let at = self.times(&slot, bytes);
        let at = self.add(&at, &first.to_string());
        let place = self.t.bind(format!("getelementptr i8, ptr %arena, i64 {at}"));
        let tag_at = self.times(&slot, 8);
        let tag_at = self.add(&tag_at, &tags.to_string());
        let tag_place = self.t.bind(format!("getelementptr i8, ptr %arena, i64 {tag_at}"));
        let held = self.t.bind(format!("load i64, ptr {tag_place}, align 8"));
        let wanted = self.block_number(load);
        let same = self.t.bind(format!("icmp eq i64 {held}, {wanted}"));
        let id = self.t.fresh();
        self.t.line(format!("br i1 {same}, label %kept{id}, label %pack{id}"));
        self.t.label(format!("pack{id}"));
        self.t.line(pack(&place));
        self.t.line(format!("store i64 {wanted}, ptr {tag_place}, align 8"));
        self.t.enter(format!("kept{id}"));
        Panels { base: place, panel: panel as i64, row: 0, unit: 0 }
    }

    /// The load behind `v` and how many of its blocks to keep packed, where the next cell reads the same blocks.
    fn kept_slots(&self, op: &Op, v: &View, bytes: usize) -> Option<(&'a Op, usize)> {
        let load = self.def(v.load?)?;
        let fastest = self.kernel.grid.iter().rposition(|g| g.extent > 1)?;
        let depends = load.operands.iter().fold(0, |g, &i| g | self.plan.ranges.known(i).grid);
        if depends & (1 << fastest) != 0 {
            return None;
        }
        let _ = op;
        let slots = match self.folds.as_slice() {
            [] => 1,
            [fold] => fold.trips?,
            _ => return None,
        };
        (slots > 0 && slots.saturating_mul(bytes) <= self.options.panel_bytes).then_some((load, slots))
    }

    /// A number, never 0, that tells the load's block from every other block of its operand.
    fn block_number(&mut self, load: &Op) -> String {
        let OpKind::Load { array } = load.kind else { return "0".to_string() };
        let shape = self.kernel.operand(array).shape;
        let mut number = "0".to_string();
        for (d, &v) in load.operands.iter().enumerate() {
            let index = self.index(v);
            let scaled = self.times(&number, shape.dims()[d] + 1);
            number = self.add(&scaled, &index);
        }
        self.add(&number, "1")
    }

    /// Bytes of scratch that A's panels may take.
    fn a_scratch(&self, op: &Op, spec: &MicroSpec) -> usize {
        let dims = self.kernel.ty(op.operands[0]).shape;
        let rank = dims.rank();
        let (m, k) = (dims.dims()[rank - 2], dims.dims()[rank - 1]);
        spec.a_panel_bytes(k).next_multiple_of(64) * m.div_ceil(spec.mr)
    }

    /// A place in the scratch, which lies behind everything else; its start is an argument of the function's own.
    fn scratch_place(&mut self, offset: usize, bytes: usize) -> String {
        self.scratch = self.scratch.max(offset + bytes);
        self.t.bind(format!("getelementptr i8, ptr %scratch, i64 {offset}"))
    }

    fn buffer_base(&mut self, b: usize) -> String {
        let offset = self.plan.buffers[b].offset;
        self.t.bind(format!("getelementptr i8, ptr %arena, i64 {offset}"))
    }

    fn offset(&mut self, base: &str, bytes: &str) -> String {
        if bytes == "0" { base.to_string() } else { self.t.bind(format!("getelementptr i8, ptr {base}, i64 {bytes}")) }
    }

    fn batch_base(&mut self, v: &View, batch: &[String]) -> String {
        let mut base = v.base.clone();
        for (d, at) in batch.iter().enumerate().take(v.strides.len() - 2) {
            let step = self.times(at, v.strides[d]);
            base = self.offset(&base, &step);
        }
        base
    }

    /// How `v` lies in memory; the plan made a buffer of every product operand that lies nowhere.
    fn view(&mut self, v: Value) -> Result<View> {
        if let Place::Buffer(b) = self.plan.place(v) {
            let buffer = self.plan.buffers[b].clone();
            let bytes = element_bytes(buffer.ty.dtype);
            let dims = buffer.ty.shape.dims();
            let strides = (0..dims.len()).map(|d| buffer.strides[d] * bytes).collect();
            let valid = vec![None; dims.len()];
            return Ok(View { base: self.buffer_base(b), strides, valid, dtype: buffer.ty.dtype, load: None });
        }
        let Some(op) = self.def(v) else { return Err(self.no_view(v)) };
        let ty = self.kernel.ty(v);
        match &op.kind {
            OpKind::Load { array } => {
                let operand = self.kernel.operand(*array);
                let valid = self.bounds(op);
                let mut base = self.arrays.get(array).cloned().unwrap_or_default();
                let strides = operand.shape.strides();
                for (d, &i) in op.operands.iter().enumerate() {
                    let index = self.index(i);
                    let step = self.times(&index, ty.shape.dims()[d] * strides[d]);
                    let bytes = self.bytes(&step, operand.dtype);
                    base = self.offset(&base, &bytes);
                }
                let scale = |elements: usize| elements * operand.dtype.bits() as usize / 8;
                let strides = (0..ty.shape.rank())
                    .map(|d| if d + 1 == ty.shape.rank() { element_bytes(operand.dtype) } else { scale(strides[d]) })
                    .collect();
                Ok(View { base, strides, valid, dtype: operand.dtype, load: Some(v) })
            }
            OpKind::Transpose { perm } => {
                let inner = self.view(op.operands[0])?;
                let rank = ty.shape.rank();
                Ok(View {
                    strides: perm[..rank].iter().map(|&p| inner.strides[p]).collect(),
                    valid: perm[..rank].iter().map(|&p| inner.valid[p].clone()).collect(),
                    ..inner
                })
            }
            OpKind::Reshape => self.reshaped_view(op, v),
            OpKind::Slice { start } => {
                let mut inner = self.view(op.operands[0])?;
                for (d, &first) in start.iter().enumerate().take(ty.shape.rank()) {
                    inner.base = self.offset(&inner.base, &(first * inner.strides[d]).to_string());
                    if let Some(valid) = inner.valid[d].take() {
                        let left = self.t.bind(format!("sub i64 {valid}, {first}"));
                        self.rt.declare("declare i64 @llvm.smin.i64(i64, i64)");
                        self.rt.declare("declare i64 @llvm.smax.i64(i64, i64)");
                        let some = self.t.bind(format!("call i64 @llvm.smax.i64(i64 {left}, i64 0)"));
                        let size = ty.shape.dims()[d];
                        inner.valid[d] = Some(self.t.bind(format!("call i64 @llvm.smin.i64(i64 {some}, i64 {size})")));
                    }
                }
                // A part of a block is not the block that a tag names.
                Ok(View { load: None, ..inner })
            }
            _ => Err(self.no_view(v)),
        }
    }

    fn reshaped_view(&mut self, op: &'a Op, v: Value) -> Result<View> {
        let (from, to) = (self.kernel.ty(op.operands[0]), self.kernel.ty(v));
        let inner = self.view(op.operands[0])?;
        let map = unit_map(from, to).ok_or_else(|| self.no_view(v))?;
        let mut strides = Vec::new();
        let mut valid: Vec<Option<String>> = Vec::new();
        for d in &map {
            strides.push(d.map_or(element_bytes(inner.dtype), |d| inner.strides[d]));
            valid.push(d.and_then(|d| inner.valid[d].clone()));
        }
        // A dropped dimension that may lie outside empties the whole block.
        for (d, outside) in inner.valid.iter().enumerate() {
            let (Some(outside), false) = (outside, map.contains(&Some(d))) else { continue };
            let gone = self.t.bind(format!("icmp eq i64 {outside}, 0"));
            for (r, v) in valid.iter_mut().enumerate() {
                let size = v.clone().unwrap_or(to.shape.dims()[r].to_string());
                *v = Some(self.t.bind(format!("select i1 {gone}, i64 0, i64 {size}")));
            }
        }
        Ok(View { strides, valid, ..inner })
    }

    /// Bytes of a number of elements.
    fn bytes(&mut self, elements: &str, dtype: DType) -> String {
        if dtype == DType::I4 {
            return match super::is_literal(elements) {
                Some(n) => (n / 2).to_string(),
                None => self.t.bind(format!("ashr i64 {elements}, 1")),
            };
        }
        self.times(elements, element_bytes(dtype))
    }

    fn no_view(&self, v: Value) -> Box<Diagnostic> {
        Diagnostic::request("cpu/dot-operand", format!("an operand of `dot` of type {} lies nowhere", self.kernel.ty(v)))
    }
}

fn valid(v: &View, dim: usize, size: usize) -> String {
    v.valid[dim].clone().unwrap_or(size.to_string())
}
