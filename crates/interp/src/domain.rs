//! What a run computes with, and how accurate a target is.

use serde::{Deserialize, Serialize};

/// What a run computes with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// Every op rounds to its dtype: what a machine that follows the IR to the letter computes.
    Exact,
    /// Floats are not rounded: constants are reals, casts between floats are the identity.
    Float64,
    /// The value of [`Domain::Float64`] with a bound on how far any legal execution lies from it, on a target of this
    /// accuracy.
    Bound(Accuracy),
}

impl Domain {
    /// The accuracy, where bounds are kept.
    pub(crate) fn accuracy(&self) -> Option<&Accuracy> {
        match self {
            Domain::Bound(accuracy) => Some(accuracy),
            _ => None,
        }
    }
}

/// How accurate a target's functions are, and what it does to denormals.
///
/// Errors are in ULP of f32: an f32 result lies within that many ULP (the distance of f32 values at the true result)
/// of the true function of the given argument; 0.5 is correct rounding, and less counts as 0.5. A bf16 or f16 result
/// is such an f32 rounded once more. An f64 result has the same number of ULP of f64.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Error of `exp`.
    pub exp: f64,
    /// Error of `log`.
    pub log: f64,
    /// Error of `tanh`.
    pub tanh: f64,
    /// Error of `erf`.
    pub erf: f64,
    /// Error of `sqrt`.
    pub sqrt: f64,
    /// Error of `rsqrt`.
    pub rsqrt: f64,
    /// Error of `div` on floats.
    pub div: f64,
    /// Whether any op may take a denormal for zero, as operand or as result.
    pub flushes_denormals: bool,
    /// Whether a `dot` of bf16 may, as x86's `vdpbf16ps` does.
    pub dot_flushes_denormals: bool,
}

impl Accuracy {
    /// A target that follows IEEE 754: `div` and `sqrt` correctly rounded, the other functions within 1 ULP, denormals
    /// kept.
    pub const fn ieee() -> Accuracy {
        Accuracy {
            exp: 1.0,
            log: 1.0,
            tanh: 1.0,
            erf: 1.0,
            sqrt: 0.5,
            rsqrt: 1.0,
            div: 0.5,
            flushes_denormals: false,
            dot_flushes_denormals: false,
        }
    }
}

impl Default for Accuracy {
    fn default() -> Accuracy {
        Accuracy::ieee()
    }
}
