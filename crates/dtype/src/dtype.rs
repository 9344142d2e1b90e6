//! The element types: names, widths, ranges, storage.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tilewright_diag::{Diagnostic, Result};

use crate::float::{BF16, F8E4M3, F8E5M2, F16, F32, F64, FloatFormat};

/// An element type.
///
/// Serialised as its text [`name`](DType::name).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum DType {
    /// IEEE 754 binary64.
    F64,
    /// IEEE 754 binary32.
    F32,
    /// bfloat16: the upper half of binary32.
    BF16,
    /// IEEE 754 binary16.
    F16,
    /// OCP 8-bit float, 4 exponent and 3 mantissa bits: finite up to 448, one NaN pattern a sign, no infinity.
    F8E4M3,
    /// OCP 8-bit float, 5 exponent and 2 mantissa bits, IEEE-style infinity and NaN.
    F8E5M2,
    /// 32-bit two's complement integer.
    I32,
    /// 8-bit two's complement integer.
    I8,
    /// 8-bit unsigned integer.
    U8,
    /// 4-bit two's complement integer, stored two per byte.
    I4,
    /// Truth value, stored as a byte 0 or 1.
    Bool,
}

impl DType {
    /// Every element type, floats first, widest first.
    pub const ALL: [DType; 11] = [
        DType::F64,
        DType::F32,
        DType::BF16,
        DType::F16,
        DType::F8E4M3,
        DType::F8E5M2,
        DType::I32,
        DType::I8,
        DType::U8,
        DType::I4,
        DType::Bool,
    ];

    /// The name in every text form: `f32`, `bf16`, `f8e4m3fn`, ….
    pub const fn name(self) -> &'static str {
        match self {
            DType::F64 => "f64",
            DType::F32 => "f32",
            DType::BF16 => "bf16",
            DType::F16 => "f16",
            DType::F8E4M3 => "f8e4m3fn",
            DType::F8E5M2 => "f8e5m2",
            DType::I32 => "i32",
            DType::I8 => "i8",
            DType::U8 => "u8",
            DType::I4 => "i4",
            DType::Bool => "bool",
        }
    }

    /// The type of that [`name`](DType::name); `dtype/unknown`, with the nearest name, where there is none.
    pub fn parse(name: &str) -> Result<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name).ok_or_else(|| {
            Diagnostic::unknown("dtype/unknown", "element type", name, DType::ALL.map(DType::name))
        })
    }

    /// Bits that one stored element takes: 4 for `i4`, 8 for `bool`.
    pub const fn bits(self) -> u32 {
        match self {
            DType::F64 => 64,
            DType::F32 | DType::I32 => 32,
            DType::BF16 | DType::F16 => 16,
            DType::F8E4M3 | DType::F8E5M2 | DType::I8 | DType::U8 | DType::Bool => 8,
            DType::I4 => 4,
        }
    }

    /// Whether this is a floating-point type.
    pub const fn is_float(self) -> bool {
        self.float_format().is_some()
    }

    /// Whether this is an integer type; `bool` is not.
    pub const fn is_int(self) -> bool {
        matches!(self, DType::I32 | DType::I8 | DType::U8 | DType::I4)
    }

    /// Whether this type holds negative numbers.
    pub const fn is_signed(self) -> bool {
        !matches!(self, DType::U8 | DType::Bool)
    }

    /// The least and the greatest value of an integer type or `bool`; `None` for floats.
    pub const fn int_range(self) -> Option<(i64, i64)> {
        match self {
            DType::I32 => Some((i32::MIN as i64, i32::MAX as i64)),
            DType::I8 => Some((-128, 127)),
            DType::U8 => Some((0, 255)),
            DType::I4 => Some((-8, 7)),
            DType::Bool => Some((0, 1)),
            _ => None,
        }
    }

    /// Bytes that `n` consecutive elements take; `None` where that overflows.
    ///
    /// `i4` packs element `e` into byte `e / 2`, even `e` in the low nibble; an odd count leaves the last high nibble
    /// unused.
    pub const fn storage_bytes(self, n: usize) -> Option<usize> {
        match self {
            DType::I4 => Some(n.div_ceil(2)),
            _ => n.checked_mul(self.bits() as usize / 8),
        }
    }

    /// Significant bits `p`, the hidden one included. For integers, the bits of the greatest value.
    pub const fn mantissa_bits(self) -> u32 {
        match self.float_format() {
            Some(format) => format.precision,
            None => match self.int_range() {
                Some((_, max)) => i64::BITS - max.leading_zeros(),
                None => 0,
            },
        }
    }

    /// The greatest relative error of one rounding to nearest of a number in the normal range: 2^-p. Zero for integers,
    /// whose arithmetic is exact.
    pub fn unit_roundoff(self) -> f64 {
        match self.float_format() {
            Some(format) => format.unit_roundoff(),
            None => 0.0,
        }
    }

    /// The smallest positive normal number; 1 for integers.
    pub fn min_normal(self) -> f64 {
        match self.float_format() {
            Some(format) => format.min_normal(),
            None => 1.0,
        }
    }

    /// The smallest positive number; 1 for integers.
    pub fn min_subnormal(self) -> f64 {
        match self.float_format() {
            Some(format) => format.min_subnormal(),
            None => 1.0,
        }
    }

    /// The greatest finite number.
    pub fn max_finite(self) -> f64 {
        match (self.float_format(), self.int_range()) {
            (Some(format), _) => format.max_finite,
            (None, Some((_, max))) => max as f64,
            (None, None) => f64::MAX,
        }
    }

    /// Whether the type holds infinities. `f8e4m3fn` and the integers do not.
    pub const fn has_infinity(self) -> bool {
        match self.float_format() {
            Some(format) => format.infinity,
            None => false,
        }
    }

    pub(crate) const fn float_format(self) -> Option<&'static FloatFormat> {
        match self {
            DType::F64 => Some(&F64),
            DType::F32 => Some(&F32),
            DType::BF16 => Some(&BF16),
            DType::F16 => Some(&F16),
            DType::F8E4M3 => Some(&F8E4M3),
            DType::F8E5M2 => Some(&F8E5M2),
            DType::I32 | DType::I8 | DType::U8 | DType::I4 | DType::Bool => None,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = Box<Diagnostic>;

    fn from_str(name: &str) -> Result<DType> {
        DType::parse(name)
    }
}

