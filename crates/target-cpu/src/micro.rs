//! Dot micro-kernels: `C[m×n] += A[m×k] · B[k×n]` on register tiles, and the routines that pack their operands.
//!
//! # Units
//! A kernel consumes 32-bit *units*: one f32, two bf16, two i16 or four 8-bit integers that are neighbours in `k`
//! ([`Unit`]). One step multiplies a unit of A, broadcast, with a vector of units of B and adds into 32-bit
//! accumulators. `units(k) = ceil(k / group)`.
//!
//! # Operands
//! - **A**: the unit of row `r`, step `u` of row tile `t` lies at `a + t·a_ts + r·a_rs + u·a_ks` bytes, for `r < mr`.
//!   Row-major storage read in place (only where [`MicroSpec::a_in_place`]): `a_ks = 4`, `a_rs` = row stride,
//!   `a_ts = mr·a_rs`. No byte past the last element of a row is read, so `k` need not be a multiple of the group.
//!   Packed by [`Runtime::pack`] with [`MicroSpec::pack_a`]: `a_rs = 4`, `a_ks = 4·mr`, `a_ts` = [`MicroSpec::a_panel_bytes`].
//! - **B**: always packed by [`Runtime::pack`] with [`MicroSpec::pack_b`]: panel `p` holds columns `p·nr .. (p+1)·nr` as
//!   `[units(k)][nr]` units at `b + p·b_ps`, then, for a biased A, `nr` i32 compensations. `b_ps` =
//!   [`MicroSpec::b_panel_bytes`] or more, a multiple of 64.
//! - **C**: row-major f32 or i32 with row stride `c_rs` bytes. The kernel writes all of `ceil(n / nr)·nr` columns of `m`
//!   rows: buffers are padded to a multiple of `nr` columns, and columns past `n` get zero sums.
//!
//! # Arithmetic
//! i32 sums wrap and are exact below 2^31. f32 products and sums use one fused rounding each where the CPU has FMA and
//! two on the baseline, in increasing `k` with one accumulator per element, the tile's sum then being added to C.
//! bf16·bf16 by `vdpbf16ps` flushes subnormal inputs, intermediate and final sums to zero
//! ([`MicroSpec::flushes_subnormals`]); the two products of a unit are added one after the other.
//!
//! # Shapes
//! See [`MicroSpec::new`] and [`MicroSpec::for_rows`].

mod fetch;
mod kernel;
mod multiply;
mod pack;
mod tile;

pub use pack::{PackSpec, Rows};

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;

use crate::features::{CpuFeatures, Isa};
use crate::runtime::Runtime;

/// Two ports times a latency of four cycles.
const SUMS_IN_FLIGHT: usize = 8;
/// The widest register tile that [`MicroSpec`] chooses.
const MAX_NR_VECTORS: usize = 4;

/// What fills the 32 bits that one lane of B and one broadcast of A hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// One f32: fused multiply-add.
    F32,
    /// Two bf16: `vdpbf16ps`.
    Bf16x2,
    /// Two i16: `pmaddwd` and an add.
    I16x2,
    /// Four 8-bit integers, unsigned by signed: `vpdpbusd`.
    I8x4,
}

impl Unit {
    /// Elements of `k` in one unit.
    pub fn group(self) -> usize {
        match self {
            Unit::F32 => 1,
            Unit::Bf16x2 | Unit::I16x2 => 2,
            Unit::I8x4 => 4,
        }
    }

    /// The LLVM type of an element in a register.
    fn element(self) -> &'static str {
        match self {
            Unit::F32 => "float",
            Unit::Bf16x2 | Unit::I16x2 => "i16",
            Unit::I8x4 => "i8",
        }
    }

    /// The accumulator's dtype.
    pub fn acc(self) -> DType {
        match self {
            Unit::F32 | Unit::Bf16x2 => DType::F32,
            Unit::I16x2 | Unit::I8x4 => DType::I32,
        }
    }
}

