//! Arrays that kernels write: who wrote each element, and how writes combine.

use std::ops::Range;
use std::sync::Arc;

use tilewright_diag::Result;
use tilewright_ir::{Kernel, Loc, Operand, ReduceOp, Role, Shape, rules};

use crate::bound::{self, Rounder};
use crate::domain::Domain;
use crate::elementwise::{max, min};
use crate::memory::{Rows, zeroed};
use crate::outcome::Values;
use crate::report::{Report, index_text};
use crate::tile::Tile;

/// One `store` that a cell ran.
pub(crate) struct Write {
    /// The output's place among the kernel's operands.
    pub array: usize,
    /// Element offset of the block.
    pub offset: Vec<i64>,
    pub tile: Arc<Tile>,
    pub at: Loc,
}

/// One output under construction.
pub(crate) struct Output {
    operand: Operand,
    combine: Option<ReduceOp>,
    domain: Domain,
    v: Vec<f64>,
    e: Option<Vec<f64>>,
    /// The cell that wrote each element, plus 1; 0: none.
    owner: Vec<u32>,
    /// For sums with bounds: sum of magnitudes, and number of terms.
    sums: Option<(Vec<f64>, Vec<u32>)>,
    written: Vec<Range<usize>>,
}

impl Output {
    /// An output that nothing has written. `None` for other operands.
    pub fn new(operand: &Operand, domain: &Domain) -> Result<Option<Output>> {
        let Role::Output { combine } = operand.role else { return Ok(None) };
        let n = operand.shape.elements();
        let bounds = domain.accuracy().is_some();
        let sums = bounds && combine == Some(ReduceOp::Add);
        Ok(Some(Output {
            operand: operand.clone(),
            combine,
            domain: *domain,
            v: zeroed(n, &operand.name)?,
            e: if bounds { Some(zeroed(n, &operand.name)?) } else { None },
            owner: zeroed(n, &operand.name)?,
            sums: if sums { Some((zeroed(n, &operand.name)?, zeroed(n, &operand.name)?)) } else { None },
            written: Vec::new(),
        }))
    }

    /// Applies one store of `cell`. Elements past the edge are dropped, with their poison.
    pub fn write(&mut self, write: &Write, cell: usize, kernel: &Kernel, report: &mut Report) {
        let shape = self.operand.shape;
        let rows = Rows::new(write.tile.dims(), &write.offset, shape.dims());
        rows.each(|tile, array| {
            self.note_written(array.clone());
            for (t, a) in tile.zip(array) {
                self.element(write, t, a, cell, kernel, report);
            }
        });
    }

