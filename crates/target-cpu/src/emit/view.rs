//! Tiles as they lie in memory, for packing routines and micro-kernels.

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;
use tilewright_ir::{Op, OpKind, OperandId, Role, Value};

use super::Cell;
use crate::layout::element_bytes;
use crate::plan::{Edge, Place, unit_map};

/// A tile as it lies in memory.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// First element.
    pub base: String,
    /// Bytes between neighbours, per dimension of the tile.
    pub strides: Vec<usize>,
    /// Per dimension: where the operand may end within the block.
    pub ends: Vec<Option<End>>,
    /// Element type in memory.
    pub dtype: DType,
    /// The dimension along which neighbours follow each other in memory, where the stride cannot tell: two i4 share a
    /// byte along it, and a row of two takes one byte too.
    pub nibbles: Option<usize>,
    /// The load, where the tile is a block of an operand.
    pub load: Option<Value>,
}

/// Where an operand may end within a block.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// Elements inside, an i64.
    pub valid: String,
    /// Whether elements outside are poison: their pad is not 0 but anything.
    pub poison: bool,
    /// The dimension of the operand, where the whole of it is the view's.
    pub edge: Option<Edge>,
}

impl View {
    /// Elements inside along `dim`, of `size`.
    pub fn valid(&self, dim: usize, size: usize) -> String {
        self.ends[dim].as_ref().map_or(size.to_string(), |end| end.valid.clone())
    }

    /// Whether neighbours along `dim` follow each other in memory.
    pub fn is_contiguous(&self, dim: usize) -> bool {
        match self.dtype {
            DType::I4 => self.nibbles == Some(dim),
            dtype => self.strides[dim] == element_bytes(dtype),
        }
    }

    /// Whether all elements lie inside.
    pub fn is_whole(&self) -> bool {
        self.ends.iter().all(Option::is_none)
    }
}

impl<'a> Cell<'a> {
    /// How `v` lies in memory; the plan made a buffer of every product operand that lies nowhere.
    pub(super) fn view(&mut self, v: Value) -> Result<View> {
        if let Place::Buffer(b) = self.plan.place(v) {
            let buffer = self.plan.buffers[b].clone();
            let bytes = element_bytes(buffer.ty.dtype);
            let rank = buffer.ty.shape.rank();
            let strides = (0..rank).map(|d| buffer.strides[d] * bytes).collect();
            let base = self.buffer_base(b);
            let dtype = buffer.ty.dtype;
            return Ok(View { base, strides, ends: vec![None; rank], dtype, nibbles: None, load: None });
        }
        let ty = self.kernel.ty(v);
        let Some(op) = self.def(v) else { return Err(self.no_view(v)) };
        match &op.kind {
            OpKind::Load { array } => Ok(self.loaded_view(op, *array, v)),
            OpKind::Transpose { perm } => {
                let inner = self.view(op.operands[0])?;
                let rank = ty.shape.rank();
                Ok(View {
                    strides: perm[..rank].iter().map(|&p| inner.strides[p]).collect(),
                    ends: perm[..rank].iter().map(|&p| inner.ends[p].clone()).collect(),
                    nibbles: perm[..rank].iter().position(|&p| inner.nibbles == Some(p)),
                    ..inner
                })
            }
            OpKind::Reshape => self.reshaped_view(op, v),
            OpKind::Slice { start } => {
                let mut inner = self.view(op.operands[0])?;
                for (d, &first) in start.iter().enumerate().take(ty.shape.rank()) {
                    let size = ty.shape.dims()[d];
                    let whole = size == self.kernel.ty(op.operands[0]).shape.dims()[d];
                    inner.base = self.offset(&inner.base, &(first * inner.strides[d]).to_string());
                    if let Some(end) = inner.ends[d].take_if(|_| !whole) {
                        let left = self.t.bind(format!("sub i64 {}, {first}", end.valid));
                        let valid = self.clamped(&left, size);
                        inner.ends[d] = Some(End { valid, edge: None, ..end });
                    }
                }
                // A part of a block is not the block that a tag names.
                Ok(View { load: None, ..inner })
            }
            _ => Err(self.no_view(v)),
        }
    }

    /// Where the view begins in the product number `batch`.
    pub(super) fn batch_base(&mut self, v: &View, batch: &[String]) -> String {
        let mut base = v.base.clone();
        for (d, at) in batch.iter().enumerate().take(v.strides.len() - 2) {
            let step = self.times(at, v.strides[d]);
            base = self.offset(&base, &step);
        }
        base
    }

