//! Conversion between dtypes.

use tilewright_dtype::DType;

use crate::bound::{self, Rounder};
use crate::domain::{Accuracy, Domain};
use crate::tile::{Tile, bounds, rounded_once};

/// `x` converted to `to`.
pub(crate) fn cast(x: &Tile, to: DType, domain: &Domain) -> Tile {
    let from = x.dtype();
    let v: Vec<f64> = if to.is_float() {
        let mut v = x.v.clone();
        if *domain == Domain::Exact {
            to.round_slice(&mut v);
        }
        v
    } else if to == DType::Bool || from.is_float() {
        x.v.iter().map(|&x| to.cast_to_int(x) as f64).collect()
    } else {
        x.v.iter().map(|&x| to.wrap(x as i64) as f64).collect()
    };
    let e = domain
        .accuracy()
        .and_then(|accuracy| if to.is_float() { to_float(x, to, accuracy) } else { to_int(x, to, &v) });
    Tile { ty: x.ty.with_dtype(to), v, e, poison: x.poison.clone() }
}

fn to_float(x: &Tile, to: DType, accuracy: &Accuracy) -> Option<Vec<f64>> {
    if holds_every(to, x.dtype()) {
        return x.e.clone();
    }
    let r = Rounder::new(to, accuracy);
    let e = x.bounds();
    let each = x.v.iter().zip(&*e).map(|(&x, &ex)| {
        if ex == f64::INFINITY {
            ex
        } else if ex == 0.0 {
            // A value that is exactly known rounds in one way.
            rounded_once(x, to, accuracy)
        } else {
            r.after(x, ex)
        }
    });
    bounds(each.collect())
}

/// Whether every value of `from` is a value of `to`, so that a cast changes nothing.
fn holds_every(to: DType, from: DType) -> bool {
    let infinities = to.has_infinity() || !from.has_infinity();
    to.mantissa_bits() >= from.mantissa_bits()
        && to.max_finite() >= from.max_finite()
        && to.min_subnormal() <= from.min_subnormal()
        && infinities
}

fn to_int(x: &Tile, to: DType, v: &[f64]) -> Option<Vec<f64>> {
    let e = x.e.as_ref()?;
    let from_float = x.dtype().is_float();
    let (min, max) = to.int_range().map_or((0.0, 0.0), |(lo, hi)| (lo as f64, hi as f64));
    let each = x.v.iter().zip(e).zip(v).map(|((&x, &ex), &v)| {
        if ex == 0.0 {
            0.0
        } else if to == DType::Bool {
            if bound::excludes_zero(x, ex) { 0.0 } else { 1.0 }
        } else if ex == f64::INFINITY {
            ex
        } else if from_float {
            let (lo, hi) = bound::ends(x, ex);
            (to.cast_to_int(hi) as f64 - v).max(v - to.cast_to_int(lo) as f64)
        } else if x - ex >= min && x + ex <= max {
            ex
        } else {
            f64::INFINITY
        }
    });
    bounds(each.collect())
}
