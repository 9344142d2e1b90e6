//! Adversarial inputs: families of values as data, drawn from a seed for any program.

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::{DType, Tensor};
use tilewright_ir::{Program, Role};
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
    Last,
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
    row(
        "last",
        Pattern::Last,
        "Normal, with the greatest value of each row in its last place, where a running maximum changes latest.",
    ),
    row("cancelling", Pattern::Cancelling, "Pairs x, -x whose magnitudes span eight powers of two."),
    row("special", Pattern::Special, "Normal, with one NaN, one infinity of each sign, and a negative zero."),
    row(
        "huge",
        Pattern::Huge,
        "As large as sums of products of two can be without overflow; integers at their extremes.",
    ),
    row(
        "denormal",
        Pattern::Denormal,
        "Around and below the smallest normal number in every other operand, normal in the others.",
    ),
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
    let mut all = Inputs::new();
    for (number, operand) in given.enumerate() {
        let dims = operand.shape.dims();
        let pattern = match inputs.pattern {
            // The product of two denormals vanishes: they meet normal numbers.
            Pattern::Denormal if number % 2 == 1 => Pattern::Normal,
            pattern => pattern,
        };
        let draw = Draw {
            pattern,
            dtype: operand.dtype,
            len: operand.shape.elements(),
            cols: dims.last().copied().unwrap_or(1).max(1),
            huge: reach.huge(operand.dtype),
            rng: Rng::new(seed, &[inputs.name, &operand.name]),
            kept: 0.0,
            outlier: 0,
        };
        let mut tensor = Tensor::try_new(operand.dtype, dims)?;
        draw.fill(&mut tensor, &operand.role, kernel.domain(problem, &operand.name));
        all.insert(operand.name.clone(), tensor);
    }
    Ok(all)
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
    /// The value of a row, a pair, or all elements.
    kept: f64,
    /// Where the outlier of the row is.
    outlier: usize,
}

/// How many elements are drawn before they are stored: large arrays are never held in float64 as a whole. Even, so that
/// nibbles meet in whole bytes.
const CHUNK: usize = 1 << 16;

impl Draw {
    fn fill(mut self, tensor: &mut Tensor, role: &Role, domain: Domain) {
        let dtype = self.dtype;
        self.kept = self.rng.normal();
        let mut values = vec![0.0; CHUNK.min(self.len)];
        for start in (0..self.len).step_by(CHUNK) {
            let chunk = &mut values[..CHUNK.min(self.len - start)];
            for (i, value) in (start..).zip(chunk.iter_mut()) {
                *value = self.value(i, role, domain);
            }
            if let (Some(from), Some(bytes)) = (dtype.storage_bytes(start), dtype.storage_bytes(chunk.len()))
            {
                dtype.encode_slice(chunk, &mut tensor.bytes_mut()[from..from + bytes]);
            }
        }
        if let (Role::Input { .. }, Domain::Any | Domain::Finite, true) = (role, domain, dtype.is_float()) {
            self.plant(tensor, domain);
        }
    }

