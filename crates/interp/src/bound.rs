//! The arithmetic of bounds, one element at a time.
//!
//! `v` is the float64 value of an op, `p` a bound on how far the op's unrounded result may lie from it over all legal
//! operands. [`Rounder`] adds the op's own rounding. Every bound is widened by [`UP`] against its own float64 rounding.

use tilewright_dtype::DType;
use tilewright_ir::{BinaryOp, UnaryOp};

use crate::domain::Accuracy;

/// Covers eight roundings in float64 of a bound's own arithmetic.
pub(crate) const UP: f64 = 1.0 + 8.0 * f64::EPSILON;
/// The relative error of one float64 operation.
pub(crate) const HALF_ULP: f64 = f64::EPSILON / 2.0;
/// The relative error granted to a float64 function of the mathematical library: 8 ULP, of which it needs under 2.
const LIBM: f64 = 8.0 * f64::EPSILON;

/// One rounding to nearest in a dtype, or several at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounder {
    /// Relative error of one rounding, in the magnitude's power of two.
    pub u: f64,
    /// Absolute error of one rounding where results are denormal.
    pub least: f64,
    /// What a flush of a denormal changes; 0 where denormals are kept.
    pub flush: f64,
    /// The greatest finite value.
    pub max: f64,
}

impl Rounder {
    pub fn new(dtype: DType, accuracy: &Accuracy) -> Rounder {
        let u = dtype.unit_roundoff();
        // Half the least f64 is no f64; a little above it also covers products and quotients that underflow here.
        let least =
            if dtype == DType::F64 { f64::MIN_POSITIVE * f64::EPSILON * 8.0 } else { u * dtype.min_normal() };
        let flush = if accuracy.flushes_denormals { dtype.min_normal() } else { 0.0 };
        Rounder { u, least, flush, max: dtype.max_finite() }
    }

    /// The bound of a rounded result: |RN(x) - x| <= u ufp(x), where ufp is the power of two below x, or half the
    /// least denormal. Infinite where the result may overflow.
    #[inline(always)]
    pub fn after(&self, v: f64, p: f64) -> f64 {
        if v == 0.0 && p == 0.0 { 0.0 } else { self.after_any(v, p) }
    }

    /// Like [`after`](Rounder::after), where a result of 0 is rounded too.
    #[inline(always)]
    pub fn after_any(&self, v: f64, p: f64) -> f64 {
        let p = p * UP;
        let m = v.abs() + p;
        let r = (self.u * power_below(m)).max(self.least);
        let flush = if v.abs() - p < self.flush { self.flush } else { 0.0 };
        // Not `m > max`: a NaN is undecided too.
        if m <= self.max { (p + r + flush) * UP } else { f64::INFINITY }
    }

    /// The bound of a sum of `n` terms in any order: `v` the float64 sum, `e` the sum of the terms' bounds, `a` the sum
    /// of the magnitudes of the finite terms with their bounds. |error| <= gamma(n - 1) a (Higham, (4.4)).
    pub fn sum(&self, v: f64, e: f64, a: f64, n: usize) -> f64 {
        let roundings = n.saturating_sub(1);
        if e == f64::INFINITY || self.may_overflow(a, n) {
            return f64::INFINITY;
        }
        if !v.is_finite() {
            return 0.0;
        }
        let own = n as f64 * f64::EPSILON;
        let flushed = if a == 0.0 { 0.0 } else { roundings as f64 * self.flush };
        let (own, gamma) = if n == 1 { (0.0, 0.0) } else { (own, gamma(roundings, self.u)) };
        (e + (gamma + own) * a + flushed) * (UP + own)
    }

    /// Whether partial sums of `n` terms, rounded, may exceed the greatest finite value.
    pub fn may_overflow(&self, a: f64, n: usize) -> bool {
        let widened = a * (1.0 + gamma(n, self.u) + n as f64 * f64::EPSILON);
        n > 1 && (widened > self.max || widened.is_nan())
    }
}

/// The rounding of a function whose accuracy the target states: ULP of f32 (of f64 for f64), then once to the dtype.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetRounder {
    wide: Rounder,
    narrow: Option<Rounder>,
}

impl TargetRounder {
    pub fn new(dtype: DType, ulp: f64, accuracy: &Accuracy) -> TargetRounder {
        let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let r = Rounder::new(wide, accuracy);
        let scale = 2.0 * ulp.max(0.5);
        let wide = Rounder { u: r.u * scale, least: r.least * scale, ..r };
        let narrow = matches!(dtype, DType::BF16 | DType::F16).then(|| Rounder::new(dtype, accuracy));
        TargetRounder { wide, narrow }
    }

    #[inline(always)]
    pub fn after(&self, v: f64, p: f64) -> f64 {
        let e = self.wide.after_any(v, p);
        self.narrow.map_or(e, |n| n.after_any(v, e))
    }
}

/// gamma(n) = n u / (1 - n u), rounded up; infinite from n u = 1 on.
pub(crate) fn gamma(n: usize, u: f64) -> f64 {
    let nu = n as f64 * u;
    if nu < 1.0 { nu / (1.0 - nu) * UP } else { f64::INFINITY }
}

/// Whether every legal `x` is greater than every legal `y`. Exact where both bounds are 0.
#[inline(always)]
pub(crate) fn certainly_greater(x: f64, ex: f64, y: f64, ey: f64) -> bool {
    x - y > (ex + ey) * UP
}

