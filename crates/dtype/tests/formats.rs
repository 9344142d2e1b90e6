//! The float formats against independent definitions: every bit pattern of the 8- and 16-bit types, and rounding
//! against a search among all values.

#![allow(clippy::panic, reason = "helpers of tests")]

use proptest::prelude::*;
use tilewright_dtype::DType;

/// Exponent bits and stored mantissa bits of the types small enough to enumerate.
const SMALL: [(DType, u32, u32); 4] =
    [(DType::BF16, 8, 7), (DType::F16, 5, 10), (DType::F8E4M3, 4, 3), (DType::F8E5M2, 5, 2)];

/// The value of a pattern, by the formula of the standard.
fn defined_value(dtype: DType, exponent_bits: u32, mantissa_bits: u32, pattern: u64) -> f64 {
    let field = |shift: u32, width: u32| pattern >> shift & ((1 << width) - 1);
    let sign = if field(exponent_bits + mantissa_bits, 1) == 1 { -1.0 } else { 1.0 };
    let (exponent, mantissa) = (field(mantissa_bits, exponent_bits), field(0, mantissa_bits));
    let (top_exponent, top_mantissa) = ((1 << exponent_bits) - 1, (1 << mantissa_bits) - 1);
    let bias = (1 << (exponent_bits - 1)) - 1;
    let fraction = mantissa as f64 / 2f64.powi(mantissa_bits as i32);
    match (exponent, mantissa) {
        (e, m) if dtype == DType::F8E4M3 && e == top_exponent && m == top_mantissa => f64::NAN,
        (e, 0) if dtype != DType::F8E4M3 && e == top_exponent => sign * f64::INFINITY,
        (e, _) if dtype != DType::F8E4M3 && e == top_exponent => f64::NAN,
        (0, _) => sign * fraction * 2f64.powi(1 - bias),
        (e, _) => sign * (1.0 + fraction) * 2f64.powi(e as i32 - bias),
    }
}

/// Rounds by search: `positive` are the finite values from 0 up, so that the index is the pattern, and then the value
/// that would follow if the format went on.
struct Search {
    dtype: DType,
    positive: Vec<f64>,
}

impl Search {
    fn new(dtype: DType, exponent_bits: u32, mantissa_bits: u32) -> Search {
        let sign = 1u64 << (exponent_bits + mantissa_bits);
        let mut positive: Vec<f64> = (0..sign)
            .map(|pattern| defined_value(dtype, exponent_bits, mantissa_bits, pattern))
            .filter(|x| x.is_finite())
            .collect();
        let [.., before, last] = positive[..] else { panic!("no values") };
        positive.push(last + (last - before));
        Search { dtype, positive }
    }

    fn all() -> Vec<Search> {
        SMALL.into_iter().map(|(d, e, m)| Search::new(d, e, m)).collect()
    }

    fn round(&self, x: f64) -> f64 {
        let overflowed = if self.dtype == DType::F8E4M3 { f64::NAN } else { f64::INFINITY };
        let magnitude = x.abs();
        let above = self.positive.partition_point(|v| *v < magnitude);
        let index = if x.is_nan() {
            return f64::NAN;
        } else if above == self.positive.len() {
            return overflowed.copysign(x);
        } else if self.positive[above] == magnitude {
            above
        } else {
            let midpoint = (self.positive[above - 1] + self.positive[above]) / 2.0;
            let to_even = above - above % 2;
            match magnitude.total_cmp(&midpoint) {
                std::cmp::Ordering::Less => above - 1,
                std::cmp::Ordering::Equal => to_even,
                std::cmp::Ordering::Greater => above,
            }
        };
        let rounded = if index == self.positive.len() - 1 { overflowed } else { self.positive[index] };
        rounded.copysign(x)
    }

    #[track_caller]
    fn check(&self, x: f64) {
        let (got, want) = (self.dtype.round(x), self.round(x));
        assert!(same(got, want), "{}: {x:e} ({:#x}) gives {got:e}, not {want:e}", self.dtype, x.to_bits());
    }
}

/// Whether two values are the same number, sign of zero included, or both NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

