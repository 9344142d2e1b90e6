//! Products of tiles: operands as packed panels or where they lie, and the micro-kernel over them.
//!
//! Panels of an operand whose block does not depend on the fastest grid dimension are kept for the cells that follow: a
//! tag per panel block says which block it holds. A launch clears the tags, as operands may have changed.

use std::collections::BTreeSet;

use tilewright_diag::Result;
use tilewright_ir::{Op, OpKind, Value};

use super::view::View;
use super::{Cell, Enclosing};
use crate::micro::{MicroSpec, Rows};
use crate::plan::{Place, unseen};

/// Where the micro-kernel reads an operand.
struct Panels {
    base: String,
    /// Bytes between panels of A (or B).
    panel: i64,
    /// Bytes between rows and between units of A.
    row: i64,
    unit: i64,
}

/// Packed blocks that outlive the cell.
struct Kept<'a> {
    load: &'a Op,
    /// The fold whose steps read different blocks, one slot for each index.
    fold: Option<Enclosing>,
    slots: usize,
}

/// What one product is made of.
struct Product<'v> {
    x: &'v View,
    y: &'v View,
    spec: MicroSpec,
    m: usize,
    n: usize,
    k: usize,
    /// The number of the product, per dimension of the batch.
    batch: Vec<String>,
}

impl<'a> Cell<'a> {
    /// `result = c + x . y` into buffer `b`.
    pub(super) fn dot(&mut self, op: &'a Op, b: usize) -> Result<()> {
        let [x, y, c] = [op.operands[0], op.operands[1], op.operands[2]];
        let shape = self.kernel.ty(op.results[0]).shape;
        let rank = shape.rank();
        let zero = self.start(c, b);
        let (x, y) = (self.view(x)?, self.view(y)?);
        let spec = MicroSpec::new(x.dtype, y.dtype, self.options.features)?;
        let k = self.kernel.ty(op.operands[0]).shape.dims()[rank - 1];
        let (m, n) = (shape.dims()[rank - 2], shape.dims()[rank - 1]);
        let mut batch = vec!["0".to_string(); rank - 2];
        let mut open = Vec::new();
        for (at, &size) in batch.iter_mut().zip(shape.dims()) {
            if size > 1 {
                let (l, _) = self.t.begin_loop("0", &size.to_string(), 1, &[]);
                at.clone_from(&l.index);
                open.push(l);
            }
        }
        self.product(op, b, &Product { x: &x, y: &y, spec, m, n, k, batch }, &zero);
        while let Some(l) = open.pop() {
            self.t.end_loop(l, &[], &[]);
        }
        Ok(())
    }

    /// Brings the accumulator into buffer `b`; returns whether the micro-kernel starts from zero instead, as an i1.
    fn start(&mut self, c: Value, b: usize) -> String {
        let zero =
            matches!(self.def(c).map(|d| &d.kind), Some(OpKind::Splat(value)) if value.as_f64() == 0.0);
        match self.plan.place(c) {
            Place::Buffer(own) if own == b => self.first.get(&c).cloned().unwrap_or("false".to_string()),
            Place::Inline if zero => "true".to_string(),
            _ => {
                self.copy(c, b);
                "false".to_string()
            }
        }
    }

    fn product(&mut self, op: &'a Op, b: usize, p: &Product<'_>, zero: &str) {
        let rank = p.batch.len() + 2;
        let buffer = self.plan.buffers[b].clone();
        let b_panels = self.pack_b(p);
        let a_panels = self.pack_a(p);
        let mut c = self.buffer_base(b);
        for (d, at) in p.batch.iter().enumerate() {
            let step = self.times(at, buffer.strides[d] * 4);
            c = self.offset(&c, &step);
        }
        let rows = self.wanted(op, p.x, rank - 2, p.m);
        // What is known here is known to the kernel: rows of A then share one pointer, and only the tiles that occur are
        // emitted.
        let f = self.rt.dot(&MicroSpec {
            a_rs: Some(a_panels.row),
            a_ks: Some(a_panels.unit),
            k: Some(p.k as i64),
            m: rows.parse().ok(),
            ..p.spec.clone()
        });
        let columns = self.wanted(op, p.y, rank - 1, p.n);
        self.t.line(format!(
            "call void {f}(ptr {}, i64 {}, i64 {}, i64 {}, ptr {}, i64 {}, i64 {}, ptr {c}, i64 {}, i64 {rows}, i64 {columns}, i1 {zero})",
            a_panels.base,
            a_panels.panel,
            a_panels.row,
            a_panels.unit,
            b_panels.base,
            b_panels.panel,
            p.k,
            buffer.strides[rank - 2] * 4,
        ));
    }

