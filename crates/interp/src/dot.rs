//! The matrix product.

use tilewright_dtype::DType;
use tilewright_ir::BinaryOp;

use crate::bound::{HALF_ULP, Rounder, UP, gamma, special};
use crate::domain::{Accuracy, Domain};
use crate::elementwise::{wrap_i32, wrapping_bound};
use crate::tile::{Poison, Tile, bounds};

/// `c + x . y` over the last two dimensions.
pub(crate) fn dot(x: &Tile, y: &Tile, c: &Tile, domain: &Domain) -> Tile {
    let size = Size::of(x, y);
    let acc = c.dtype();
    let mut v = c.v.clone();
    let e = match domain {
        Domain::Exact if acc == DType::F32 => {
            product_f32(size, &x.v, &y.v, &mut v);
            None
        }
        Domain::Bound(accuracy) if acc.is_float() => float_bounds(size, [x, y, c], &mut v, accuracy),
        _ => {
            product(size, &x.v, &y.v, &mut v);
            None
        }
    };
    let e = if acc.is_float() { e } else { int_bounds(size, [x, y, c], &v) };
    if !acc.is_float() {
        // Every partial sum of narrow integers is exact in float64; wrapping once equals wrapping each time.
        v.iter_mut().for_each(|v| *v = wrap_i32(*v as i64));
    }
    Tile { ty: c.ty, v, e, poison: poison(size, [x, y, c]) }
}

/// [b, m, k] times [b, k, n].
#[derive(Clone, Copy)]
struct Size {
    m: usize,
    k: usize,
    n: usize,
}

impl Size {
    fn of(x: &Tile, y: &Tile) -> Size {
        let last = |t: &Tile, back: usize| t.dims()[t.dims().len() - back];
        Size { m: last(x, 2), k: last(x, 1), n: last(y, 1) }
    }

    /// Each row of the result with its row of x and its matrix of y.
    fn rows<'a, T>(self, x: &'a [T], y: &'a [T]) -> impl Iterator<Item = (&'a [T], &'a [T])> {
        x.chunks(self.k).enumerate().map(move |(i, row)| {
            let b = i / self.m * self.k * self.n;
            (row, &y[b..b + self.k * self.n])
        })
    }
}

/// `v += x . y`, each element in order of k.
fn product(size: Size, x: &[f64], y: &[f64], v: &mut [f64]) {
    for ((row, y), v) in size.rows(x, y).zip(v.chunks_mut(size.n)) {
        for (a, y) in row.chunks(4).zip(y.chunks(4 * size.n)) {
            if let &[a, b, c, d] = a {
                let (y0, y1, y2, y3) = quarters(y, size.n);
                for ((((v, p), q), r), s) in v.iter_mut().zip(y0).zip(y1).zip(y2).zip(y3) {
                    *v = *v + a * p + b * q + c * r + d * s;
                }
            } else {
                for (&a, y) in a.iter().zip(y.chunks(size.n)) {
                    v.iter_mut().zip(y).for_each(|(v, y)| *v += a * y);
                }
            }
        }
    }
}

/// `v += x . y`, each product and each sum rounded to f32, in order of k.
fn product_f32(size: Size, x: &[f64], y: &[f64], v: &mut [f64]) {
    let narrow = |s: &[f64]| s.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let (x, y) = (narrow(x), narrow(y));
    let mut sums = vec![0f32; size.n];
    for ((row, y), v) in size.rows(&x, &y).zip(v.chunks_mut(size.n)) {
        sums.iter_mut().zip(&*v).for_each(|(s, &c)| *s = c as f32);
        for (&a, y) in row.iter().zip(y.chunks(size.n)) {
            sums.iter_mut().zip(y).for_each(|(s, y)| *s += a * y);
        }
        v.iter_mut().zip(&sums).for_each(|(v, &s)| *v = s.into());
    }
}

