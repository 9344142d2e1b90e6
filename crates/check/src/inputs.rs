//! Adversarial inputs: families of values as data, drawn from a seed for any program.

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::{DType, Tensor};
use tilewright_ir::{Operand, Program, Role};
use tilewright_kernels::{Domain, Family, Inputs, Problem};

use crate::random::Rng;

/// A family of inputs.
#[derive(Debug)]
pub struct InputFamily {
    /// Name in reports.
    pub name: &'static str,
    /// What it holds, in one sentence.
    pub about: &'static str,
    pattern: Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    Normal,
    Scaled,
    Small,
    Zeros,
    Denormal,
    Huge,
    Overflow,
    Cancelling,
    Constant,
    Outlier,
    Special,
    Equal,
    Alternating,
    Ramp,
}

const fn row(name: &'static str, pattern: Pattern, about: &'static str) -> InputFamily {
    InputFamily { name, about, pattern }
}

/// Every family, the most telling first. Integers take the nearest that they have: extremes for huge and infinite.
pub static FAMILIES: &[InputFamily] = &[
    row("normal", Pattern::Normal, "Normally distributed with variance 1; integers over their whole range."),
    row("ramp", Pattern::Ramp, "Whole numbers that count up along memory, so that a wrong place shows."),
    row("outlier", Pattern::Outlier, "Normal, with one value a row a thousand times as large."),
    row("cancelling", Pattern::Cancelling, "Pairs x, -x whose magnitudes span eight powers of two."),
    row("special", Pattern::Special, "Normal, with one NaN, one infinity of each sign, and a negative zero."),
    row(
        "huge",
        Pattern::Huge,
        "As large as sums of products of two can be without overflow; integers at their extremes.",
    ),
    row("denormal", Pattern::Denormal, "Around and below the smallest normal number."),
    row("scaled", Pattern::Scaled, "Normal, thirty times as large."),
    row("small", Pattern::Small, "Whole numbers from -3 to 3, whose sums are exact."),
    row("constant", Pattern::Constant, "Each row one value."),
    row("alternating", Pattern::Alternating, "Magnitudes from 1 to 2 whose sign alternates along a row."),
    row("equal", Pattern::Equal, "All elements the same."),
    row(
        "overflow",
        Pattern::Overflow,
        "Normal, with a few elements near the greatest finite number of either sign, so that products overflow.",
    ),
    row("zeros", Pattern::Zeros, "All zero; scalars and tables at their least."),
];

/// The family called `name`.
///
/// Errors (class request): `check/unknown-inputs`, with the nearest name.
pub fn input_family(name: &str) -> Result<&'static InputFamily> {
    let names = FAMILIES.iter().map(|f| f.name);
    FAMILIES
        .iter()
        .find(|f| f.name == name)
        .ok_or_else(|| Diagnostic::unknown("check/unknown-inputs", "input family", name, names))
}

/// Inputs for every array, scalar and table that `program` is given. Values keep to the kernel family's
/// [`Domain`](tilewright_kernels::Domain)s, scalars and tables to their declared ranges, whose ends they reach.
///
/// Errors (class request): `dtype/too-large`.
pub fn draw(
    inputs: &InputFamily,
    kernel: &dyn Family,
    problem: &Problem,
    program: &Program,
    seed: u64,
) -> Result<Inputs> {
    let operands = program.operands();
    let reach = Reach::of(program);
    let given = operands.iter().filter(|o| o.given).map(|o| &o.operand);
    given
        .map(|operand| {
            let rng = Rng::new(seed, &[inputs.name, &operand.name]);
            let dims = operand.shape.dims();
            let draw = Draw {
                pattern: inputs.pattern,
                dtype: operand.dtype,
                len: operand.shape.elements(),
                cols: dims.last().copied().unwrap_or(1).max(1),
                huge: reach.huge(operand.dtype),
                rng,
            };
            let values = draw.values(operand, kernel.domain(problem, &operand.name));
            Ok((operand.name.clone(), Tensor::from_f64(operand.dtype, dims, &values)?))
        })
        .collect()
}

/// How large values may be such that sums of products of two stay finite.
struct Reach {
    /// The least of the greatest finite numbers of the program's float types, f32 among them.
    limit: f64,
    /// No sum is longer than the longest dimension.
    terms: usize,
}

impl Reach {
    fn of(program: &Program) -> Reach {
        let operands = program.operands();
        let floats = operands.iter().map(|o| o.operand.dtype).filter(|d| d.is_float());
        let dims = operands.iter().flat_map(|o| o.operand.shape.dims().to_vec());
        Reach {
            limit: floats.map(DType::max_finite).fold(DType::F32.max_finite(), f64::min),
            terms: dims.max().unwrap_or(1),
        }
    }

    fn huge(&self, dtype: DType) -> f64 {
        // Narrow inputs are widened before they are multiplied: their own range does not limit the products.
        let limit = if dtype.bits() == 8 { DType::F32.max_finite() } else { self.limit };
        (limit / (8.0 * self.terms as f64)).sqrt().min(dtype.max_finite() / 4.0)
    }
}

struct Draw {
    pattern: Pattern,
    dtype: DType,
    len: usize,
    cols: usize,
    huge: f64,
    rng: Rng,
}

impl Draw {
    fn values(mut self, operand: &Operand, domain: Domain) -> Vec<f64> {
        if let Role::Scalar { min, max } | Role::Table { min, max } = operand.role {
            return self.indices(min.into(), max.into());
        }
        match domain {
            Domain::Index { n } => self.indices(0, n.saturating_sub(1) as i64),
            Domain::Positive { lo, hi } => self.within(lo, hi, false),
            Domain::Unit => self.within(0.0, 1.0, true),
            Domain::Any | Domain::Finite if !self.dtype.is_float() => self.integers(),
            Domain::Any => self.floats(true),
            Domain::Finite => self.floats(false),
        }
    }