impl From<DType> for &'static str {
    fn from(dtype: DType) -> &'static str {
        dtype.name()
    }
}

impl TryFrom<String> for DType {
    type Error = Box<Diagnostic>;

    fn try_from(name: String) -> Result<DType> {
        DType::parse(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_in_text_and_in_json() {
        for dtype in DType::ALL {
            assert_eq!(dtype.to_string().parse::<DType>().unwrap(), dtype);
            let json = serde_json::to_string(&dtype).unwrap();
            assert_eq!(json, format!("\"{}\"", dtype.name()));
            assert_eq!(serde_json::from_str::<DType>(&json).unwrap(), dtype);
        }
        assert_eq!(format!("{:>6}|", DType::F32), "   f32|");
    }

    #[test]
    fn an_unknown_name_names_the_nearest() {
        let fault = DType::parse("bf61").unwrap_err();
        assert_eq!(fault.code, "dtype/unknown");
        assert_eq!(fault.help.as_deref(), Some("did you mean `bf16`?"));
        let fault = serde_json::from_str::<DType>("\"f8e4m3\"").unwrap_err();
        assert!(fault.to_string().contains("f8e4m3fn"), "{fault}");
    }

    #[test]
    fn storage_packs_i4_and_refuses_overflow() {
        assert_eq!(DType::I4.storage_bytes(0), Some(0));
        assert_eq!(DType::I4.storage_bytes(5), Some(3));
        assert_eq!(DType::I4.storage_bytes(usize::MAX), Some(usize::MAX / 2 + 1));
        assert_eq!(DType::Bool.storage_bytes(5), Some(5));
        assert_eq!(DType::BF16.storage_bytes(5), Some(10));
        assert_eq!(DType::F64.storage_bytes(usize::MAX / 8), Some(usize::MAX / 8 * 8));
        assert_eq!(DType::F64.storage_bytes(usize::MAX / 8 + 1), None);
    }

    #[test]
    fn the_facts_of_the_formats() {
        let facts = |d: DType| {
            (d.mantissa_bits(), d.unit_roundoff(), d.min_normal(), d.min_subnormal(), d.max_finite())
        };
        assert_eq!(facts(DType::F64), (53, 2f64.powi(-53), f64::MIN_POSITIVE, f64::from_bits(1), f64::MAX));
        assert_eq!(
            facts(DType::F32),
            (24, 2f64.powi(-24), f32::MIN_POSITIVE.into(), f32::from_bits(1).into(), f32::MAX.into())
        );
        assert_eq!(
            facts(DType::BF16),
            (8, 2f64.powi(-8), 2f64.powi(-126), 2f64.powi(-133), 1.9921875 * 2f64.powi(127))
        );
        assert_eq!(facts(DType::F16), (11, 2f64.powi(-11), 2f64.powi(-14), 2f64.powi(-24), 65504.0));
        assert_eq!(facts(DType::F8E4M3), (4, 0.0625, 2f64.powi(-6), 2f64.powi(-9), 448.0));
        assert_eq!(facts(DType::F8E5M2), (3, 0.125, 2f64.powi(-14), 2f64.powi(-16), 57344.0));
        assert_eq!(facts(DType::U8), (8, 0.0, 1.0, 1.0, 255.0));
        assert_eq!(facts(DType::I4), (3, 0.0, 1.0, 1.0, 7.0));
        let finite_only: Vec<_> =
            DType::ALL.into_iter().filter(|d| d.is_float() && !d.has_infinity()).collect();
        assert_eq!(finite_only, [DType::F8E4M3]);
    }
}