/// `v += x . y` and `s += |x| . |y|` in one pass.
fn product_and_magnitude(size: Size, x: &[f64], y: &[f64], v: &mut [f64], s: &mut [f64]) {
    let n = size.n;
    for (((row, y), v), s) in size.rows(x, y).zip(v.chunks_mut(n)).zip(s.chunks_mut(n)) {
        for (a, y) in row.chunks(4).zip(y.chunks(4 * n)) {
            if let &[a, b, c, d] = a {
                let (y0, y1, y2, y3) = quarters(y, n);
                let each = v.iter_mut().zip(&mut *s).zip(y0).zip(y1).zip(y2).zip(y3);
                for (((((v, m), p), q), r), t) in each {
                    let (p, q, r, t) = (a * p, b * q, c * r, d * t);
                    *v = *v + p + q + r + t;
                    *m = *m + p.abs() + q.abs() + r.abs() + t.abs();
                }
            } else {
                for (&a, y) in a.iter().zip(y.chunks(n)) {
                    for ((v, m), y) in v.iter_mut().zip(&mut *s).zip(y) {
                        *v += a * y;
                        *m += (a * y).abs();
                    }
                }
            }
        }
    }
}

fn quarters<T>(y: &[T], n: usize) -> (&[T], &[T], &[T], &[T]) {
    let (a, rest) = y.split_at(n);
    let (b, rest) = rest.split_at(n);
    let (c, d) = rest.split_at(n);
    (a, b, c, d)
}

/// `v += x . y`; returns the bounds. With n = k + 1 terms, each legal result errs by at most
/// gamma(n) (sum of |x||y| + |c|) (Higham, section 3.1: any order, fused or not), beside what the operands' bounds
/// and the products' underflow add.
fn float_bounds(size: Size, [x, y, c]: [&Tile; 3], v: &mut [f64], accuracy: &Accuracy) -> Option<Vec<f64>> {
    let r = Rounder::new(c.dtype(), accuracy);
    let flushing = accuracy.dot_flushes_denormals && x.dtype() == DType::BF16;
    let (ex, ey) = (operand_bounds(x, flushing), operand_bounds(y, flushing));
    // t: sums of |x||y|; s: the same with the operands' bounds.
    let mut t = vec![0.0; v.len()];
    product_and_magnitude(size, &x.v, &y.v, v, &mut t);
    let s = (ex.is_some() || ey.is_some()).then(|| {
        let mut s = vec![0.0; v.len()];
        product(size, &widened(x, ex.as_deref()), &widened(y, ey.as_deref()), &mut s);
        s
    });
    let ec = c.bounds();
    let terms = size.k as f64 + 2.0;
    let up = UP + 4.0 * terms * f64::EPSILON;
    let gamma = gamma(size.k + 1, r.u);
    let flush = if flushing { DType::F32.min_normal() } else { r.flush };
    let each = (0..v.len()).map(|i| {
        let s = s.as_ref().map_or(t[i], |s| s[i]);
        let a = (s + c.v[i].abs() + ec[i]) * up;
        if !a.is_finite() {
            let special = Special { size, x: (x, ex.as_deref()), y: (y, ey.as_deref()), i };
            return special.bound(c.v[i], ec[i], &r);
        }
        if a == 0.0 {
            return 0.0;
        }
        // The three sums err by terms / 2^53 of a each.
        let own = terms * 4.0 * HALF_ULP;
        let tiny = size.k as f64 * (r.least + 2.0 * flush) * (1.0 + gamma) + flush;
        // |x| ey + ex (|y| + ey) = (|x| + ex) (|y| + ey) - |x||y|
        let e = ((s - t[i]).max(0.0) + ec[i] + (gamma + own) * a + tiny) * up;
        // Partial sums in any order stay within a and their roundings.
        if a * (1.0 + gamma) + tiny <= r.max { e } else { f64::INFINITY }
    });
    bounds(each.collect())
}

/// |x| + e.
fn widened(x: &Tile, e: Option<&[f64]>) -> Vec<f64> {
    match e {
        Some(e) => x.v.iter().zip(e).map(|(x, e)| x.abs() + e).collect(),
        None => x.v.iter().map(|x| x.abs()).collect(),
    }
}

