//! Elementwise ops of one and two operands, and comparisons.

use tilewright_dtype::DType;
use tilewright_ir::{BinaryOp, CmpOp, Loc, UnaryOp};

use crate::bound::{self, Rounder, TargetRounder};
use crate::domain::{Accuracy, Domain};
use crate::tile::{Poison, Tile};

/// The elementwise `op` of `x`.
pub(crate) fn unary(op: UnaryOp, x: &Tile, domain: &Domain) -> Tile {
    let dtype = x.dtype();
    let mut v = if dtype.is_float() { float_unary(op, &x.v) } else { int_unary(op, dtype, &x.v) };
    if *domain == Domain::Exact && dtype.is_float() {
        dtype.round_slice(&mut v);
    }
    let e = match (domain.accuracy(), &x.e) {
        (None, _) => None,
        (Some(accuracy), _) if dtype.is_float() => unary_bounds(op, x, &v, accuracy),
        (Some(_), None) => None,
        (Some(_), Some(e)) => Some(int_unary_bounds(op, dtype, &x.v, e)),
    };
    Tile { ty: x.ty, v, e, poison: x.poison.clone() }
}

/// The elementwise `op` of `x` and `y`, which have one type; `at` is where it was written.
pub(crate) fn binary(op: BinaryOp, x: &Tile, y: &Tile, domain: &Domain, at: &Loc) -> Tile {
    let dtype = x.dtype();
    let mut v = if dtype.is_float() { float_binary(op, &x.v, &y.v) } else { int_binary(op, &x.v, &y.v) };
    if *domain == Domain::Exact && dtype.is_float() {
        dtype.round_slice(&mut v);
    }
    let e = match domain.accuracy() {
        Some(accuracy) if dtype.is_float() => float_binary_bounds(op, x, y, &v, accuracy),
        Some(_) if x.e.is_some() || y.e.is_some() => int_binary_bounds(op, x, y, &v),
        _ => None,
    };
    let mut poison = Poison::union(x.poison.as_ref(), y.poison.as_ref());
    if !dtype.is_float() && matches!(op, BinaryOp::Div | BinaryOp::Rem) {
        let zeros = Poison::of(y.v.iter().map(|&y| y == 0.0).collect(), at);
        poison = Poison::union(poison.as_ref(), zeros.as_ref());
    }
    Tile { ty: x.ty, v, e, poison }
}

/// The comparison `op` of `x` and `y`, which have one type.
pub(crate) fn compare(op: CmpOp, x: &Tile, y: &Tile) -> Tile {
    let truth = |holds: bool| if holds { 1.0 } else { 0.0 };
    let v = match op {
        CmpOp::Eq => zip(&x.v, &y.v, |x, y| truth(x == y)),
        CmpOp::Ne => zip(&x.v, &y.v, |x, y| truth(x != y)),
        CmpOp::Lt => zip(&x.v, &y.v, |x, y| truth(x < y)),
        CmpOp::Le => zip(&x.v, &y.v, |x, y| truth(x <= y)),
        CmpOp::Gt => zip(&x.v, &y.v, |x, y| truth(x > y)),
        CmpOp::Ge => zip(&x.v, &y.v, |x, y| truth(x >= y)),
    };
    let ty = x.ty.with_dtype(DType::Bool);
    let poison = Poison::union(x.poison.as_ref(), y.poison.as_ref());
    if x.e.is_none() && y.e.is_none() {
        return Tile::new(ty, v).poisoned(poison);
    }
    let e = zip_pairs(x, y, |(x, ex), (y, ey)| {
        let decided = (ex == 0.0 && ey == 0.0)
            || (ex.is_finite() && ey.is_finite() && (x.is_nan() || y.is_nan()))
            || bound::certainly_greater(x, ex, y, ey)
            || bound::certainly_greater(y, ey, x, ex);
        truth(!decided)
    });
    Tile::with_bounds(ty, v, e).poisoned(poison)
}

/// The greater of two, or NaN.
#[inline(always)]
pub(crate) fn max(x: f64, y: f64) -> f64 {
    if x > y || x.is_nan() { x } else { y }
}

/// The lesser of two, or NaN.
#[inline(always)]
pub(crate) fn min(x: f64, y: f64) -> f64 {
    if x < y || x.is_nan() { x } else { y }
}

/// `x` modulo 2^32, as an i32.
#[inline(always)]
pub(crate) fn wrap_i32(x: i64) -> f64 {
    f64::from(x as i32)
}

/// The bound of an i32 whose unwrapped values lie within `e` of `unwrapped`: undecided where some may wrap.
pub(crate) fn wrapping_bound(unwrapped: f64, e: f64) -> f64 {
    let (lo, hi) = (f64::from(i32::MIN), f64::from(i32::MAX));
    if e == 0.0 || (unwrapped - e >= lo && unwrapped + e <= hi) { e } else { f64::INFINITY }
}

