//! Binary floating-point formats as data, and the conversions that follow from the data.
//!
//! Sources: IEEE 754-2019 (binary16, 32, 64), and "OCP 8-bit Floating Point Specification (OFP8)" revision 1.0 for the
//! 8-bit formats. Conversion follows ml_dtypes, so that results agree with JAX: no saturation.

/// A binary format: sign, exponent field, and `precision - 1` stored mantissa bits.
#[derive(Debug)]
pub(crate) struct FloatFormat {
    /// Total bits.
    pub bits: u32,
    /// Significant bits, the hidden one included.
    pub precision: u32,
    /// Added to the exponent to form the exponent field; the least normal exponent is `1 - bias`.
    pub bias: i32,
    /// The greatest finite value.
    pub max_finite: f64,
    /// Whether the all-ones exponent means infinity and NaN. Where not, only the all-ones pattern is NaN.
    pub infinity: bool,
    /// The NaN that encoding yields.
    pub canonical_nan: u64,
}

pub(crate) const F64: FloatFormat = FloatFormat {
    bits: 64,
    precision: 53,
    bias: 1023,
    max_finite: f64::MAX,
    infinity: true,
    canonical_nan: 0x7FF8_0000_0000_0000,
};
pub(crate) const F32: FloatFormat = FloatFormat {
    bits: 32,
    precision: 24,
    bias: 127,
    max_finite: f32::MAX as f64,
    infinity: true,
    canonical_nan: 0x7FC0_0000,
};
pub(crate) const BF16: FloatFormat = FloatFormat {
    bits: 16,
    precision: 8,
    bias: 127,
    max_finite: 255.0 * exp2(120),
    infinity: true,
    canonical_nan: 0x7FC0,
};
pub(crate) const F16: FloatFormat = FloatFormat {
    bits: 16,
    precision: 11,
    bias: 15,
    max_finite: 65504.0,
    infinity: true,
    canonical_nan: 0x7E00,
};
pub(crate) const F8E4M3: FloatFormat =
    FloatFormat { bits: 8, precision: 4, bias: 7, max_finite: 448.0, infinity: false, canonical_nan: 0x7F };
pub(crate) const F8E5M2: FloatFormat =
    FloatFormat { bits: 8, precision: 3, bias: 15, max_finite: 57344.0, infinity: true, canonical_nan: 0x7E };

/// The values of all 8-bit patterns, by pattern.
pub(crate) static F8E4M3_VALUES: [f64; 256] = values(&F8E4M3);
/// The values of all 8-bit patterns, by pattern.
pub(crate) static F8E5M2_VALUES: [f64; 256] = values(&F8E5M2);

/// The stored mantissa bits of binary64.
const F64_MANTISSA: u32 = 52;
const F64_EXPONENT_MASK: u64 = 0x7FF << F64_MANTISSA;

impl FloatFormat {
    pub const fn unit_roundoff(&self) -> f64 {
        exp2(-(self.precision as i32))
    }

    pub const fn min_normal(&self) -> f64 {
        exp2(1 - self.bias)
    }

    pub const fn min_subnormal(&self) -> f64 {
        exp2(2 - self.bias - self.precision as i32)
    }

    /// Rounds to the nearest value of the format, ties to even; what rounds beyond the greatest finite value becomes
    /// infinity, or NaN where the format has none.
    ///
    /// Adding a power of two `c` whose own `f64` spacing is the format's spacing at `x` makes the `f64` adder round
    /// there, and subtracting `c` is exact. Every choice is a select, so loops over this vectorise. Not for [`F64`],
    /// where `c` would overflow.
    #[inline(always)]
    pub fn round(&self, x: f64) -> f64 {
        // From the first binade beyond the format on, everything overflows alike; the bound keeps `c` finite.
        let magnitude = lesser(x.abs(), self.beyond());
        let binade = f64::from_bits(magnitude.to_bits() & F64_EXPONENT_MASK);
        let c = greater(binade, self.min_normal()) * exp2(F64_MANTISSA as i32 + 1 - self.precision as i32);
        let rounded = (magnitude + c) - c;
        let overflowed = if self.infinity { f64::INFINITY } else { f64::NAN };
        let ranged = if rounded > self.max_finite { overflowed } else { rounded };
        if x.is_nan() { f64::NAN } else { ranged.copysign(x) }
    }

    /// The bits of `x`, which must be a value of the format or NaN. Not for [`F64`].
    #[inline(always)]
    pub fn encode_exact(&self, x: f64) -> u64 {
        // Infinity has the pattern of the first power of two beyond the format.
        let magnitude = lesser(x.abs(), self.beyond());
        let normal = (magnitude.to_bits() >> self.dropped()).wrapping_sub(self.rebias());
        let subnormal = (magnitude + self.subnormal_shift()).to_bits() & self.magnitude_mask();
        let pattern = if magnitude < self.min_normal() { subnormal } else { normal };
        let sign = (x.to_bits() >> 63) << (self.bits - 1);
        if x.is_nan() { self.canonical_nan } else { sign | pattern }
    }

