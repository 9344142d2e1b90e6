//! Prologues and epilogues: functions over tiles, to compose, and the words that name them in a problem.
//!
//! An epilogue takes the f32 accumulator of a block before it is converted and stored; a prologue takes a block of `a`
//! before it is multiplied. Fusion is a closure over these, not a new kernel:
//!
//! ```
//! use tilewright_ir::DType;
//! use tilewright_kernels::{Config, Gemm, epilogue::gelu, matmul_program};
//!
//! let dense = Gemm::new(100, 200, 300, DType::BF16);
//! let config = Config::of(&[("bm", 32), ("bn", 64), ("bk", 128)]);
//! let program = matmul_program(&dense, &config, &|_, x| x, &|block, [acc]| {
//!     gelu(acc + block.per_column("bias", DType::F32)) + block.same("residual", DType::BF16).cast(DType::F32)
//! });
//! assert!(program.is_ok());
//! ```

use tilewright_dtype::DType;
use tilewright_ir::Tile;

use super::block::Block;

/// `max(x, 0)`; NaN stays NaN.
#[track_caller]
pub fn relu(x: Tile<'_>) -> Tile<'_> {
    x.max(0.0)
}

/// `x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))` (Hendrycks and Gimpel, "Gaussian error linear units", 2016). The
/// tanh is 1 in float64 beyond |x| = 10, where the argument is cut off before its cube overflows.
#[track_caller]
pub fn gelu(x: Tile<'_>) -> Tile<'_> {
    let near = x.max(-10.0).min(10.0);
    let inner = FRAC_SQRT_2_PI * (near + 0.044715 * (near * near * near));
    0.5 * x * (1.0 + inner.tanh())
}

/// `x/2 * (1 + erf(x / sqrt(2)))`, x times the normal distribution function.
#[track_caller]
pub fn gelu_erf(x: Tile<'_>) -> Tile<'_> {
    0.5 * x * (1.0 + (x * std::f64::consts::FRAC_1_SQRT_2).erf())
}

/// `x / (1 + exp(-x))`, as `x/2 * (1 + tanh(x/2))`: nothing overflows, and the error stays small beside `x` however
/// uncertain `x` is.
#[track_caller]
pub fn silu(x: Tile<'_>) -> Tile<'_> {
    let half = 0.5 * x;
    half * (1.0 + half.tanh())
}

/// `silu(gate) * up` (Shazeer, "GLU variants improve transformer", 2020).
#[track_caller]
pub fn swiglu<'k>(gate: Tile<'k>, up: Tile<'k>) -> Tile<'k> {
    silu(gate) * up
}

const FRAC_SQRT_2_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;

/// A word of `epilogue=` or `prologue=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Bias,
    Relu,
    Gelu,
    GeluErf,
    Silu,
    Residual,
    Scale,
    RowScale,
    ColScale,
    Gated,
}

use Step::{Bias, ColScale, Gated, Gelu, GeluErf, Relu, Residual, RowScale, Scale, Silu};

const ALL: [Step; 10] = [Bias, Relu, Gelu, GeluErf, Silu, Residual, Scale, RowScale, ColScale, Gated];

/// The words of `epilogue=`; each step applies to what the one before it made.
pub(super) static EPILOGUES: &[&str] = &names(ALL);

/// The words of `prologue=`, which act on `a`.
pub(super) static PROLOGUES: &[&str] = &names([Relu, Gelu, GeluErf, Silu, Scale, RowScale, ColScale]);

const fn names<const N: usize>(steps: [Step; N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut i = 0;
    while i < N {
        names[i] = steps[i].name();
        i += 1;
    }
    names
}

impl Step {
    /// The steps that words name.
    pub(super) fn all_of(words: &[&str]) -> Vec<Step> {
        words.iter().filter_map(|w| ALL.into_iter().find(|s| s.name() == *w)).collect()
    }

    /// The word; also the name of the step's operand.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Bias => "bias",
            Relu => "relu",
            Gelu => "gelu",
            GeluErf => "gelu_erf",
            Silu => "silu",
            Residual => "residual",
            Scale => "scale",
            RowScale => "row_scale",
            ColScale => "col_scale",
            Gated => "gated",
        }
    }

    /// The shape of the step's operand beside `batch` matrices of `rows` by `cols`.
    pub(super) fn operand(self, batch: usize, rows: usize, cols: usize) -> Option<[usize; 3]> {
        match self {
            Bias | ColScale => Some([1, 1, cols]),
            Residual => Some([batch, rows, cols]),
            Scale => Some([1, 1, 1]),
            RowScale => Some([batch, rows, 1]),
            Relu | Gelu | GeluErf | Silu | Gated => None,
        }
    }

    /// Whether the step's operand is a scale, of f32; other operands have the type of the result.
    pub(super) fn is_scale(self) -> bool {
        matches!(self, Scale | RowScale | ColScale)
    }

    /// Whether the step evaluates exp, tanh or erf once an element.
    pub(super) fn is_transcendental(self) -> bool {
        matches!(self, Gelu | GeluErf | Silu | Gated)
    }

    /// Applies steps in turn, in f32, to the first of `tiles`; the last is the other factor of a gate. Operands are called
    /// by their word after `prefix`; a bias and a residual have type `added`.
    pub(super) fn apply_all<'k>(
        steps: &[Step],
        block: &Block<'k>,
        tiles: &[Tile<'k>],
        prefix: &str,
        added: DType,
    ) -> Tile<'k> {
        let (first, last) = (tiles[0].cast(DType::F32), tiles[tiles.len() - 1]);
        steps.iter().fold(first, |x, step| step.apply(block, x, last, prefix, added))
    }

    fn apply<'k>(self, block: &Block<'k>, x: Tile<'k>, up: Tile<'k>, prefix: &str, added: DType) -> Tile<'k> {
        let name = &format!("{prefix}{}", self.name());
        match self {
            Bias => x + block.per_column(name, added).cast(DType::F32),
            Residual => x + block.same(name, added).cast(DType::F32),
            Scale => x * block.one(name, DType::F32),
            RowScale => x * block.per_row(name, DType::F32),
            ColScale => x * block.per_column(name, DType::F32),
            Relu => relu(x),
            Gelu => gelu(x),
            GeluErf => gelu_erf(x),
            Silu => silu(x),
            Gated => swiglu(x, up),
        }
    }

    /// The step in float64 on row-major `x` of `cols` columns; `v` holds its operand, or the other factor of a gate.
    pub(super) fn reference(self, x: &mut [f64], cols: usize, v: &[f64]) {
        let silu = |x: f64| x / (1.0 + (-x).exp());
        for (e, o) in x.iter_mut().enumerate() {
            let x = *o;
            *o = match self {
                Bias => x + v[e % cols],
                Residual => x + v[e],
                Scale => x * v[0],
                RowScale => x * v[e / cols],
                ColScale => x * v[e % cols],
                Relu if x < 0.0 => 0.0,
                Relu => x,
                Gelu => {
                    let c = (2.0 / std::f64::consts::PI).sqrt();
                    0.5 * x * (1.0 + (c * (x + 0.044715 * x.powi(3))).tanh())
                }
                GeluErf => 0.5 * x * (1.0 + libm::erf(x / 2f64.sqrt())),
                Silu => silu(x),
                Gated => silu(x) * v[e],
            };
        }
    }
}