/// The bounds of a dot's operand; where the instruction flushes denormals, each that may be one moves by up to the
/// least normal number.
fn operand_bounds(x: &Tile, flushing: bool) -> Option<Vec<f64>> {
    if !flushing {
        return x.e.clone();
    }
    let least = x.dtype().min_normal();
    let e = x.bounds();
    let each = x.v.iter().zip(&*e).map(|(&x, &e)| {
        let zero = x == 0.0 && e == 0.0;
        if !zero && x.abs() - e < least { e + least } else { e }
    });
    bounds(each.collect())
}

/// One result with an infinite, NaN or undecided term: operands with their bounds, in which a flushed denormal may be 0.
struct Special<'a> {
    size: Size,
    x: (&'a Tile, Option<&'a [f64]>),
    y: (&'a Tile, Option<&'a [f64]>),
    i: usize,
}

impl Special<'_> {
    /// 0 where every legal execution yields the same infinity or NaN.
    fn bound(&self, c: f64, ec: f64, r: &Rounder) -> f64 {
        let Size { m, k, n } = self.size;
        let (row, col) = (self.i / n, self.i % n);
        let (x0, y0) = (row * k, row / m * k * n + col);
        let at = |(t, e): (&Tile, Option<&[f64]>), i: usize| (t.v[i], e.map_or(0.0, |e| e[i]));
        let mut a = if c.is_finite() { c.abs() + ec } else { 0.0 };
        let mut decided = ec != f64::INFINITY;
        let mut finite = c.is_finite();
        for j in 0..k {
            let (p, q) = (at(self.x, x0 + j), at(self.y, y0 + j * n));
            if p.1 == f64::INFINITY || q.1 == f64::INFINITY {
                return f64::INFINITY;
            }
            if p.0.is_finite() && q.0.is_finite() {
                a += (p.0.abs() + p.1) * (q.0.abs() + q.1);
            } else {
                finite = false;
                decided &= special(BinaryOp::Mul, p, q);
            }
        }
        // An overflow among the finite terms could meet an infinity of the other sign.
        if decided && !finite && !r.may_overflow(a, k + 1) { 0.0 } else { f64::INFINITY }
    }
}

/// Bounds of an integer dot whose unwrapped results are `v`.
fn int_bounds(size: Size, [x, y, c]: [&Tile; 3], v: &[f64]) -> Option<Vec<f64>> {
    if x.e.is_none() && y.e.is_none() && c.e.is_none() {
        return None;
    }
    let (ex, ey) = (x.bounds(), y.bounds());
    let magnitude = |t: &Tile| t.v.iter().map(|x| x.abs()).collect::<Vec<f64>>();
    let widened: Vec<f64> = y.v.iter().zip(&*ey).map(|(y, e)| y.abs() + e).collect();
    let mut e = c.bounds().into_owned();
    product(size, &magnitude(x), &ey, &mut e);
    product(size, &ex, &widened, &mut e);
    // 0 times an undecided factor: undecided.
    bounds(
        e.iter()
            .zip(v)
            .map(|(&e, &v)| if e.is_nan() { f64::INFINITY } else { wrapping_bound(v, e) })
            .collect(),
    )
}

fn poison(size: Size, [x, y, c]: [&Tile; 3]) -> Option<Poison> {
    if x.poison.is_none() && y.poison.is_none() {
        return c.poison.clone();
    }
    let Size { m, k, n } = size;
    let mut at = c.poison.as_ref().map_or_else(|| vec![false; c.v.len()], |p| p.at.clone());
    if let Some(p) = &x.poison {
        for (row, out) in p.at.chunks(k).zip(at.chunks_mut(n)) {
            if row.contains(&true) {
                out.fill(true);
            }
        }
    }
    if let Some(p) = &y.poison {
        for (y, out) in p.at.chunks(k * n).zip(at.chunks_mut(m * n)) {
            let mut columns = vec![false; n];
            y.chunks(n).for_each(|row| columns.iter_mut().zip(row).for_each(|(c, &p)| *c |= p));
            out.chunks_mut(n).for_each(|out| out.iter_mut().zip(&columns).for_each(|(o, &p)| *o |= p));
        }
    }
    let origin = [x, y, c].iter().find_map(|t| t.poison.as_ref().map(|p| p.origin.clone()))?;
    Poison::of(at, &origin)
}
