//! Tiles in flight.

use std::borrow::Cow;

use tilewright_dtype::DType;
use tilewright_ir::{Const, Loc, TileType};

use crate::domain::{Accuracy, Domain};

/// A dense tile, row-major. Integers and bools (0 or 1) are exact in `v`.
#[derive(Clone, Debug)]
pub(crate) struct Tile {
    pub ty: TileType,
    /// The values.
    pub v: Vec<f64>,
    /// The bounds; `None` where all are 0, as always outside of [`Domain::Bound`]. Infinity: undecided. With a finite
    /// bound, `v` is finite and so is every legal execution; `v` infinite or NaN goes with 0 and means that every legal
    /// execution yields just that. A bool with a bound above 0 is unknown. Zero stands for both signed zeros.
    pub e: Option<Vec<f64>>,
    pub poison: Option<Poison>,
}

/// Which elements are poison, and one op that made some of it.
#[derive(Clone, Debug)]
pub(crate) struct Poison {
    pub at: Vec<bool>,
    pub origin: Loc,
}

impl Tile {
    pub fn new(ty: TileType, v: Vec<f64>) -> Tile {
        Tile { ty, v, e: None, poison: None }
    }

    /// A tile of bounds that may all be 0.
    pub fn with_bounds(ty: TileType, v: Vec<f64>, e: Vec<f64>) -> Tile {
        Tile { ty, v, e: bounds(e), poison: None }
    }

    /// The i32 scalar `x`.
    pub fn index(x: i64) -> Tile {
        Tile::new(TileType::INDEX, vec![x as f64])
    }

    pub fn dtype(&self) -> DType {
        self.ty.dtype
    }

    pub fn dims(&self) -> &[usize] {
        self.ty.shape.dims()
    }

    /// The bounds, zeros included.
    pub fn bounds(&self) -> Cow<'_, [f64]> {
        match &self.e {
            Some(e) => Cow::Borrowed(e),
            None => Cow::Owned(vec![0.0; self.v.len()]),
        }
    }

    pub fn poisoned(mut self, poison: Option<Poison>) -> Tile {
        self.poison = poison;
        self
    }

    /// The same tile with every element poison.
    pub fn all_poison(mut self, origin: &Loc) -> Tile {
        self.poison = Some(Poison { at: vec![true; self.v.len()], origin: origin.clone() });
        self
    }
}

impl Poison {
    /// `None` where nothing is poison.
    pub fn of(at: Vec<bool>, origin: &Loc) -> Option<Poison> {
        at.contains(&true).then(|| Poison { at, origin: origin.clone() })
    }

    /// Elements poison in either; both have one length.
    pub fn union(a: Option<&Poison>, b: Option<&Poison>) -> Option<Poison> {
        match (a, b) {
            (Some(a), Some(b)) => {
                let at = a.at.iter().zip(&b.at).map(|(&p, &q)| p | q).collect();
                Some(Poison { at, origin: a.origin.clone() })
            }
            (one, other) => one.or(other).cloned(),
        }
    }
}

/// Bounds as a tile keeps them.
pub(crate) fn bounds(e: Vec<f64>) -> Option<Vec<f64>> {
    e.iter().any(|&e| e != 0.0).then_some(e)
}

/// The value and bound of a constant of `dtype`: the constant is a real, and a legal execution rounds it.
pub(crate) fn constant(value: Const, dtype: DType, domain: &Domain) -> (f64, f64) {
    let x = value.as_f64();
    if !dtype.is_float() {
        return (x, 0.0);
    }
    match domain {
        Domain::Exact => (dtype.round(x), 0.0),
        Domain::Float64 => (x, 0.0),
        Domain::Bound(accuracy) => (x, rounded_once(x, dtype, accuracy)),
    }
}

/// How far the rounding of exactly `x` to the float type `dtype` lies from `x`.
pub(crate) fn rounded_once(x: f64, dtype: DType, accuracy: &Accuracy) -> f64 {
    let r = dtype.round(x);
    if r == x || (r.is_nan() && x.is_nan()) {
        flush(r, dtype, accuracy)
    } else if r.is_finite() {
        (r - x).abs() * crate::bound::UP + flush(r, dtype, accuracy)
    } else {
        f64::INFINITY
    }
}

/// What a target that flushes denormals may change `x`, exactly a value of `dtype`, by.
pub(crate) fn flush(x: f64, dtype: DType, accuracy: &Accuracy) -> f64 {
    let denormal = x != 0.0 && x.abs() < dtype.min_normal();
    if accuracy.flushes_denormals && denormal { dtype.min_normal() } else { 0.0 }
}
