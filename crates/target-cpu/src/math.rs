//! Vector math on `<N x float>`, with the accuracy each function keeps.
//!
//! The polynomials are minimax fits made for this crate (Lawson's iteratively reweighted least squares in 40-digit
//! arithmetic, coefficients rounded to f32 one after the other from the lowest, the rest refitted after each); the range
//! reductions are Cody and Waite's. Products and sums fuse where the CPU fuses them: the accuracies hold either way.
//!
//! Zeros keep their signs, subnormals are neither flushed on the way in nor on the way out, infinities and overflow
//! follow IEEE 754, NaN gives NaN.

mod elementary;
mod lanes;

use crate::runtime::Runtime;
use lanes::Lanes;

/// A function of one f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Math {
    /// e to the power of x.
    Exp,
    /// The natural logarithm; -inf at either zero, NaN below.
    Log,
    /// The hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
    /// The square root; NaN below -0.
    Sqrt,
    /// One over the square root; infinity of the sign at either zero, NaN below.
    Rsqrt,
    /// One over x.
    Recip,
    /// The largest integer not above x.
    Floor,
    /// The nearest integer, ties to even.
    Round,
}

impl Math {
    /// Every function, in the order of [`MATH`].
    pub const ALL: [Math; 9] = [
        Math::Exp,
        Math::Log,
        Math::Tanh,
        Math::Erf,
        Math::Sqrt,
        Math::Rsqrt,
        Math::Recip,
        Math::Floor,
        Math::Round,
    ];

    /// The lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            Math::Exp => "exp",
            Math::Log => "log",
            Math::Tanh => "tanh",
            Math::Erf => "erf",
            Math::Sqrt => "sqrt",
            Math::Rsqrt => "rsqrt",
            Math::Recip => "recip",
            Math::Floor => "floor",
            Math::Round => "round",
        }
    }

    /// The function's accuracy.
    pub fn fact(self) -> &'static MathFact {
        &MATH[self as usize]
    }
}

/// What a function promises, on every instruction set.
#[derive(Clone, Copy, Debug)]
pub struct MathFact {
    /// The function.
    pub op: Math,
    /// For the exact result `y` of the f32 argument as it is, `|computed - y| ≤ max_ulp · ulp(y)`, where `ulp(y)` is
    /// `2^(max(e, -126) - 23)` for `2^e ≤ |y| < 2^(e+1)`. Hence `|computed - y| ≤ max_ulp · max(2^-23·|y|, 2^-149)`: a relative
    /// error of `max_ulp · 2^-23` and, for subnormal results, an absolute one of `max_ulp · 2^-149`. Beyond the
    /// greatest finite f32 the computed value is that or infinity.
    pub max_ulp: f64,
    /// How the value is formed, and how the bound is known.
    pub source: &'static str,
}

/// The accuracies, in the order of [`Math::ALL`]. Those of exp, log, tanh and erf are measured over every 257th of the
/// 2^32 f32 patterns on each instruction set and rounded up by a tenth or more; `examples/leaf_math.rs --all` measures
/// all patterns, the tests sample them. The others are exact or follow from IEEE 754.
pub const MATH: &[MathFact] = &[
    MathFact {
        op: Math::Exp,
        max_ulp: 1.1,
        source: "x = n·ln 2 + r in two steps, degree-6 minimax polynomial (2^-28), scaled by 2^n once",
    },
    MathFact {
        op: Math::Log,
        max_ulp: 1.0,
        source: "x = 2^e·m with m in [√½, √2), m - 1 - (m - 1)²/2 + (m - 1)³·P of degree 7 (2^-27), e·ln 2 in two parts",
    },
    MathFact {
        op: Math::Tanh,
        max_ulp: 1.5,
        source: "x + x³·P(x²) below 0.625 (2^-28), 1 - 2/(exp 2|x| + 1) above",
    },
    MathFact {
        op: Math::Erf,
        max_ulp: 1.5,
        source: "x + x·P(x²) below 0.921875 (2^-30), 1 - exp(-P(|x|)) above with P ≈ -ln erfc (2^-29)",
    },
    MathFact { op: Math::Sqrt, max_ulp: 0.5, source: "the CPU's square root, correctly rounded" },
    MathFact {
        op: Math::Rsqrt,
        max_ulp: 1.5,
        source: "1 divided by the CPU's square root: two correct roundings, each at most 2^-24 of the result",
    },
    MathFact { op: Math::Recip, max_ulp: 0.5, source: "the CPU's division, correctly rounded" },
    MathFact { op: Math::Floor, max_ulp: 0.0, source: "exact" },
    MathFact { op: Math::Round, max_ulp: 0.0, source: "exact" },
];

impl Runtime {
    /// `<N x float> @name(<N x float>)` for `op`; returns the name.
    pub fn unary(&mut self, op: Math, lanes: usize) -> String {
        let name = format!("@tw.{}.v{lanes}", op.name());
        self.define(&name, |rt| {
            let mut l = Lanes::new(rt, lanes);
            let result = match op {
                Math::Exp => elementary::exp(&mut l, "%x"),
                Math::Log => elementary::log(&mut l, "%x"),
                Math::Tanh => elementary::tanh(&mut l, "%x"),
                Math::Erf => elementary::erf(&mut l, "%x"),
                Math::Sqrt => l.intrinsic("sqrt", &["%x"]),
                Math::Rsqrt => {
                    let root = l.intrinsic("sqrt", &["%x"]);
                    let one = l.float(1.0);
                    l.op("fdiv", &one, &root)
                }
                Math::Recip => {
                    let one = l.float(1.0);
                    l.op("fdiv", &one, "%x")
                }
                Math::Floor => elementary::floor(&mut l, "%x"),
                Math::Round => elementary::round(&mut l, "%x"),
            };
            l.finish(&name, &result)
        });
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_stand_in_the_order_of_the_functions() {
        assert_eq!(MATH.len(), Math::ALL.len());
        for op in Math::ALL {
            assert_eq!(op.fact().op, op);
        }
    }
}