    fn note_written(&mut self, range: Range<usize>) {
        match self.written.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.written.push(range),
        }
    }

    fn element(
        &mut self,
        write: &Write,
        t: usize,
        a: usize,
        cell: usize,
        kernel: &Kernel,
        report: &mut Report,
    ) {
        let tile = &*write.tile;
        let name = &self.operand.name;
        if let Some(p) = tile.poison.as_ref().filter(|p| p.at[t]) {
            let rule =
                "poison (past an edge without pad, division by zero, lookup outside) reaches no output";
            report.add("interp/poison-stored", &write.at, &p.origin.to_string(), rule, || {
                let place = index_text(self.operand.shape.dims(), a);
                format!(
                    "poison made at {} reaches `{name}`{place} in cell {}",
                    p.origin,
                    cell_text(kernel, cell)
                )
            });
        }
        let (x, ex) = (tile.v[t], tile.e.as_ref().map_or(0.0, |e| e[t]));
        let before = std::mem::replace(&mut self.owner[a], cell as u32 + 1) as usize;
        if self.combine.is_none() && before != 0 && before != cell + 1 {
            let rule =
                "each element of an output is written by one grid cell, unless the output combines writes";
            report.add("interp/second-writer", &write.at, name, rule, || {
                let place = index_text(self.operand.shape.dims(), a);
                let (first, second) = (cell_text(kernel, before - 1), cell_text(kernel, cell));
                format!("cells {first} and {second} both write `{name}`{place}")
            });
        }
        match self.combine {
            Some(op) => self.combined(op, x, ex, a, before == 0),
            None => {
                self.v[a] = x;
                if let Some(e) = &mut self.e {
                    e[a] = ex;
                }
            }
        }
    }

    fn combined(&mut self, op: ReduceOp, x: f64, ex: f64, a: usize, first: bool) {
        let dtype = self.operand.dtype;
        let old = if first { rules::reduce_identity(op, dtype).as_f64() } else { self.v[a] };
        if let Some(e) = &mut self.e {
            e[a] = match op {
                _ if first => ex,
                ReduceOp::Add => e[a] + ex,
                ReduceOp::Max => bound::extreme(true, (old, e[a]), (x, ex)),
                ReduceOp::Min => bound::extreme(false, (old, e[a]), (x, ex)),
            };
        }
        if let Some((magnitudes, count)) = &mut self.sums {
            magnitudes[a] += if x.is_finite() { x.abs() + ex } else { 0.0 };
            count[a] += 1;
        }
        self.v[a] = match op {
            ReduceOp::Max => max(old, x),
            ReduceOp::Min => min(old, x),
            ReduceOp::Add if !dtype.is_float() => dtype.wrap((old + x) as i64) as f64,
            ReduceOp::Add if self.domain == Domain::Exact => dtype.round(old + x),
            ReduceOp::Add => old + x,
        };
    }

    /// The finished values. With `all` cells run, elements that none wrote are reported, or, where writes combine,
    /// are the combination's identity.
    pub fn finish(mut self, all: bool, report: &mut Report) -> Values {
        let shape = self.operand.shape;
        let written = merged(std::mem::take(&mut self.written));
        self.finish_sums(&written);
        if all {
            for gap in gaps(&written, shape.elements()) {
                self.unwritten(gap, shape, report);
            }
        }
        let e = self.e.filter(|e| {
            let nonzero = |r: Range<usize>| e[r].iter().any(|&e| e != 0.0);
            if all { nonzero(0..e.len()) } else { written.iter().cloned().any(nonzero) }
        });
        Values { dtype: self.operand.dtype, shape: shape.dims().to_vec(), v: self.v, e, written }
    }

    fn finish_sums(&mut self, written: &[Range<usize>]) {
        let (Some((magnitudes, count)), Some(e), Some(accuracy)) =
            (&self.sums, &mut self.e, self.domain.accuracy())
        else {
            return;
        };
        let dtype = self.operand.dtype;
        let r = Rounder::new(dtype, accuracy);
        let range = dtype.int_range().map(|(lo, hi)| (lo as f64, hi as f64));
        for i in written.iter().cloned().flatten() {
            e[i] = match range {
                None => r.sum(self.v[i], e[i], magnitudes[i], count[i] as usize),
                Some((lo, hi)) if e[i] == 0.0 || (self.v[i] - e[i] >= lo && self.v[i] + e[i] <= hi) => e[i],
                Some(_) => f64::INFINITY,
            };
        }
    }

    fn unwritten(&mut self, gap: Range<usize>, shape: Shape, report: &mut Report) {
        if let Some(op) = self.combine {
            self.v[gap].fill(rules::reduce_identity(op, self.operand.dtype).as_f64());
            return;
        }
        let name = &self.operand.name;
        for i in gap.clone() {
            report.add(
                "interp/unwritten",
                &self.operand.loc,
                name,
                "every element of an output is written",
                || format!("no cell writes `{name}`{}", index_text(shape.dims(), i)),
            );
        }
        if let Some(e) = &mut self.e {
            e[gap].fill(f64::INFINITY);
        }
    }
}

fn cell_text(kernel: &Kernel, cell: usize) -> String {
    let index: Vec<String> = kernel.cell_index(cell).iter().map(usize::to_string).collect();
    format!("({})", index.join(", "))
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|r| (r.start, r.end));
    let mut out: Vec<Range<usize>> = Vec::new();
    for r in ranges {
        match out.last_mut() {
            Some(last) if r.start <= last.end => last.end = last.end.max(r.end),
            _ => out.push(r),
        }
    }
    out
}

fn gaps(written: &[Range<usize>], len: usize) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(written.iter().map(|r| r.end));
    let ends = written.iter().map(|r| r.start).chain(std::iter::once(len));
    starts.zip(ends).map(|(a, b)| a..b).filter(|r| !r.is_empty()).collect()
}