    /// The value of a bit pattern; bits above the format's width are ignored. Not for [`F64`].
    #[inline(always)]
    pub const fn decode(&self, bits: u64) -> f64 {
        let pattern = bits & self.magnitude_mask();
        let normal = f64::from_bits((pattern + self.rebias()) << self.dropped());
        let shift = self.subnormal_shift();
        let subnormal = f64::from_bits(shift.to_bits() | pattern) - shift;
        let finite = if pattern >> (self.precision - 1) == 0 { subnormal } else { normal };
        let magnitude = if !self.infinity {
            if pattern == self.magnitude_mask() { f64::NAN } else { finite }
        } else if pattern > self.exponent_mask() {
            f64::NAN
        } else if pattern == self.exponent_mask() {
            f64::INFINITY
        } else {
            finite
        };
        f64::from_bits(magnitude.to_bits() | (bits >> (self.bits - 1) & 1) << 63)
    }

    /// The distance between neighbouring values at `x`: that of `x`'s binade, of the subnormals below it, and of the
    /// greatest binade beyond it. NaN for infinities and NaN.
    pub fn ulp(&self, x: f64) -> f64 {
        if !x.is_finite() {
            return f64::NAN;
        }
        let magnitude = x.abs().clamp(self.min_normal(), self.max_finite);
        exp2(exponent_of(magnitude) + 1 - self.precision as i32)
    }

    /// The first power of two beyond the format.
    const fn beyond(&self) -> f64 {
        exp2(exponent_of(self.max_finite) + 1)
    }

    /// The power of two above which the low bits of an `f64` count the format's subnormal steps.
    const fn subnormal_shift(&self) -> f64 {
        exp2(F64_MANTISSA as i32 + 2 - self.bias - self.precision as i32)
    }

    const fn magnitude_mask(&self) -> u64 {
        (1 << (self.bits - 1)) - 1
    }

    const fn exponent_mask(&self) -> u64 {
        self.magnitude_mask() >> (self.precision - 1) << (self.precision - 1)
    }

    /// Mantissa bits that binary64 has beyond the format's.
    const fn dropped(&self) -> u32 {
        F64.precision - self.precision
    }

    /// What an exponent field of binary64 exceeds the format's by, in place above the format's mantissa.
    const fn rebias(&self) -> u64 {
        ((F64.bias - self.bias) as u64) << (self.precision - 1)
    }
}

/// 2^`e` exactly, for any `e` that binary64 holds, subnormals included.
pub(crate) const fn exp2(e: i32) -> f64 {
    let least_normal = 1 - F64.bias;
    if e < least_normal {
        f64::from_bits(1 << (e - least_normal + F64_MANTISSA as i32))
    } else {
        f64::from_bits(((e + F64.bias) as u64) << F64_MANTISSA)
    }
}

/// The lesser of `x` and `bound`, `bound` where `x` is NaN: one instruction, which `f64::min` is not.
#[inline(always)]
fn lesser(x: f64, bound: f64) -> f64 {
    if x < bound { x } else { bound }
}

/// The greater of `x` and `bound`, `bound` where `x` is NaN.
#[inline(always)]
fn greater(x: f64, bound: f64) -> f64 {
    if x > bound { x } else { bound }
}

/// `floor(log2(x))` of a positive normal number.
const fn exponent_of(x: f64) -> i32 {
    (x.to_bits() >> F64_MANTISSA) as i32 - F64.bias
}

const fn values(format: &FloatFormat) -> [f64; 256] {
    let mut values = [0.0; 256];
    let mut bits = 0;
    while bits < 256 {
        values[bits] = format.decode(bits as u64);
        bits += 1;
    }
    values
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn powers_of_two_are_exact() {
        for e in -1074..1024 {
            assert_eq!(exp2(e), 2f64.powi(e / 2) * 2f64.powi(e - e / 2), "2^{e}");
        }
    }

    proptest! {
        /// The tests of the narrow formats cannot enumerate `f32`; there the hardware is the reference.
        #[test]
        fn the_generic_conversions_do_f32_as_the_hardware_does(bits: u64, e in -160i32..140) {
            let significand = f64::from_bits(bits & !F64_EXPONENT_MASK | 1023 << F64_MANTISSA);
            for x in [f64::from_bits(bits), significand * exp2(e), f64::from_bits(bits >> 32 << 32)] {
                let want = x as f32;
                let got = F32.round(x);
                prop_assert!(got.is_nan() && want.is_nan() || got.to_bits() == f64::from(want).to_bits(), "{x:e}");
                if !want.is_nan() {
                    prop_assert_eq!(F32.encode_exact(got), u64::from(want.to_bits()));
                    prop_assert_eq!(F32.decode(want.to_bits().into()).to_bits(), got.to_bits());
                }
            }
        }
    }
}