fn float_unary(op: UnaryOp, x: &[f64]) -> Vec<f64> {
    match op {
        UnaryOp::Neg => map(x, |x| -x),
        UnaryOp::Abs => map(x, f64::abs),
        UnaryOp::Exp => map(x, libm::exp),
        UnaryOp::Log => map(x, libm::log),
        UnaryOp::Tanh => map(x, libm::tanh),
        UnaryOp::Erf => map(x, libm::erf),
        UnaryOp::Sqrt => map(x, f64::sqrt),
        UnaryOp::Rsqrt => map(x, rsqrt),
        UnaryOp::Floor => map(x, f64::floor),
        UnaryOp::Round => map(x, f64::round_ties_even),
        // The verifier keeps `not` to bool and i32.
        UnaryOp::Not => x.to_vec(),
    }
}

fn unary_bounds(op: UnaryOp, x: &Tile, v: &[f64], accuracy: &Accuracy) -> Option<Vec<f64>> {
    let rounder = |ulp| TargetRounder::new(x.dtype(), ulp, accuracy);
    let function = |f: fn(f64) -> f64, ulp| {
        let r = rounder(ulp);
        let e = x.bounds();
        let each = x.v.iter().zip(&*e).zip(v);
        crate::tile::bounds(each.map(|((&x, &ex), &v)| bound::function(op, f, x, ex, v, &r)).collect())
    };
    match op {
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not => x.e.clone(),
        UnaryOp::Exp => function(libm::exp, accuracy.exp),
        UnaryOp::Log => function(libm::log, accuracy.log),
        UnaryOp::Tanh => function(libm::tanh, accuracy.tanh),
        UnaryOp::Erf => function(libm::erf, accuracy.erf),
        UnaryOp::Sqrt => function(f64::sqrt, accuracy.sqrt),
        UnaryOp::Rsqrt => function(rsqrt, accuracy.rsqrt),
        UnaryOp::Floor => step_bounds(f64::floor, x),
        UnaryOp::Round => step_bounds(f64::round_ties_even, x),
    }
}

fn step_bounds(f: fn(f64) -> f64, x: &Tile) -> Option<Vec<f64>> {
    let e = x.e.as_ref()?;
    crate::tile::bounds(zip(&x.v, e, |x, ex| bound::step(f, x, ex)))
}

fn rsqrt(x: f64) -> f64 {
    1.0 / x.sqrt()
}

fn int_unary(op: UnaryOp, dtype: DType, x: &[f64]) -> Vec<f64> {
    match op {
        UnaryOp::Neg => map(x, |x| wrap_i32(-(x as i64))),
        UnaryOp::Abs => map(x, |x| wrap_i32((x as i64).abs())),
        UnaryOp::Not if dtype == DType::Bool => map(x, |x| 1.0 - x),
        UnaryOp::Not => map(x, |x| -1.0 - x),
        // The verifier keeps the other functions to floats.
        _ => x.to_vec(),
    }
}

fn int_unary_bounds(op: UnaryOp, dtype: DType, x: &[f64], e: &[f64]) -> Vec<f64> {
    match op {
        UnaryOp::Neg | UnaryOp::Abs if dtype == DType::I32 => zip(x, e, |x, e| wrapping_bound(-x, e)),
        _ => e.to_vec(),
    }
}

fn float_binary(op: BinaryOp, x: &[f64], y: &[f64]) -> Vec<f64> {
    match op {
        BinaryOp::Add => zip(x, y, |x, y| x + y),
        BinaryOp::Sub => zip(x, y, |x, y| x - y),
        BinaryOp::Mul => zip(x, y, |x, y| x * y),
        BinaryOp::Div => zip(x, y, |x, y| x / y),
        BinaryOp::Min => zip(x, y, min),
        BinaryOp::Max => zip(x, y, max),
        // The verifier keeps the rest to integers.
        BinaryOp::Rem | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => x.to_vec(),
    }
}

fn float_binary_bounds(op: BinaryOp, x: &Tile, y: &Tile, v: &[f64], accuracy: &Accuracy) -> Option<Vec<f64>> {
    if matches!(op, BinaryOp::Min | BinaryOp::Max) {
        return extreme_bounds(op, x, y);
    }
    let r = Rounder::new(x.dtype(), accuracy);
    let div = TargetRounder::new(x.dtype(), accuracy.div, accuracy);
    let (ex, ey) = (x.bounds(), y.bounds());
    let each = x.v.iter().zip(&*ex).zip(y.v.iter().zip(&*ey)).zip(v);
    crate::tile::bounds(
        each.map(|(((&x, &ex), (&y, &ey)), &v)| bound::binary(op, (x, ex), (y, ey), v, r, &div)).collect(),
    )
}