    /// Rare values in a few places.
    fn plant(&mut self, tensor: &mut Tensor, domain: Domain) {
        let max = self.dtype.max_finite();
        let rare = match self.pattern {
            Pattern::Special if domain == Domain::Any => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0],
            Pattern::Overflow => [max, -max, 0.75 * max, -0.75 * max],
            _ => return,
        };
        for (n, x) in rare.into_iter().enumerate().take(self.len.div_ceil(2)) {
            // The last element is where tails end.
            let at = if n == 1 { self.len - 1 } else { self.rng.below(self.len) };
            tensor.set(at, x);
        }
    }

    fn value(&mut self, i: usize, role: &Role, domain: Domain) -> f64 {
        if let Role::Scalar { min, max } | Role::Table { min, max } = *role {
            return self.index(i, min.into(), max.into());
        }
        match domain {
            Domain::Index { n } => self.index(i, 0, n.saturating_sub(1) as i64),
            Domain::Positive { lo, hi } => self.within(i, lo, hi),
            Domain::Unit => self.within(i, 0.0, 1.0) * self.rng.sign(),
            Domain::Any | Domain::Finite if self.dtype.is_float() => self.float(i),
            Domain::Any | Domain::Finite => self.integer(i) as f64,
        }
    }

    /// An integer of a range: both ends are among an array's. A single scalar is drawn at random, or all cases but
    /// those of the extremes would have the same.
    fn index(&mut self, i: usize, lo: i64, hi: i64) -> f64 {
        let x = match self.pattern {
            Pattern::Zeros => lo,
            Pattern::Huge | Pattern::Overflow => hi,
            Pattern::Ramp => lo + (i as i64) % (hi - lo + 1),
            _ if self.len > 1 && i == 0 => hi,
            _ if self.len > 1 && i + 1 == self.len => lo,
            _ => self.rng.between(lo, hi),
        };
        x as f64
    }

    /// A magnitude of a range, spread evenly over its powers of two.
    fn within(&mut self, i: usize, lo: f64, hi: f64) -> f64 {
        let least = lo.max(hi * 2f64.powi(-10));
        match self.pattern {
            Pattern::Zeros => lo,
            Pattern::Denormal => lo.max(self.dtype.min_subnormal()),
            Pattern::Huge | Pattern::Overflow | Pattern::Equal => hi,
            Pattern::Ramp => least + (hi - least) * (i % 64) as f64 / 64.0,
            _ => least * (hi / least).powf(self.rng.unit()),
        }
    }

    fn integer(&mut self, i: usize) -> i64 {
        let (lo, hi) = self.dtype.int_range().unwrap_or((0, 1));
        let rng = &mut self.rng;
        match self.pattern {
            Pattern::Last if (i + 1).is_multiple_of(self.cols) => hi,
            Pattern::Normal | Pattern::Scaled | Pattern::Outlier | Pattern::Last => rng.between(lo, hi),
            Pattern::Small => rng.between(lo.max(-3), hi.min(3)),
            Pattern::Denormal => rng.between(lo.max(-1), 1),
            Pattern::Zeros => 0,
            Pattern::Equal => lo,
            Pattern::Huge | Pattern::Overflow | Pattern::Special if rng.sign() > 0.0 => hi,
            Pattern::Huge | Pattern::Overflow | Pattern::Special => lo,
            Pattern::Alternating if (i % self.cols).is_multiple_of(2) => hi,
            Pattern::Alternating => lo,
            Pattern::Ramp => lo + (i as i64) % (hi - lo + 1).min(251),
            Pattern::Cancelling if i % 2 == 1 => (-self.kept as i64).clamp(lo, hi),
            Pattern::Constant if !i.is_multiple_of(self.cols) => self.kept as i64,
            Pattern::Cancelling | Pattern::Constant => {
                let x = rng.between(lo, hi);
                self.kept = x as f64;
                x
            }
        }
    }

    fn float(&mut self, i: usize) -> f64 {
        let (d, rng) = (self.dtype, &mut self.rng);
        let x = match self.pattern {
            Pattern::Normal | Pattern::Special | Pattern::Overflow => rng.normal(),
            Pattern::Last if (i + 1).is_multiple_of(self.cols) => 20.0 + rng.unit(),
            Pattern::Last => rng.normal(),
            Pattern::Scaled => 30.0 * rng.normal(),
            Pattern::Small => rng.between(-3, 3) as f64,
            Pattern::Zeros => 0.0,
            Pattern::Denormal if rng.sign() > 0.0 => 4.0 * rng.normal() * d.min_normal(),
            Pattern::Denormal => rng.between(-9, 9) as f64 * d.min_subnormal(),
            Pattern::Huge => rng.sign() * self.huge * (1.0 + rng.unit()) / 2.0,
            Pattern::Equal => self.kept,
            Pattern::Alternating => {
                (1.0 + rng.unit()) * if (i % self.cols).is_multiple_of(2) { 1.0 } else { -1.0 }
            }
            Pattern::Ramp => ((i % 251) as f64 - 125.0) / 4.0,
            Pattern::Outlier => {
                if i.is_multiple_of(self.cols) {
                    self.outlier = i + rng.below(self.cols);
                }
                rng.normal() * if i == self.outlier { 1000.0 } else { 1.0 }
            }
            Pattern::Cancelling if i % 2 == 1 => -self.kept,
            Pattern::Constant if !i.is_multiple_of(self.cols) => self.kept,
            Pattern::Cancelling => {
                self.kept = rng.normal() * 2f64.powi(rng.between(-4, 4) as i32);
                self.kept
            }
            Pattern::Constant => {
                self.kept = rng.normal();
                self.kept
            }
        };
        x.clamp(-d.max_finite(), d.max_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_kernels::family;

    fn drawn(inputs: &str, words: &str) -> (Inputs, Program) {
        let mut words = words.split(' ');
        let kernel = family(words.next().unwrap()).unwrap();
        let words: Vec<&str> = words.collect();
        let p = Problem::parse(kernel.name(), kernel.keys(), &words).unwrap();
        let machine = tilewright_kernels::Machine {
            lanes: 8,
            l1_bytes: 4096,
            l2_bytes: 32768,
            l3_bytes: 1 << 20,
            cores: 2,
        };
        let program = kernel.build(&p, &kernel.default_config(&p, &machine)).unwrap();
        (draw(input_family(inputs).unwrap(), kernel, &p, &program, 7).unwrap(), program)
    }

    #[test]
    fn each_family_draws_what_it_says() {
        let a = |inputs: &str| drawn(inputs, "matmul m=64 n=32 k=48 dtype=f32").0["a"].to_f64();
        let rows = |inputs: &str| a(inputs).chunks(48).map(<[f64]>::to_vec).collect::<Vec<_>>();
        assert!(a("zeros").iter().all(|&x| x == 0.0));
        assert!(a("small").iter().all(|x| x.fract() == 0.0 && x.abs() <= 3.0));
        assert!(a("denormal").iter().any(|x| x.abs() < DType::F32.min_normal() && *x != 0.0));
        assert!(a("cancelling").chunks(2).all(|pair| pair[0] == -pair[1]));
        assert!(rows("constant").iter().all(|row| row.iter().all(|x| *x == row[0])));
        assert!(rows("outlier").iter().all(|row| row.iter().any(|x| x.abs() > 4.0)));
        assert!(rows("alternating").iter().all(|row| row.windows(2).all(|p| p[0] * p[1] < 0.0)));
        assert!(a("equal").windows(2).all(|p| p[0] == p[1]));
        let special = a("special");
        assert!(special.iter().any(|x| x.is_nan()) && special[64 * 48 - 1] == f64::INFINITY);
        assert!(a("overflow").iter().any(|x| *x == f64::from(f32::MAX)));
        let huge: Vec<f64> = a("huge").iter().map(|x| x.abs()).collect();
        assert!(huge.iter().all(|x| x * x * 64.0 < f64::from(f32::MAX) && x * x > 1e34));
        assert_eq!(input_family("zeroes").unwrap_err().help.as_deref(), Some("did you mean `zeros`?"));
    }

    #[test]
    fn values_keep_to_their_types_and_domains() {
        for inputs in FAMILIES {
            for words in [
                "matmul m=9 n=8 k=300 dtype=f8e4m3fn",
                "matmul m=9 n=8 k=300 dtype=u8 weights=i4",
                "cross_entropy rows=9 cols=30 dtype=f16",
                "attention batch=3 heads=2 kv_heads=1 q_len=5 kv_len=9 head_dim=32 dtype=bf16 lengths",
                "rotary batch=1 heads=2 seq=9 head_dim=16 dtype=bf16",
            ] {
                let (all, program) = drawn(inputs.name, words);
                for o in program.operands().iter().filter(|o| o.given).map(|o| &o.operand) {
                    let values = all[&o.name].to_f64();
                    let within = |lo: f64, hi: f64| values.iter().all(|x| (lo..=hi).contains(x));
                    let ok = match (&o.role, o.name.as_str()) {
                        (Role::Table { min, max }, _) => within((*min).into(), (*max).into()),
                        (_, "label") => within(0.0, 29.0),
                        (_, "cos" | "sin") => within(-1.0, 1.0),
                        (_, "col_scale") => within(0.01 - 1e-9, 10.0 + 1e-6),
                        (_, "v") => values.iter().all(|x| x.is_finite()),
                        _ => inputs.name == "special" || values.iter().all(|x| x.is_finite()),
                    };
                    assert!(ok, "{} {words} {}: {values:?}", inputs.name, o.name);
                }
            }
        }
    }

    #[test]
    fn integers_reach_their_extremes() {
        let (all, _) = drawn("huge", "matmul m=9 n=8 k=300 dtype=u8");
        let values = all["b"].to_f64();
        assert!(values.contains(&-128.0) && values.contains(&127.0) && !values.contains(&0.0));
        let (all, _) = drawn("equal", "matmul m=9 n=8 k=300 dtype=i8");
        assert!(all["a"].to_f64().iter().chain(&all["b"].to_f64()).all(|&x| x == -128.0), "-128 times -128");
    }

    #[test]
    fn large_arrays_are_drawn_in_parts_without_a_seam() {
        let (all, _) = drawn("constant", "softmax rows=3 cols=70001 dtype=f32");
        let values = all["x"].to_f64();
        assert!(values.chunks(70001).all(|row| row.iter().all(|x| *x == row[0])));
        let (all, _) = drawn("ramp", "matmul m=1 n=70001 k=3 dtype=i8 weights=i4");
        let values = all["b"].to_f64();
        assert!((0..values.len()).all(|i| values[i] == -8.0 + (i % 16) as f64));
    }
}