#[test]
fn every_pattern_decodes_as_defined_and_encodes_back() {
    for (dtype, exponent_bits, mantissa_bits) in SMALL {
        let nan = dtype.encode(f64::NAN);
        assert!(dtype.decode(nan).is_nan());
        for pattern in 0..1u64 << dtype.bits() {
            let value = dtype.decode(pattern);
            let want = defined_value(dtype, exponent_bits, mantissa_bits, pattern);
            assert!(same(value, want), "{dtype} {pattern:#x} gives {value:e}, not {want:e}");
            assert_eq!(dtype.encode(value), if value.is_nan() { nan } else { pattern }, "{dtype} {value:e}");
            assert!(same(dtype.round(value), value), "{dtype} {value:e}");
        }
    }
}

#[test]
fn rounding_is_right_at_every_midpoint_and_beside_it() {
    for search in Search::all() {
        for pair in search.positive.windows(2) {
            let midpoint = (pair[0] + pair[1]) / 2.0;
            for x in [pair[0], midpoint, pair[1]] {
                for x in [x.next_down(), x, x.next_up()] {
                    search.check(x);
                    search.check(-x);
                }
            }
        }
        let extremes =
            [f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), f64::NAN, 1e300, 1e-300];
        extremes.into_iter().for_each(|x| [x, -x].into_iter().for_each(|x| search.check(x)));
    }
}

#[test]
fn overflow_follows_the_format() {
    assert_eq!(DType::F32.round(3.4028235677973366e38), f64::INFINITY);
    assert_eq!(DType::F32.round(3.4028235677973362e38), DType::F32.max_finite());
    assert_eq!(DType::F16.round(65519.999), 65504.0);
    assert_eq!(DType::F16.round(-65520.0), f64::NEG_INFINITY);
    assert_eq!(DType::F8E5M2.round(61439.9), 57344.0);
    assert_eq!(DType::F8E5M2.round(61440.0), f64::INFINITY);
    assert_eq!(DType::F8E4M3.round(464.0), 448.0);
    assert!(DType::F8E4M3.round(464.0f64.next_up()).is_nan());
    assert!(DType::F8E4M3.round(f64::NEG_INFINITY).is_nan());
    assert_eq!(DType::F8E4M3.encode(1e9), 0x7F);
    assert_eq!(DType::F8E5M2.encode(-1e9), 0xFC);
}

#[test]
fn ulp_is_the_gap_to_the_next_value() {
    for search in Search::all() {
        let dtype = search.dtype;
        for pair in search.positive.windows(2) {
            assert_eq!(dtype.ulp(pair[0]), pair[1] - pair[0], "{dtype} at {:e}", pair[0]);
            let between = pair[0] + (pair[1] - pair[0]) * 0.75;
            assert_eq!(dtype.ulp(-between), pair[1] - pair[0], "{dtype} at {between:e}");
        }
        assert_eq!(dtype.ulp(1e300), dtype.ulp(dtype.max_finite()));
        assert!(dtype.ulp(f64::INFINITY).is_nan() && dtype.ulp(f64::NAN).is_nan());
    }
    assert_eq!(DType::F64.ulp(1.0), f64::EPSILON);
    assert_eq!(DType::F64.ulp(0.0), f64::from_bits(1));
    assert_eq!(DType::F64.ulp(f64::MAX), f64::MAX - f64::MAX.next_down());
    assert_eq!(DType::F32.ulp(1.0), f64::from(f32::EPSILON));
    assert_eq!(DType::I8.ulp(77.0), 1.0);
}

#[test]
fn ulp_distance_counts_steps() {
    for search in Search::all() {
        let dtype = search.dtype;
        let finite = &search.positive[..search.positive.len() - 1];
        for (i, x) in finite.iter().enumerate() {
            assert_eq!(dtype.ulp_distance(0.0, *x), i as u64);
            assert_eq!(dtype.ulp_distance(*x, -finite[i / 2]), (i + i / 2) as u64);
        }
        let beyond = dtype.ulp_distance(dtype.max_finite(), f64::INFINITY);
        assert_eq!(beyond, if dtype.has_infinity() { 1 } else { u64::MAX }, "{dtype}");
    }
    for dtype in DType::ALL {
        assert_eq!(dtype.ulp_distance(0.0, -0.0), 0);
        if dtype.is_float() {
            assert_eq!(dtype.ulp_distance(f64::NAN, -f64::NAN), 0);
            assert_eq!(dtype.ulp_distance(f64::NAN, 1.0), u64::MAX);
        }
    }
    assert_eq!(DType::F64.ulp_distance(f64::MAX, f64::MIN), 2 * f64::MAX.to_bits());
    assert_eq!(DType::F64.ulp_distance(1.0, 1.0f64.next_down()), 1);
    assert_eq!(DType::F32.ulp_distance(1.0, 1.0 + 2f64.powi(-23)), 1);
    assert_eq!(DType::I4.ulp_distance(-8.0, 7.0), 15);
}

