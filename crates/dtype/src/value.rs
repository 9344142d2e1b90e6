//! One value at a time: rounding, casting, bits, and distances.

use crate::DType;
use crate::float::{BF16, F8E4M3, F8E4M3_VALUES, F8E5M2, F8E5M2_VALUES, F16, F64};

impl DType {
    /// The value of this type that `x` becomes.
    ///
    /// Floats: the nearest value, ties to even, rounded once; subnormals are kept. What rounds beyond
    /// [`max_finite`](DType::max_finite) becomes infinity, or NaN for `f8e4m3fn`, which has none (so does infinity
    /// itself): ml_dtypes' rule, without saturation. Integers and `bool`: [`cast_to_int`](DType::cast_to_int).
    #[inline]
    pub fn round(self, x: f64) -> f64 {
        match self {
            DType::F64 => x,
            DType::F32 => f64::from(x as f32),
            DType::BF16 => BF16.round(x),
            DType::F16 => F16.round(x),
            DType::F8E4M3 => F8E4M3.round(x),
            DType::F8E5M2 => F8E5M2.round(x),
            DType::I32 => f64::from(x as i32),
            DType::I8 => f64::from(x as i8),
            DType::U8 => f64::from(x as u8),
            DType::I4 | DType::Bool => self.cast_to_int(x) as f64,
        }
    }

    /// [`round`](DType::round) of each element, in place.
    pub fn round_slice(self, values: &mut [f64]) {
        #[inline(always)]
        fn each(values: &mut [f64], round: impl Fn(f64) -> f64) {
            values.iter_mut().for_each(|x| *x = round(*x));
        }
        match self {
            DType::F64 => {}
            DType::F32 => each(values, |x| f64::from(x as f32)),
            DType::BF16 => each(values, |x| BF16.round(x)),
            DType::F16 => each(values, |x| F16.round(x)),
            DType::F8E4M3 => each(values, |x| F8E4M3.round(x)),
            DType::F8E5M2 => each(values, |x| F8E5M2.round(x)),
            DType::I32 => each(values, |x| f64::from(x as i32)),
            DType::I8 => each(values, |x| f64::from(x as i8)),
            DType::U8 => each(values, |x| f64::from(x as u8)),
            DType::I4 | DType::Bool => each(values, |x| self.cast_to_int(x) as f64),
        }
    }

    /// `x` truncated toward zero and saturated to this integer type; NaN becomes 0. For `bool`, whether `x` is not
    /// zero (NaN is not). For floats, saturated to `i64`.
    #[inline]
    pub fn cast_to_int(self, x: f64) -> i64 {
        if self == DType::Bool {
            return i64::from(x != 0.0);
        }
        let (min, max) = self.int_range().unwrap_or((i64::MIN, i64::MAX));
        (x as i64).clamp(min, max)
    }

    /// `x` modulo 2^width, as this integer type's two's complement reads it. For `bool`, whether `x` is not zero, so
    /// that sums are "or" and products "and". Floats leave it as it is.
    #[inline]
    pub fn wrap(self, x: i64) -> i64 {
        match self {
            DType::I32 => i64::from(x as i32),
            DType::I8 => i64::from(x as i8),
            DType::U8 => i64::from(x as u8),
            DType::I4 => sign_extend_nibble(x as u8),
            DType::Bool => i64::from(x != 0),
            _ => x,
        }
    }

    /// The bit pattern of [`round`](DType::round)`(x)`, in the low [`bits`](DType::bits); NaN is one quiet, positive
    /// pattern.
    #[inline]
    pub fn encode(self, x: f64) -> u64 {
        match self {
            DType::F64 if x.is_nan() => F64.canonical_nan,
            DType::F64 => x.to_bits(),
            DType::F32 => f32_bits(x).into(),
            DType::BF16 => bf16_bits(x).into(),
            DType::F16 => F16.encode_exact(F16.round(x)),
            DType::F8E4M3 => F8E4M3.encode_exact(F8E4M3.round(x)),
            DType::F8E5M2 => F8E5M2.encode_exact(F8E5M2.round(x)),
            DType::I32 => u64::from(self.cast_to_int(x) as u32),
            DType::I8 | DType::U8 | DType::Bool => u64::from(self.cast_to_int(x) as u8),
            DType::I4 => self.cast_to_int(x) as u64 & 0xF,
        }
    }

    /// The value of the bit pattern in the low [`bits`](DType::bits); higher bits are ignored. Any byte but 0 is a true
    /// `bool`.
    #[inline]
    pub fn decode(self, bits: u64) -> f64 {
        match self {
            DType::F64 => f64::from_bits(bits),
            DType::F32 => f64::from(f32::from_bits(bits as u32)),
            DType::BF16 => bf16_value(bits as u16),
            DType::F16 => F16.decode(bits),
            DType::F8E4M3 => F8E4M3_VALUES[usize::from(bits as u8)],
            DType::F8E5M2 => F8E5M2_VALUES[usize::from(bits as u8)],
            DType::I32 => f64::from(bits as u32 as i32),
            DType::I8 => f64::from(bits as u8 as i8),
            DType::U8 => f64::from(bits as u8),
            DType::I4 => sign_extend_nibble(bits as u8) as f64,
            DType::Bool => f64::from(u8::from(bits as u8 != 0)),
        }
    }

    /// The distance between neighbouring values at `x`: that of `x`'s binade, which for a power of two is the one above
    /// it; [`min_subnormal`](DType::min_subnormal) below the normal range; that of the greatest binade beyond
    /// [`max_finite`](DType::max_finite). NaN for infinities and NaN. 1 for integers.
    pub fn ulp(self, x: f64) -> f64 {
        match self.float_format() {
            Some(format) => format.ulp(x),
            None => 1.0,
        }
    }

    /// How many steps between neighbouring values lead from `a` to `b`, both rounded to this type first.
    ///
    /// +0 and -0 are one value, infinity is one step beyond the greatest finite value, two NaNs are 0 apart, and NaN
    /// is `u64::MAX` from any number.
    pub fn ulp_distance(self, a: f64, b: f64) -> u64 {
        match (self.round(a).is_nan(), self.round(b).is_nan()) {
            (true, true) => 0,
            (true, false) | (false, true) => u64::MAX,
            (false, false) => self.ordinal(a).abs_diff(self.ordinal(b)),
        }
    }

    /// The position of a number among the values of this type, zero at 0.
    fn ordinal(self, x: f64) -> i64 {
        if !self.is_float() {
            return self.cast_to_int(x);
        }
        let bits = self.encode(x);
        let sign = 1 << (self.bits() - 1);
        let magnitude = (bits & (sign - 1)) as i64;
        if bits & sign == 0 { magnitude } else { -magnitude }
    }
}

/// The bits of `x` rounded to `f32`, NaN canonical.
#[inline(always)]
pub(crate) fn f32_bits(x: f64) -> u32 {
    if x.is_nan() { 0x7FC0_0000 } else { (x as f32).to_bits() }
}

/// The bits of `x` rounded to `bf16`, NaN canonical. The conversion to `f32` is exact: the rounding came before.
#[inline(always)]
pub(crate) fn bf16_bits(x: f64) -> u16 {
    (f32_bits(BF16.round(x)) >> 16) as u16
}

/// The value of `bf16` bits.
#[inline(always)]
pub(crate) fn bf16_value(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// The low nibble of a byte as a two's complement number.
#[inline(always)]
fn sign_extend_nibble(byte: u8) -> i64 {
    i64::from((byte << 4) as i8 >> 4)
}