fn extreme_bounds(op: BinaryOp, x: &Tile, y: &Tile) -> Option<Vec<f64>> {
    if x.e.is_none() && y.e.is_none() {
        return None;
    }
    crate::tile::bounds(zip_pairs(x, y, |x, y| bound::extreme(op == BinaryOp::Max, x, y)))
}

fn int_binary(op: BinaryOp, x: &[f64], y: &[f64]) -> Vec<f64> {
    let integers = |f: fn(i64, i64) -> i64| zip(x, y, |x, y| wrap_i32(f(x as i64, y as i64)));
    match op {
        BinaryOp::Add => zip(x, y, |x, y| wrap_i32((x + y) as i64)),
        BinaryOp::Sub => zip(x, y, |x, y| wrap_i32((x - y) as i64)),
        BinaryOp::Mul => integers(|x, y| x * y),
        BinaryOp::Div => integers(|x, y| if y == 0 { 0 } else { floor_div(x, y) }),
        BinaryOp::Rem => integers(|x, y| if y == 0 { 0 } else { x - y * floor_div(x, y) }),
        BinaryOp::Min => zip(x, y, min),
        BinaryOp::Max => zip(x, y, max),
        BinaryOp::And => integers(|x, y| x & y),
        BinaryOp::Or => integers(|x, y| x | y),
        BinaryOp::Xor => integers(|x, y| x ^ y),
    }
}

fn floor_div(x: i64, y: i64) -> i64 {
    let q = x / y;
    if x % y != 0 && (x < 0) != (y < 0) { q - 1 } else { q }
}

/// Bounds of an i32 or bool op some of whose operands are not exact.
fn int_binary_bounds(op: BinaryOp, x: &Tile, y: &Tile, v: &[f64]) -> Option<Vec<f64>> {
    let bool = x.dtype() == DType::Bool;
    let pair = |(x, ex): (f64, f64), (y, ey): (f64, f64)| -> f64 {
        if ex == 0.0 && ey == 0.0 {
            return 0.0;
        }
        let false_already = (ex == 0.0 && x == 0.0) || (ey == 0.0 && y == 0.0);
        let true_already = (ex == 0.0 && x == 1.0) || (ey == 0.0 && y == 1.0);
        match op {
            BinaryOp::Add => wrapping_bound(x + y, ex + ey),
            BinaryOp::Sub => wrapping_bound(x - y, ex + ey),
            BinaryOp::Mul => wrapping_bound(x * y, (x.abs() * ey + ex * y.abs() + ex * ey) * bound::UP),
            BinaryOp::Div => quotient_bound((x, ex), (y, ey)),
            BinaryOp::And if bool => {
                if false_already {
                    0.0
                } else {
                    1.0
                }
            }
            BinaryOp::Or if bool => {
                if true_already {
                    0.0
                } else {
                    1.0
                }
            }
            BinaryOp::Xor if bool => 1.0,
            // Which bits or which remainder an interval yields is not worth following.
            _ => f64::INFINITY,
        }
    };
    if matches!(op, BinaryOp::Min | BinaryOp::Max) {
        return extreme_bounds(op, x, y);
    }
    debug_assert_eq!(v.len(), x.v.len());
    crate::tile::bounds(zip_pairs(x, y, pair))
}

/// Floor division is monotone in each operand where the divisor keeps its sign: the corners hold every result.
fn quotient_bound((x, ex): (f64, f64), (y, ey): (f64, f64)) -> f64 {
    if ex == f64::INFINITY || y.abs() <= ey {
        return f64::INFINITY;
    }
    let v = (x / y).floor();
    let corners = [(x - ex, y - ey), (x - ex, y + ey), (x + ex, y - ey), (x + ex, y + ey)];
    let e = corners.iter().map(|(x, y)| ((x / y).floor() - v).abs()).fold(0.0, f64::max);
    wrapping_bound(v, e)
}

#[inline(always)]
fn map(x: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
    x.iter().map(|&x| f(x)).collect()
}

#[inline(always)]
fn zip(x: &[f64], y: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect()
}

#[inline(always)]
fn zip_pairs(x: &Tile, y: &Tile, f: impl Fn((f64, f64), (f64, f64)) -> f64) -> Vec<f64> {
    let (ex, ey) = (x.bounds(), y.bounds());
    x.v.iter().zip(&*ex).zip(y.v.iter().zip(&*ey)).map(|((&x, &ex), (&y, &ey))| f((x, ex), (y, ey))).collect()
}
