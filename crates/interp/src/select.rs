//! Choice between two tiles by a condition that may be unknown.

use crate::bound::UP;
use crate::tile::{Poison, Tile, bounds};

/// `x` where `c` is true, else `y`. Where the condition is unknown the bound spans both around the value chosen in
/// float64, and either's poison spreads.
pub(crate) fn select(c: &Tile, x: &Tile, y: &Tile) -> Tile {
    let v = c.v.iter().zip(x.v.iter().zip(&y.v)).map(|(&c, (&x, &y))| if c != 0.0 { x } else { y }).collect();
    let e = if c.e.is_none() && x.e.is_none() && y.e.is_none() {
        None
    } else {
        let (ec, ex, ey) = (c.bounds(), x.bounds(), y.bounds());
        let each = (0..c.v.len()).map(|i| {
            let (this, other) = if c.v[i] != 0.0 {
                ((x.v[i], ex[i]), (y.v[i], ey[i]))
            } else {
                ((y.v[i], ey[i]), (x.v[i], ex[i]))
            };
            if ec[i] == 0.0 { this.1 } else { hull(this, other) }
        });
        bounds(each.collect())
    };
    Tile { ty: x.ty, v, e, poison: poison(c, x, y) }
}

/// The bound around `x` that holds both operands.
fn hull((x, ex): (f64, f64), (y, ey): (f64, f64)) -> f64 {
    if x.is_finite() && y.is_finite() {
        ex.max((y - x).abs() * UP + ey)
    } else if ex == 0.0 && ey == 0.0 && (x == y || (x.is_nan() && y.is_nan())) {
        0.0
    } else {
        f64::INFINITY
    }
}

fn poison(c: &Tile, x: &Tile, y: &Tile) -> Option<Poison> {
    let chosen = |arm: &Tile, truth: bool| {
        let poison = arm.poison.as_ref()?;
        let at = poison.at.iter().enumerate().map(|(i, &p)| {
            let unknown = c.e.as_ref().is_some_and(|e| e[i] != 0.0);
            p && (unknown || (c.v[i] != 0.0) == truth)
        });
        Poison::of(at.collect(), &poison.origin)
    };
    let arms = Poison::union(chosen(x, true).as_ref(), chosen(y, false).as_ref());
    Poison::union(c.poison.as_ref(), arms.as_ref())
}