/// One micro-kernel: operand dtypes, register tile and what is known of the strides when it is emitted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroSpec {
    /// Storage dtype of A.
    pub a: DType,
    /// Storage dtype of B.
    pub b: DType,
    /// What the operands become in registers.
    pub unit: Unit,
    /// Whether 128 is added to A so that `vpdpbusd` may take it as unsigned; B's panels then end in compensations.
    pub biased: bool,
    /// Whether B is the unsigned operand of `vpdpbusd` (i8·u8).
    pub b_unsigned: bool,
    /// Rows of the register tile.
    pub mr: usize,
    /// Vectors in a row of the register tile.
    pub nr_vectors: usize,
    /// The CPU.
    pub features: CpuFeatures,
    /// `a_rs` in bytes where the emitter knows it: rows then share one pointer.
    pub a_rs: Option<i64>,
    /// `a_ks` in bytes where the emitter knows it.
    pub a_ks: Option<i64>,
    /// `k` in elements where the emitter knows it.
    pub k: Option<i64>,
    /// `m` where the emitter knows it: only the tiles that occur are emitted.
    pub m: Option<i64>,
}

impl MicroSpec {
    /// The kernel for `a · b` on `features` with the register tile that suits a tall C.
    ///
    /// | CPU | unit | tile | why |
    /// |---|---|---|---|
    /// | AVX-512 | f32, bf16, i16 | 12×2 | 24 sums + 2 of B leave 6 of 32 registers for A; 14 loads feed 24 multiplies |
    /// | AVX-512 | 8-bit | 6×4 | 24 sums + 4 of B; fewest instructions a multiply, and a panel of 8-bit units is short |
    /// | AVX2 | any | 6×2 | 12 sums + 2 of B + 2 of A fill 16 registers; 12 cover a latency of 4 on two ports |
    /// | baseline | any | 4×2 | 8 sums + 2 of B + A and the product, which a two-operand multiply overwrites |
    ///
    /// # Errors
    /// `cpu/dot-dtypes` where the operands do not mix (a float with an integer) or have no kernel.
    pub fn new(a: DType, b: DType, features: CpuFeatures) -> Result<MicroSpec> {
        let (unit, biased, b_unsigned) = route(a, b, features).ok_or_else(|| no_kernel(a, b))?;
        let (mr, nr_vectors) = match (features.isa, unit) {
            (Isa::Avx512, Unit::I8x4) => (6, 4),
            (Isa::Avx512, _) => (12, 2),
            (Isa::Avx2, _) => (6, 2),
            (Isa::Baseline, _) => (4, 2),
        };
        Ok(MicroSpec {
            a,
            b,
            unit,
            biased,
            b_unsigned,
            mr,
            nr_vectors,
            features,
            a_rs: None,
            a_ks: None,
            k: None,
            m: None,
        })
    }

    /// The register tile that suits a C of `m` rows: rows are split evenly, and where they are few, four vectors a row
    /// keep enough sums in flight to hide the latency of a multiply.
    pub fn for_rows(mut self, m: usize) -> MicroSpec {
        self.mr = m.div_ceil(m.div_ceil(self.mr).max(1)).max(1);
        if self.mr * self.nr_vectors < SUMS_IN_FLIGHT {
            self.nr_vectors = MAX_NR_VECTORS;
        }
        self
    }

    /// bf16·bf16 through f32 units: both operands are widened when they are packed. No subnormal is flushed, and on cores
    /// that start a `vdpbf16ps` only every other cycle (Sapphire Rapids) twice as fast.
    pub fn widened(mut self) -> MicroSpec {
        if self.unit == Unit::Bf16x2 {
            self.unit = Unit::F32;
        }
        self
    }

    /// What the columns of C are padded to so that every tile of every operand pair fits.
    pub fn column_multiple(features: CpuFeatures) -> usize {
        MAX_NR_VECTORS * features.vector_bits() / 32
    }

    /// Columns of the register tile: the width of B's panels.
    pub fn nr(&self) -> usize {
        self.nr_vectors * self.lanes()
    }

    /// 32-bit lanes of a vector.
    pub fn lanes(&self) -> usize {
        self.features.vector_bits() / 32
    }

    /// Elements of `k` in a unit.
    pub fn group(&self) -> usize {
        self.unit.group()
    }

    /// The dtype of C.
    pub fn acc(&self) -> DType {
        self.unit.acc()
    }

    /// Units that `k` elements fill.
    pub fn units(&self, k: usize) -> usize {
        k.div_ceil(self.group())
    }

    /// Whether the kernel reads row-major A of its storage dtype where it lies; otherwise A must be packed.
    pub fn a_in_place(&self) -> bool {
        match self.unit {
            Unit::F32 => self.a == DType::F32,
            Unit::Bf16x2 => true,
            Unit::I16x2 => false,
            Unit::I8x4 => !self.biased,
        }
    }