    /// How many rows or columns (`dim` of the result) to compute, of `size`: those outside of the operand are left out
    /// where they are poison, or no one sees them.
    fn wanted(&self, op: &'a Op, v: &View, dim: usize, size: usize) -> String {
        match &v.ends[dim] {
            Some(end)
                if end.poison || end.edge.is_some_and(|e| unseen(self.kernel, op.results[0], dim, e)) =>
            {
                end.valid.clone()
            }
            _ => size.to_string(),
        }
    }

    /// A: where it lies if rows are contiguous and few panels read it, else packed.
    fn pack_a(&mut self, p: &Product<'_>) -> Panels {
        let (v, rank) = (p.x, p.batch.len() + 2);
        let base = self.batch_base(v, &p.batch);
        let (along_m, along_k) = (v.strides[rank - 2], v.strides[rank - 1]);
        let contiguous = v.is_contiguous(rank - 1) || p.k == 1 && v.nibbles.is_none();
        let reread = p.n > 2 * p.spec.nr();
        if p.spec.a_in_place() && contiguous && v.is_whole() && !(reread && v.load.is_some()) {
            let row = along_m as i64;
            return Panels { base, panel: row * p.spec.mr as i64, row, unit: 4 };
        }
        let (rows, stride) = if contiguous { (Rows::Width, along_m) } else { (Rows::K, along_k) };
        let bytes = p.a_panel_bytes();
        let place = self.scratch_place(0, p.a_bytes());
        let f = self.rt.pack(&p.spec.pack_a(rows));
        let k_valid = self.batch_valid(v, &p.batch, rank - 1, p.k);
        let m_valid = v.valid(rank - 2, p.m);
        self.t.line(format!(
            "call void {f}(ptr {base}, i64 {stride}, i64 {}, i64 {}, i64 {k_valid}, i64 {m_valid}, ptr {place}, i64 {bytes})",
            p.k, p.m
        ));
        Panels { base: place, panel: bytes as i64, row: 4, unit: 4 * p.spec.mr as i64 }
    }

    /// B: always packed, and kept for the next cells where its block is theirs too.
    fn pack_b(&mut self, p: &Product<'_>) -> Panels {
        let (v, rank) = (p.y, p.batch.len() + 2);
        let base = self.batch_base(v, &p.batch);
        let (along_k, along_n) = (v.strides[rank - 2], v.strides[rank - 1]);
        let by_k = v.is_contiguous(rank - 1) || p.n == 1 && !v.is_contiguous(rank - 2);
        let (rows, stride) = if by_k { (Rows::K, along_k) } else { (Rows::Width, along_n) };
        let panel = p.spec.b_panel_bytes(p.k).next_multiple_of(64);
        let bytes = panel * p.n.div_ceil(p.spec.nr());
        let f = self.rt.pack(&p.spec.pack_b(rows));
        let panels = |place: String| Panels { base: place, panel: panel as i64, row: 0, unit: 0 };
        let kept = if p.batch.iter().all(|b| b == "0") { self.kept(v, bytes) } else { None };
        let Some(kept) = kept else {
            // A's panels come first in the scratch.
            let place = self.scratch_place(p.a_bytes(), bytes);
            self.pack_b_call(p, &f, &base, stride, &place, panel);
            return panels(place);
        };
        let (place, tag) = self.slot(bytes, &kept);
        let held = self.t.bind(format!("load i64, ptr {tag}, align 8"));
        let wanted = self.block_number(kept.load);
        let same = self.t.bind(format!("icmp eq i64 {held}, {wanted}"));
        let id = self.t.fresh();
        self.t.line(format!("br i1 {same}, label %kept{id}, label %pack{id}"));
        self.t.label(format!("pack{id}"));
        self.pack_b_call(p, &f, &base, stride, &place, panel);
        self.t.line(format!("store i64 {wanted}, ptr {tag}, align 8"));
        self.t.enter(format!("kept{id}"));
        panels(place)
    }

