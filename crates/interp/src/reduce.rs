//! Reductions along one dimension.

use tilewright_dtype::DType;
use tilewright_ir::{ReduceOp, TileType};

use crate::bound::{self, Rounder};
use crate::domain::{Accuracy, Domain};
use crate::elementwise::{max, min, wrap_i32, wrapping_bound};
use crate::tile::{Poison, Tile, bounds};

/// `x` reduced along `dim`, which stays with size 1.
pub(crate) fn reduce(op: ReduceOp, x: &Tile, dim: usize, domain: &Domain) -> Tile {
    let over = Over::new(x, dim);
    let v = match op {
        ReduceOp::Max => over.fold(&x.v, f64::NEG_INFINITY, max),
        ReduceOp::Min => over.fold(&x.v, f64::INFINITY, min),
        ReduceOp::Add => sum(&over, x, domain),
    };
    let e = match (domain.accuracy(), op) {
        (None, _) => None,
        (Some(accuracy), ReduceOp::Add) if x.dtype().is_float() => sum_bounds(&over, x, &v, accuracy),
        (Some(_), ReduceOp::Add) => x.e.as_ref().and_then(|e| {
            let (v, e) = (over.fold(&x.v, 0.0, |a, b| a + b), over.fold(e, 0.0, |a, b| a + b));
            bounds(v.iter().zip(&e).map(|(&v, &e)| wrapping_bound(v, e)).collect())
        }),
        (Some(_), _) => x.e.as_ref().and_then(|e| extreme_bounds(&over, op, x, e)),
    };
    let poison = x.poison.as_ref().and_then(|p| Poison::of(over.fold(&p.at, false, |a, b| a | b), &p.origin));
    Tile { ty: TileType::new(x.dtype(), x.ty.shape.with_dim(dim, 1)), v, e, poison }
}

/// The dtype that partial sums of `dtype` are kept in.
fn partial(dtype: DType) -> DType {
    match dtype {
        DType::BF16 | DType::F16 => DType::F32,
        other => other,
    }
}

fn sum(over: &Over, x: &Tile, domain: &Domain) -> Vec<f64> {
    let dtype = x.dtype();
    if !dtype.is_float() {
        return over.fold(&x.v, 0.0, |a, b| a + b).into_iter().map(|v| wrap_i32(v as i64)).collect();
    }
    if *domain != Domain::Exact || dtype == DType::F64 {
        return over.fold(&x.v, 0.0, |a, b| a + b);
    }
    let mut v = over.fold(&x.v, 0.0, |a, b| f64::from(a as f32 + b as f32));
    dtype.round_slice(&mut v);
    v
}

fn sum_bounds(over: &Over, x: &Tile, v: &[f64], accuracy: &Accuracy) -> Option<Vec<f64>> {
    let dtype = x.dtype();
    let r = Rounder::new(partial(dtype), accuracy);
    let narrow = (partial(dtype) != dtype).then(|| Rounder::new(dtype, accuracy));
    let errors = x.bounds();
    let e = over.fold(&errors, 0.0, |a, b| a + b);
    let magnitudes: Vec<f64> =
        x.v.iter().zip(&*errors).map(|(&x, &e)| if x.is_finite() { x.abs() + e } else { 0.0 }).collect();
    let a = over.fold(&magnitudes, 0.0, |a, b| a + b);
    let each = v.iter().zip(e.iter().zip(&a)).map(|(&v, (&e, &a))| {
        let e = r.sum(v, e, a, over.n);
        match narrow {
            Some(n) if v.is_finite() && e.is_finite() && over.n > 1 => n.after(v, e),
            _ => e,
        }
    });
    bounds(each.collect())
}

fn extreme_bounds(over: &Over, op: ReduceOp, x: &Tile, e: &[f64]) -> Option<Vec<f64>> {
    let pairs: Vec<(f64, f64)> = x.v.iter().copied().zip(e.iter().copied()).collect();
    let start = if op == ReduceOp::Max { f64::NEG_INFINITY } else { f64::INFINITY };
    let folded = over.fold(&pairs, (start, 0.0), |x, y| match op {
        ReduceOp::Min => (min(x.0, y.0), bound::extreme(false, x, y)),
        _ => (max(x.0, y.0), bound::extreme(true, x, y)),
    });
    bounds(folded.into_iter().map(|(_, e)| e).collect())
}

/// How a tile's elements lie around the reduced dimension: [outer, n, inner].
struct Over {
    n: usize,
    inner: usize,
}

impl Over {
    fn new(x: &Tile, dim: usize) -> Over {
        Over { n: x.dims()[dim], inner: x.dims()[dim + 1..].iter().product() }
    }

    /// Folds in index order; one pass over memory.
    #[inline(always)]
    fn fold<T: Copy>(&self, x: &[T], start: T, f: impl Fn(T, T) -> T) -> Vec<T> {
        let mut out = vec![start; x.len() / self.n];
        for (block, out) in x.chunks(self.n * self.inner).zip(out.chunks_mut(self.inner)) {
            if let [out] = out {
                *out = block.iter().fold(*out, |a, &b| f(a, b));
                continue;
            }
            for row in block.chunks(self.inner) {
                out.iter_mut().zip(row).for_each(|(a, &b)| *a = f(*a, b));
            }
        }
        out
    }
}