    /// Bytes of one packed panel of A (`mr` rows, `k` elements deep).
    pub fn a_panel_bytes(&self, k: usize) -> usize {
        self.units(k) * self.mr * 4
    }

    /// Bytes of one packed panel of B (`nr` columns, `k` elements deep), compensations included.
    pub fn b_panel_bytes(&self, k: usize) -> usize {
        (self.units(k) + usize::from(self.biased)) * self.nr() * 4
    }

    /// Whether subnormal inputs and sums become zero: an absolute error of at most `2^-126·(|a|+|b|+1)` for each product.
    pub fn flushes_subnormals(&self) -> bool {
        self.unit == Unit::Bf16x2
    }

    /// How A is packed; `rows` says which of its dimensions lies along the rows of the source.
    pub fn pack_a(&self, rows: Rows) -> PackSpec {
        PackSpec {
            source: self.a,
            unit: self.unit,
            width: self.mr,
            rows,
            bias: self.biased,
            compensate: false,
            features: self.features,
        }
    }

    /// How B is packed; `rows` says which of its dimensions lies along the rows of the source.
    pub fn pack_b(&self, rows: Rows) -> PackSpec {
        PackSpec {
            source: self.b,
            unit: self.unit,
            width: self.nr(),
            rows,
            bias: false,
            compensate: self.biased,
            features: self.features,
        }
    }
}

impl Runtime {
    /// The dot function of `spec`:
    ///
    /// ```text
    /// void @name(ptr a, i64 a_ts, i64 a_rs, i64 a_ks, ptr b, i64 b_ps, i64 k,
    ///            ptr c, i64 c_rs, i64 m, i64 n, i1 zero)
    /// ```
    ///
    /// `C = (zero ? 0 : C) + A·B` over `m` rows and `n` columns, `k` elements deep; strides in bytes. Where `spec` holds
    /// a stride, `k` or `m`, the argument must be equal to it; without the strides of A the address arithmetic costs a
    /// third of the speed. Panels of B are the outer loop, so that one panel stays in the first-level cache while A
    /// streams from the second.
    pub fn dot(&mut self, spec: &MicroSpec) -> String {
        kernel::dot(self, spec)
    }

    /// The packing function of `spec`:
    ///
    /// ```text
    /// void @name(ptr source, i64 row_stride, i64 k, i64 width, i64 k_valid, i64 width_valid, ptr panels, i64 panel_stride)
    /// ```
    ///
    /// Reads the `k_valid × width_valid` corner of the source (row stride in bytes), takes the rest of `k × width` as zero, and
    /// writes `ceil(width / spec.width)` panels of `units(k)` steps (and the compensations) at `panels + p·panel_stride`.
    pub fn pack(&mut self, spec: &PackSpec) -> String {
        pack::pack(self, spec)
    }
}

/// The unit that multiplies `a` with `b`, whether A is biased, and whether B is the unsigned side.
fn route(a: DType, b: DType, features: CpuFeatures) -> Option<(Unit, bool, bool)> {
    let float = |d| matches!(d, DType::F32 | DType::BF16 | DType::F16 | DType::F8E4M3 | DType::F8E5M2);
    let signed = |d| matches!(d, DType::I8 | DType::I4 | DType::Bool);
    let integer = |d| signed(d) || d == DType::U8;
    match (a, b) {
        (DType::BF16, DType::BF16) if features.bf16 => Some((Unit::Bf16x2, false, false)),
        (a, b) if float(a) && float(b) => Some((Unit::F32, false, false)),
        (DType::U8, b) if signed(b) && features.vnni => Some((Unit::I8x4, false, false)),
        (a, DType::U8) if signed(a) && features.vnni => Some((Unit::I8x4, false, true)),
        (a, b) if signed(a) && signed(b) && features.vnni => Some((Unit::I8x4, true, false)),
        (a, b) if integer(a) && integer(b) => Some((Unit::I16x2, false, false)),
        _ => None,
    }
}

fn no_kernel(a: DType, b: DType) -> Box<Diagnostic> {
    Diagnostic::request("cpu/dot-dtypes", format!("no dot of {a:?} with {b:?}"))
        .rule("both operands are floats of at most 32 bits, or both are integers of at most 8 bits")
        .help("cast one operand first")
}