    fn pack_b_call(
        &mut self,
        p: &Product<'_>,
        f: &str,
        base: &str,
        stride: usize,
        place: &str,
        panel: usize,
    ) {
        let rank = p.batch.len() + 2;
        let k_valid = self.batch_valid(p.y, &p.batch, rank - 2, p.k);
        let n_valid = p.y.valid(rank - 1, p.n);
        self.t.line(format!(
            "call void {f}(ptr {base}, i64 {stride}, i64 {}, i64 {}, i64 {k_valid}, i64 {n_valid}, ptr {place}, i64 {panel})",
            p.k, p.n
        ));
    }

    /// Where the next cell reads the same blocks: the load behind `v`, and which of its blocks to keep packed.
    fn kept(&self, v: &View, bytes: usize) -> Option<Kept<'a>> {
        let load = self.def(v.load?)?;
        let fastest = self.kernel.grid.iter().rposition(|g| g.extent > 1)?;
        let depends = load.operands.iter().fold(0, |g, &i| g | self.plan.ranges.known(i).grid);
        if depends & (1 << fastest.min(31)) != 0 {
            return None;
        }
        let mut steps =
            self.folds.iter().filter(|f| load.operands.iter().any(|&i| self.is_made_of(i, f.value)));
        let fold = steps.next().cloned();
        let slots = fold.as_ref().map_or(1, |f| f.indices);
        let fits = slots > 0 && slots.saturating_mul(bytes) <= self.options.panel_bytes;
        (fits && steps.next().is_none()).then_some(Kept { load, fold, slots })
    }

    /// Whether the scalar `v` is `part`, or made of it by ops that stand in the text between.
    fn is_made_of(&self, v: Value, part: Value) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![v]);
        while let Some(v) = next.pop() {
            if v == part {
                return true;
            }
            if seen.insert(v) {
                next.extend(self.def(v).iter().flat_map(|op| &op.operands));
            }
        }
        false
    }

    /// Takes places of `bytes` in the arena, each with a tag; returns the addresses of the one that this step uses, and of
    /// its tag.
    fn slot(&mut self, bytes: usize, kept: &Kept<'a>) -> (String, String) {
        let first = self.arena.next_multiple_of(64);
        let tags = first + kept.slots * bytes;
        self.arena = (tags + kept.slots * 8).next_multiple_of(64);
        self.tags.push((tags, kept.slots));
        let slot = match &kept.fold {
            Some(fold) => self.add(&fold.index, &(-fold.first).to_string()),
            None => "0".to_string(),
        };
        let mut address = |start: usize, step: usize| {
            let at = self.times(&slot, step);
            let at = self.add(&at, &start.to_string());
            self.t.bind(format!("getelementptr i8, ptr %arena, i64 {at}"))
        };
        (address(first, bytes), address(tags, 8))
    }

    /// A number, never 0, that tells the load's block from every other block of its operand. Blocks wholly outside are
    /// alike, and get the number of the nearest index that is outside too.
    fn block_number(&mut self, load: &Op) -> String {
        let OpKind::Load { array } = load.kind else { return "0".to_string() };
        let shape = self.kernel.operand(array).shape;
        let mut number = "0".to_string();
        for (d, &v) in load.operands.iter().enumerate() {
            let size = shape.dims()[d];
            let index = self.index(v);
            let range = self.plan.ranges.interval(v);
            let above = if range.lo < 0 { self.at_least(&index, -1) } else { index };
            let inside = if range.hi > size as i64 { self.at_most(&above, size) } else { above };
            let scaled = self.times(&number, size + 2);
            let place = self.add(&inside, "1");
            number = self.add(&scaled, &place);
        }
        self.add(&number, "1")
    }

    /// A place in the scratch, which lies behind everything else: `%scratch` is bound when the arena's size is known.
    fn scratch_place(&mut self, offset: usize, bytes: usize) -> String {
        self.scratch = self.scratch.max(offset + bytes);
        self.t.bind(format!("getelementptr i8, ptr %scratch, i64 {offset}"))
    }
}

impl Product<'_> {
    fn a_panel_bytes(&self) -> usize {
        self.spec.a_panel_bytes(self.k).next_multiple_of(64)
    }

    /// Bytes of scratch that A's panels take where A is packed.
    fn a_bytes(&self) -> usize {
        self.a_panel_bytes() * self.m.div_ceil(self.spec.mr)
    }
}
