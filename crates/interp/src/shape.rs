//! Ops that only move elements.

use tilewright_ir::{Shape, TileType};

use crate::tile::{Poison, Tile, bounds};

/// Each element is its own index along `dim`.
pub(crate) fn iota(dim: usize, ty: TileType) -> Tile {
    let (step, size) = (ty.shape.strides()[dim].max(1), ty.shape.dims()[dim].max(1));
    Tile::new(ty, (0..ty.shape.elements()).map(|i| (i / step % size) as f64).collect())
}

/// Repeats a scalar, or dimensions of 1.
pub(crate) fn broadcast(x: &Tile, to: Shape) -> Tile {
    let mut strides = x.ty.shape.strides();
    for (stride, &size) in strides.iter_mut().zip(x.dims()) {
        if size == 1 {
            *stride = 0;
        }
    }
    gathered(x, to, strides, 0)
}

/// The same elements under another shape.
pub(crate) fn reshape(x: &Tile, to: Shape) -> Tile {
    Tile { ty: TileType::new(x.dtype(), to), ..x.clone() }
}

/// Dimension `d` of the result is dimension `perm[d]` of `x`.
pub(crate) fn transpose(x: &Tile, perm: &[usize; 4], to: Shape) -> Tile {
    let from = x.ty.shape.strides();
    let mut strides = [0; 4];
    for d in 0..to.rank() {
        strides[d] = from[perm[d]];
    }
    gathered(x, to, strides, 0)
}

/// The part of `x` that begins at `start`.
pub(crate) fn slice(x: &Tile, start: &[usize; 4], to: Shape) -> Tile {
    let strides = x.ty.shape.strides();
    let first = (0..to.rank()).map(|d| start[d] * strides[d]).sum();
    gathered(x, to, strides, first)
}

/// `x`, then `y`, along `dim`.
pub(crate) fn concat(x: &Tile, y: &Tile, dim: usize, to: Shape) -> Tile {
    let (a, b) = (chunk(x, dim), chunk(y, dim));
    let e = (x.e.is_some() || y.e.is_some()).then(|| interleave(&x.bounds(), &y.bounds(), a, b));
    let poison = match (&x.poison, &y.poison) {
        (None, None) => None,
        (p, q) => {
            let at =
                |p: &Option<Poison>, n: usize| p.as_ref().map_or_else(|| vec![false; n], |p| p.at.clone());
            let origin = p.as_ref().or(q.as_ref()).map(|p| &p.origin);
            origin.and_then(|o| Poison::of(interleave(&at(p, x.v.len()), &at(q, y.v.len()), a, b), o))
        }
    };
    Tile { ty: TileType::new(x.dtype(), to), v: interleave(&x.v, &y.v, a, b), e, poison }
}

/// Elements of a contiguous run that one index above `dim` selects.
fn chunk(x: &Tile, dim: usize) -> usize {
    x.dims()[dim..].iter().product()
}

fn interleave<T: Copy>(x: &[T], y: &[T], a: usize, b: usize) -> Vec<T> {
    x.chunks(a).zip(y.chunks(b)).flat_map(|(x, y)| x.iter().chain(y)).copied().collect()
}

fn gathered(x: &Tile, to: Shape, strides: [usize; 4], first: usize) -> Tile {
    let v = gather(&x.v, to, strides, first);
    let e = x.e.as_ref().and_then(|e| bounds(gather(e, to, strides, first)));
    let poison = x.poison.as_ref().and_then(|p| Poison::of(gather(&p.at, to, strides, first), &p.origin));
    Tile { ty: TileType::new(x.dtype(), to), v, e, poison }
}

/// The elements of `x` at `first` plus each index of `to` times `strides`.
fn gather<T: Copy>(x: &[T], to: Shape, strides: [usize; 4], first: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(to.elements());
    let rank = to.rank();
    // Right-aligned, so that the two innermost loops are always the last two.
    let (mut dims, mut step) = ([1; 4], [0; 4]);
    dims[4 - rank..].copy_from_slice(to.dims());
    step[4 - rank..].copy_from_slice(&strides[..rank]);
    for i in 0..dims[0] {
        for j in 0..dims[1] {
            for k in 0..dims[2] {
                let at = first + i * step[0] + j * step[1] + k * step[2];
                match step[3] {
                    1 => out.extend_from_slice(&x[at..at + dims[3]]),
                    0 => out.resize(out.len() + dims[3], x[at]),
                    s => out.extend((0..dims[3]).map(|l| x[at + l * s])),
                }
            }
        }
    }
    out
}
