//! Input values: tame, exact, and adversarial.

use tilewright_dtype::DType;

/// What inputs are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Numbers of ordinary size.
    Ordinary,
    /// Small whole numbers, which most ops compute exactly.
    Whole,
    /// Zeros, denormals, huge numbers, infinities and NaN among ordinary ones.
    Wild,
    /// Any bit pattern.
    Bits,
}

impl Family {
    /// Every family.
    pub const ALL: &'static [Family] = &[Family::Ordinary, Family::Whole, Family::Wild, Family::Bits];

    /// A value of `dtype`.
    pub fn value(self, dtype: DType, random: &mut Random) -> f64 {
        let uniform = (random.next() >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0;
        let whole = ((random.next() >> 32) % 9) as f64 - 4.0;
        let x = match self {
            Family::Whole => whole,
            Family::Bits => return dtype.decode(random.next()),
            _ if !dtype.is_float() => (uniform * dtype.max_finite().min(1000.0)).trunc(),
            Family::Ordinary => uniform * 2.0,
            Family::Wild => match random.next() >> 59 {
                0 => 0.0,
                1 => -0.0,
                2 => dtype.min_subnormal() * whole,
                3 => dtype.max_finite() * uniform,
                4 => dtype.max_finite(),
                5 => f64::INFINITY.copysign(uniform),
                6 => f64::NAN,
                7 => dtype.min_normal() * whole,
                8..12 => uniform * 100.0,
                _ => uniform,
            },
        };
        dtype.round(x)
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): the same inputs from the same seed, everywhere.
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// 64 random bits.
    #[allow(clippy::should_implement_trait, reason = "an endless generator is no iterator to its callers")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