/// Whether no legal `x` is 0.
#[inline(always)]
pub(crate) fn excludes_zero(x: f64, ex: f64) -> bool {
    x.abs() > ex * UP
}

/// An interval that holds every legal `x`.
#[inline(always)]
pub(crate) fn ends(x: f64, e: f64) -> (f64, f64) {
    if e == 0.0 {
        return (x, x);
    }
    let e = e * UP + x.abs() * f64::EPSILON;
    (x - e, x + e)
}

/// The bound of a float `binary` op's result `v`, without `min` and `max`.
#[inline(always)]
pub(crate) fn binary(
    op: BinaryOp,
    (x, ex): (f64, f64),
    (y, ey): (f64, f64),
    v: f64,
    r: Rounder,
    div: &TargetRounder,
) -> f64 {
    if ex == f64::INFINITY || ey == f64::INFINITY {
        return f64::INFINITY;
    }
    if !(x.is_finite() && y.is_finite()) {
        return if special(op, (x, ex), (y, ey)) { 0.0 } else { f64::INFINITY };
    }
    match op {
        BinaryOp::Mul => r.after(v, x.abs() * ey + ex * y.abs() + ex * ey + HALF_ULP * v.abs()),
        BinaryOp::Div => quotient((x, ex), (y, ey), v, div),
        _ => r.after(v, ex + ey + HALF_ULP * v.abs()),
    }
}

/// Whether an op with an infinite or NaN operand has but one result.
pub(crate) fn special(op: BinaryOp, (x, ex): (f64, f64), (y, ey): (f64, f64)) -> bool {
    if x.is_nan() || y.is_nan() || (x.is_infinite() && y.is_infinite()) {
        return true;
    }
    match op {
        // Infinity times a finite factor: its sign must be known, or it must be exactly 0, which makes NaN.
        BinaryOp::Mul => {
            let (f, ef) = if x.is_infinite() { (y, ey) } else { (x, ex) };
            excludes_zero(f, ef) || (f == 0.0 && ef == 0.0)
        }
        BinaryOp::Div => y.is_infinite() || excludes_zero(y, ey),
        _ => true,
    }
}

fn quotient((x, ex): (f64, f64), (y, ey): (f64, f64), v: f64, r: &TargetRounder) -> f64 {
    let zero = x == 0.0 && ex == 0.0;
    if !excludes_zero(y, ey) {
        // 0/0 is NaN; anything else over 0 is an infinity of the zero's sign, which is not kept.
        return if zero && y == 0.0 && ey == 0.0 { 0.0 } else { f64::INFINITY };
    }
    if zero {
        return 0.0;
    }
    // |X/Y - x/y| <= (ex + |x/y| ey) / (|y| - ey)
    let v_up = v.abs() * UP + f64::MIN_POSITIVE;
    r.after(v, (ex + v_up * ey) / (y.abs() - ey) + HALF_ULP * v.abs())
}

/// The bound of `min` or `max` of floats or integers.
#[inline(always)]
pub(crate) fn extreme(max: bool, (x, ex): (f64, f64), (y, ey): (f64, f64)) -> f64 {
    if ex == f64::INFINITY || ey == f64::INFINITY {
        f64::INFINITY
    } else if x.is_nan() || y.is_nan() {
        0.0
    } else if certainly_greater(x, ex, y, ey) {
        if max { ex } else { ey }
    } else if certainly_greater(y, ey, x, ex) {
        if max { ey } else { ex }
    } else {
        // Neither moves the result further than itself.
        ex.max(ey)
    }
}

/// The bound of a float function of one operand, `v = f(x)`, whose accuracy the target states.
#[inline(always)]
pub(crate) fn function(
    op: UnaryOp,
    f: impl Fn(f64) -> f64,
    x: f64,
    ex: f64,
    v: f64,
    r: &TargetRounder,
) -> f64 {
    if ex == f64::INFINITY {
        return f64::INFINITY;
    }
    if !x.is_finite() {
        // exp(-inf) and rsqrt(inf) are 0; tanh and erf of infinity are 1 only as accurately as elsewhere.
        return if v.is_finite() && v != 0.0 { r.after(v, 0.0) } else { 0.0 };
    }
    let (lo, hi) = ends(x, ex);
    let undefined = match op {
        UnaryOp::Sqrt => lo < 0.0,
        UnaryOp::Rsqrt | UnaryOp::Log => lo <= 0.0,
        _ => false,
    };
    if undefined {
        let pole = op == UnaryOp::Log && lo == 0.0 && hi == 0.0;
        return if hi < 0.0 || pole { 0.0 } else { f64::INFINITY };
    }
    // Each function is monotone: the ends hold everything between them.
    let (p, m) = if ex == 0.0 {
        (0.0, v.abs())
    } else {
        let (a, b) = (f(lo), f(hi));
        ((a - v).abs().max((b - v).abs()), v.abs().max(a.abs()).max(b.abs()))
    };
    r.after(v, p + 2.0 * LIBM * m)
}

/// The bound of `floor` and of rounding to an integer.
pub(crate) fn step(f: impl Fn(f64) -> f64, x: f64, ex: f64) -> f64 {
    if ex == 0.0 || ex == f64::INFINITY {
        return ex;
    }
    let (lo, hi) = ends(x, ex);
    let v = f(x);
    (f(hi) - v).max(v - f(lo)) * UP
}

/// The power of two at or below a positive normal number; 0 below.
#[inline(always)]
fn power_below(m: f64) -> f64 {
    f64::from_bits(m.to_bits() & (0x7FF << 52))
}
