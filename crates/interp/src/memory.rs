//! Arrays that kernels read, and the walk over a block's rows.

use std::ops::Range;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::{DType, Tensor};
use tilewright_ir::{Const, Loc, TileType};

use crate::domain::Domain;
use crate::outcome::Values;
use crate::tile::{Poison, Tile, bounds, constant, flush};

/// An array that a kernel reads.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// The caller's, decoded block by block.
    Given(&'a Tensor),
    /// An earlier kernel's output, bounds and all.
    Made(&'a Values),
}

impl Source<'_> {
    fn dims(&self) -> &[usize] {
        match self {
            Source::Given(t) => t.shape(),
            Source::Made(v) => &v.shape,
        }
    }

    /// The block of type `ty` at element `offset`; elements past either edge are `pad`, or poison made at `at`.
    pub fn load(&self, ty: TileType, offset: &[i64], pad: Option<Const>, domain: &Domain, at: &Loc) -> Tile {
        let n = ty.shape.elements();
        let (fill, fill_e) = pad.map_or((0.0, 0.0), |p| constant(p, ty.dtype, domain));
        let rows = Rows::new(ty.shape.dims(), offset, self.dims());
        let whole = rows.is_whole();
        let mut v = vec![if whole { 0.0 } else { fill }; n];
        let mut e = self.has_bounds(ty.dtype, domain, fill_e).then(|| vec![fill_e; n]);
        let mut outside = (pad.is_none() && !whole).then(|| vec![true; n]);
        rows.each(|tile, array| {
            self.read(array.start, &mut v[tile.clone()]);
            if let Some(e) = &mut e {
                self.read_bounds(array.start, ty.dtype, domain, &v[tile.clone()], &mut e[tile.clone()]);
            }
            if let Some(outside) = &mut outside {
                outside[tile].fill(false);
            }
        });
        let poison = outside.and_then(|outside| Poison::of(outside, at));
        Tile { ty, v, e: e.and_then(bounds), poison }
    }

    fn read(&self, start: usize, v: &mut [f64]) {
        match self {
            Source::Given(t) if t.dtype() == DType::I4 => {
                v.iter_mut().enumerate().for_each(|(i, v)| *v = t.get(start + i));
            }
            Source::Given(t) => {
                let width = t.dtype().bits() as usize / 8;
                t.dtype().decode_slice(&t.bytes()[start * width..(start + v.len()) * width], v);
            }
            Source::Made(made) => v.copy_from_slice(&made.v[start..start + v.len()]),
        }
    }

    fn has_bounds(&self, dtype: DType, domain: &Domain, fill: f64) -> bool {
        match self {
            Source::Given(_) => {
                fill != 0.0 || (dtype.is_float() && domain.accuracy().is_some_and(|a| a.flushes_denormals))
            }
            Source::Made(made) => fill != 0.0 || made.e.is_some(),
        }
    }

    fn read_bounds(&self, start: usize, dtype: DType, domain: &Domain, v: &[f64], e: &mut [f64]) {
        match (self, domain.accuracy()) {
            (Source::Given(_), Some(a)) if dtype.is_float() => {
                v.iter().zip(e).for_each(|(&v, e)| *e = flush(v, dtype, a));
            }
            (Source::Made(Values { e: Some(from), .. }), _) => {
                e.copy_from_slice(&from[start..start + e.len()])
            }
            _ => e.fill(0.0),
        }
    }
}

/// The part of a block that lies inside its array, row by row.
pub(crate) struct Rows<'a> {
    tile: &'a [usize],
    array: &'a [usize],
    offset: &'a [i64],
}

impl<'a> Rows<'a> {
    /// A block of dimensions `tile` at element `offset` of an array of dimensions `array`; all of one rank.
    pub fn new(tile: &'a [usize], offset: &'a [i64], array: &'a [usize]) -> Rows<'a> {
        Rows { tile, array, offset }
    }

    /// Whether all of the block lies inside.
    pub fn is_whole(&self) -> bool {
        (0..self.tile.len()).all(|d| self.inside(d) == (0..self.tile[d]))
    }

    /// Calls `visit` with the places of each row's inner part in the tile and in the array, ascending.
    pub fn each(&self, mut visit: impl FnMut(Range<usize>, Range<usize>)) {
        self.dimension(0, 0, 0, &mut visit);
    }

    fn dimension(
        &self,
        d: usize,
        tile: usize,
        array: usize,
        visit: &mut impl FnMut(Range<usize>, Range<usize>),
    ) {
        if d == self.tile.len() {
            return visit(tile..tile + 1, array..array + 1);
        }
        let inside = self.inside(d);
        if inside.is_empty() {
            return;
        }
        let place = |i: usize| {
            let at = (i as i64 + self.offset[d]) as usize;
            (tile * self.tile[d] + i, array * self.array[d] + at)
        };
        if d + 1 == self.tile.len() {
            let (t, a) = place(inside.start);
            return visit(t..t + inside.len(), a..a + inside.len());
        }
        for i in inside {
            let (t, a) = place(i);
            self.dimension(d + 1, t, a, visit);
        }
    }

    /// The indices of the tile along `d` that lie inside the array.
    fn inside(&self, d: usize) -> Range<usize> {
        let (tile, array, offset) = (self.tile[d] as i64, self.array[d] as i64, self.offset[d]);
        let lo = offset.saturating_neg().clamp(0, tile);
        let hi = array.saturating_sub(offset).clamp(lo, tile);
        lo as usize..hi as usize
    }
}

/// `n` zeros, in pages that take no memory until they are written; `interp/too-large` where the system refuses.
pub(crate) fn zeroed<T: bytemuck::Zeroable>(n: usize, what: &str) -> Result<Vec<T>> {
    match bytemuck::allocation::try_zeroed_slice_box(n) {
        Ok(zeros) => Ok(zeros.into_vec()),
        Err(()) => {
            let bytes = n as f64 * size_of::<T>() as f64;
            Err(Diagnostic::request(
                "interp/too-large",
                format!("`{what}` needs {bytes:.3e} bytes in the interpreter"),
            )
            .rule("the interpreter holds each output in float64")
            .help("check a smaller problem, or chosen cells of it"))
        }
    }
}