    /// Elements inside along `dim`, of `size`, in the product number `batch`: none where the product lies outside.
    pub(super) fn batch_valid(&mut self, v: &View, batch: &[String], dim: usize, size: usize) -> String {
        let mut valid = v.valid(dim, size);
        for (d, at) in batch.iter().enumerate().take(v.strides.len() - 2) {
            let Some(end) = &v.ends[d] else { continue };
            let inside = self.t.bind(format!("icmp slt i64 {at}, {}", end.valid));
            valid = self.t.bind(format!("select i1 {inside}, i64 {valid}, i64 0"));
        }
        valid
    }

    pub(super) fn buffer_base(&mut self, b: usize) -> String {
        let offset = self.plan.buffers[b].offset;
        self.t.bind(format!("getelementptr i8, ptr %arena, i64 {offset}"))
    }

    pub(super) fn offset(&mut self, base: &str, bytes: &str) -> String {
        if bytes == "0" {
            base.to_string()
        } else {
            self.t.bind(format!("getelementptr i8, ptr {base}, i64 {bytes}"))
        }
    }

    fn loaded_view(&mut self, op: &'a Op, array: OperandId, v: Value) -> View {
        let operand = self.kernel.operand(array);
        let tile = self.kernel.ty(v).shape;
        let poison = matches!(operand.role, Role::Input { pad: None });
        let valid = self.bounds(op);
        let ends = (0..tile.rank()).zip(valid).map(|(d, valid)| {
            let edge = Edge { index: op.operands[d], block: tile.dims()[d], size: operand.shape.dims()[d] };
            valid.map(|valid| End { valid, poison, edge: Some(edge) })
        });
        let ends = ends.collect();
        let mut base = self.arrays.get(&array).cloned().unwrap_or_default();
        let strides = operand.shape.strides();
        for (d, &i) in op.operands.iter().enumerate() {
            let index = self.index(i);
            let step = self.times(&index, tile.dims()[d] * strides[d]);
            let bytes = self.bytes(&step, operand.dtype);
            base = self.offset(&base, &bytes);
        }
        // The last dimension's neighbours are neighbours in memory; i4 among them share bytes.
        let last = tile.rank() - 1;
        let bytes = |d: usize| {
            if d == last {
                element_bytes(operand.dtype)
            } else {
                strides[d] * operand.dtype.bits() as usize / 8
            }
        };
        View {
            base,
            strides: (0..tile.rank()).map(bytes).collect(),
            ends,
            dtype: operand.dtype,
            nibbles: (operand.dtype == DType::I4).then_some(last),
            load: Some(v),
        }
    }

    fn reshaped_view(&mut self, op: &'a Op, v: Value) -> Result<View> {
        let (from, to) = (self.kernel.ty(op.operands[0]), self.kernel.ty(v));
        let inner = self.view(op.operands[0])?;
        let map = unit_map(from, to).ok_or_else(|| self.no_view(v))?;
        let mut strides = Vec::new();
        let mut ends: Vec<Option<End>> = Vec::new();
        for d in &map {
            strides.push(d.map_or(element_bytes(inner.dtype), |d| inner.strides[d]));
            ends.push(d.and_then(|d| inner.ends[d].clone()));
        }
        // A dropped dimension that may lie outside empties the whole block.
        for (d, dropped) in inner.ends.iter().enumerate() {
            let (Some(dropped), false) = (dropped, map.contains(&Some(d))) else { continue };
            let gone = self.t.bind(format!("icmp eq i64 {}, 0", dropped.valid));
            for (r, end) in ends.iter_mut().enumerate() {
                let size = end.as_ref().map_or(to.shape.dims()[r].to_string(), |end| end.valid.clone());
                let valid = self.t.bind(format!("select i1 {gone}, i64 0, i64 {size}"));
                *end = Some(End { valid, poison: dropped.poison, edge: None });
            }
        }
        let nibbles = map.iter().position(|&d| d.is_some() && d == inner.nibbles);
        Ok(View { strides, ends, nibbles, ..inner })
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
        let ty = self.kernel.ty(v);
        Diagnostic::tool("cpu/dot-operand", format!("an operand of `dot` of type {ty} lies nowhere"))
    }
}