#[test]
fn integers_truncate_saturate_and_wrap() {
    for dtype in [DType::I32, DType::I8, DType::U8, DType::I4] {
        let (min, max) = dtype.int_range().unwrap();
        let cases = [
            (f64::NAN, 0),
            (f64::INFINITY, max),
            (f64::NEG_INFINITY, min),
            (max as f64 + 0.9, max),
            (max as f64 + 1.0, max),
            (min as f64 - 1.0, min),
            (2.9, 2),
            (-2.9, (-2).max(min)),
            (-0.9, 0),
        ];
        for (x, want) in cases {
            assert_eq!(dtype.cast_to_int(x), want, "{dtype} {x}");
            assert_eq!(dtype.decode(dtype.encode(x)), want as f64, "{dtype} {x}");
        }
        assert_eq!(dtype.wrap(max + 1), min, "{dtype}");
        assert_eq!(dtype.wrap(min - 1), max, "{dtype}");
        assert_eq!(dtype.wrap(max), max, "{dtype}");
        assert_eq!(dtype.wrap(min), min, "{dtype}");
        for pattern in 0..1u64 << dtype.bits().min(8) {
            assert_eq!(dtype.encode(dtype.decode(pattern)), pattern, "{dtype}");
        }
    }
    assert_eq!([0.0, -0.0, 0.5, f64::NAN].map(|x| DType::Bool.cast_to_int(x)), [0, 0, 1, 1]);
    assert_eq!(DType::Bool.wrap(2), 1);
    assert_eq!(DType::F32.cast_to_int(1e300), i64::MAX);
}

/// Any `f64`, with those whose exponents matter to the narrow formats more often.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        (any::<u64>(), -160i32..160).prop_map(|(bits, e)| {
            let significand = f64::from_bits(bits & !(0x7FF << 52) | 1023 << 52);
            significand * 2f64.powi(e)
        }),
        (any::<u64>(), -30i32..20).prop_map(|(bits, e)| {
            let significand = f64::from_bits(bits & !(0x7FF << 52) | 1023 << 52);
            significand * 2f64.powi(e)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn rounding_finds_the_nearest_value(xs in prop::collection::vec(number(), 256)) {
        for search in Search::all() {
            xs.iter().for_each(|x| search.check(*x));
        }
    }

    #[test]
    fn slices_round_as_elements_do(xs in prop::collection::vec(number(), 0..67)) {
        for dtype in DType::ALL {
            let mut rounded = xs.clone();
            dtype.round_slice(&mut rounded);
            for (x, got) in xs.iter().zip(rounded) {
                prop_assert!(same(got, dtype.round(*x)), "{dtype} {x:e}");
                prop_assert!(same(dtype.decode(dtype.encode(*x)), got) || got == 0.0, "{dtype} {x:e}");
            }
        }
    }

    #[test]
    fn f32_and_f64_are_the_language_s(xs in prop::collection::vec(number(), 256)) {
        for x in xs.into_iter().filter(|x| !x.is_nan()) {
            prop_assert_eq!(DType::F32.round(x).to_bits(), f64::from(x as f32).to_bits());
            prop_assert_eq!(DType::F32.encode(x), u64::from((x as f32).to_bits()));
            prop_assert_eq!(DType::F32.decode(u64::from((x as f32).to_bits())), f64::from(x as f32));
            prop_assert_eq!(DType::F64.encode(x), x.to_bits());
            prop_assert_eq!(DType::F64.decode(x.to_bits()).to_bits(), x.to_bits());
        }
    }

    /// From `f32`, whose conversions in `half` round once; those from `f64` look at the upper 32 bits alone.
    #[test]
    fn bf16_and_f16_agree_with_half(patterns in prop::collection::vec(any::<u32>(), 256)) {
        for x in patterns.into_iter().map(f32::from_bits).filter(|x| !x.is_nan()) {
            prop_assert_eq!(DType::BF16.encode(x.into()), u64::from(half::bf16::from_f32(x).to_bits()));
            prop_assert_eq!(DType::F16.encode(x.into()), u64::from(half::f16::from_f32(x).to_bits()));
        }
    }
}