    /// Integers of a range: both ends are among them where there is room.
    fn indices(&mut self, lo: i64, hi: i64) -> Vec<f64> {
        let len = self.len;
        let each = |i: usize, rng: &mut Rng| match self.pattern {
            Pattern::Zeros => lo,
            Pattern::Huge | Pattern::Overflow => hi,
            Pattern::Ramp => lo + (i as i64) % (hi - lo + 1),
            _ if i == 0 => hi,
            _ if i + 1 == len => lo,
            _ => rng.between(lo, hi),
        };
        // A single scalar is drawn at random, or all cases but those of the extremes would have the same.
        let first = if len == 1 { 1 } else { 0 };
        (0..len).map(|i| each(if len == 1 { first } else { i }, &mut self.rng) as f64).collect()
    }

    /// Magnitudes of a range, spread evenly over its powers of two.
    fn within(&mut self, lo: f64, hi: f64, signed: bool) -> Vec<f64> {
        let least = lo.max(hi * 2f64.powi(-10));
        let draw = |i: usize, rng: &mut Rng| match self.pattern {
            Pattern::Zeros => lo,
            Pattern::Denormal => lo.max(self.dtype.min_subnormal()),
            Pattern::Huge | Pattern::Overflow | Pattern::Equal => hi,
            Pattern::Ramp => least + (hi - least) * (i % 64) as f64 / 64.0,
            _ => least * (hi / least).powf(rng.unit()),
        };
        (0..self.len)
            .map(|i| {
                let magnitude = draw(i, &mut self.rng);
                if signed { magnitude * self.rng.sign() } else { magnitude }
            })
            .collect()
    }

    fn integers(&mut self) -> Vec<f64> {
        let (lo, hi) = self.dtype.int_range().unwrap_or((0, 1));
        let small = |rng: &mut Rng, reach: i64| rng.between((-reach).max(lo), reach.min(hi));
        let mut row = 0;
        (0..self.len)
            .map(|i| {
                let rng = &mut self.rng;
                let x = match self.pattern {
                    Pattern::Normal | Pattern::Scaled | Pattern::Outlier => rng.between(lo, hi),
                    Pattern::Small => small(rng, 3),
                    Pattern::Denormal => small(rng, 1),
                    Pattern::Zeros => 0,
                    Pattern::Equal => lo,
                    Pattern::Huge | Pattern::Overflow | Pattern::Special if rng.sign() > 0.0 => hi,
                    Pattern::Huge | Pattern::Overflow | Pattern::Special => lo,
                    Pattern::Alternating if (i % self.cols).is_multiple_of(2) => hi,
                    Pattern::Alternating => lo,
                    Pattern::Ramp => lo + (i as i64) % (hi - lo + 1).min(251),
                    Pattern::Cancelling if i % 2 == 1 => (-row).clamp(lo, hi),
                    Pattern::Constant if !i.is_multiple_of(self.cols) => row,
                    Pattern::Cancelling | Pattern::Constant => {
                        row = rng.between(lo, hi);
                        row
                    }
                };
                x as f64
            })
            .collect()
    }

    fn floats(&mut self, special: bool) -> Vec<f64> {
        let mut values = self.finite();
        let max = self.dtype.max_finite();
        let rare = match self.pattern {
            Pattern::Special if special => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0],
            Pattern::Overflow => [max, -max, 0.75 * max, -0.75 * max],
            _ => return values,
        };
        for (n, x) in rare.into_iter().enumerate().take(self.len.div_ceil(2)) {
            // The last element is where tails end.
            let at = if n == 1 { self.len - 1 } else { self.rng.below(self.len) };
            values[at] = x;
        }
        values
    }

    fn finite(&mut self) -> Vec<f64> {
        let d = self.dtype;
        let (max, cols, huge, pattern) = (d.max_finite(), self.cols, self.huge, self.pattern);
        let rng = &mut self.rng;
        let (mut kept, mut outlier) = (rng.normal(), 0);
        let draw = |i: usize| {
            let x = match pattern {
                Pattern::Normal | Pattern::Special | Pattern::Overflow => rng.normal(),
                Pattern::Scaled => 30.0 * rng.normal(),
                Pattern::Small => rng.between(-3, 3) as f64,
                Pattern::Zeros => 0.0,
                Pattern::Denormal if rng.sign() > 0.0 => 4.0 * rng.normal() * d.min_normal(),
                Pattern::Denormal => rng.between(-9, 9) as f64 * d.min_subnormal(),
                Pattern::Huge => rng.sign() * huge * (1.0 + rng.unit()) / 2.0,
                Pattern::Equal => kept,
                Pattern::Alternating => {
                    (1.0 + rng.unit()) * if (i % cols).is_multiple_of(2) { 1.0 } else { -1.0 }
                }
                Pattern::Ramp => ((i % 251) as f64 - 125.0) / 4.0,
                Pattern::Outlier => {
                    if i.is_multiple_of(cols) {
                        outlier = i + rng.below(cols);
                    }
                    rng.normal() * if i == outlier { 1000.0 } else { 1.0 }
                }
                Pattern::Cancelling if i % 2 == 1 => -kept,
                Pattern::Constant if !i.is_multiple_of(cols) => kept,
                Pattern::Cancelling => {
                    kept = rng.normal() * 2f64.powi(rng.between(-4, 4) as i32);
                    kept
                }
                Pattern::Constant => {
                    kept = rng.normal();
                    kept
                }
            };
            x.clamp(-max, max)
        };
        (0..self.len).map(draw).collect()
    }
}
