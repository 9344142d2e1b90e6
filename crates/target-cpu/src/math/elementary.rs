//! The elementary functions, each from its argument to its result in one list of steps.

use crate::features::Isa;

use super::lanes::Lanes;

/// ln 2 in two parts: the first has 15 significant bits, so that its product with an exponent is exact.
const LN2_HIGH: f32 = f32::from_bits(0x3f31_7200);
const LN2_LOW: f32 = 1.428_606_8e-6;

/// 1.5 · 2^23: a sum with it has its last place at 1, so adding it rounds to an integer, which is then in the low bits.
const ROUND: f32 = 12_582_912.0;

/// `(e^r - 1 - r) / r²` on `|r| ≤ ½ ln 2`; relative error of e^r 2^-28.3.
const EXP: [f32; 5] = [
    f32::from_bits(0x3eff_fffe),
    f32::from_bits(0x3e2a_aa49),
    f32::from_bits(0x3d2a_ac5a),
    f32::from_bits(0x3c09_1cd0),
    f32::from_bits(0x3ab5_24b0),
];

/// `(ln(1+f) - f + f²/2) / f³` on `√½ ≤ 1 + f < √2`; relative error of ln(1+f) 2^-27.4.
const LOG: [f32; 8] = [
    f32::from_bits(0x3eaa_aaaa),
    f32::from_bits(0xbe80_0113),
    f32::from_bits(0x3e4c_d00d),
    f32::from_bits(0xbe2a_3944),
    f32::from_bits(0x3e11_6cb7),
    f32::from_bits(0xbe06_c152),
    f32::from_bits(0x3e02_ae75),
    f32::from_bits(0xbd9c_6158),
];

/// `(tanh x - x) / x³` in x² on `|x| ≤ 0.625`; relative error of tanh 2^-27.7.
const TANH: [f32; 5] = [
    f32::from_bits(0xbeaa_aa99),
    f32::from_bits(0x3e08_837e),
    f32::from_bits(0xbd5c_1b9c),
    f32::from_bits(0x3ca9_03dc),
    f32::from_bits(0xbbba_b0cd),
];

/// `erf x / x - 1` in x² on `|x| ≤ 0.925`; relative error of erf 2^-30.
const ERF: [f32; 7] = [
    f32::from_bits(0x3e03_75d4),
    f32::from_bits(0xbec0_93a0),
    f32::from_bits(0x3de7_16b2),
    f32::from_bits(0xbcdc_008b),
    f32::from_bits(0x3baa_24da),
    f32::from_bits(0xba53_01f9),
    f32::from_bits(0x38a7_a466),
];

/// `-ln erfc x` on `0.92 ≤ x ≤ 4`; error of `1 - exp(-P)` relative to erf 2^-29.3.
const ERFC: [f32; 7] = [
    f32::from_bits(0x394d_2bd5),
    f32::from_bits(0x3f90_57ad),
    f32::from_bits(0x3f23_1e60),
    f32::from_bits(0x3dd4_da12),
    f32::from_bits(0xbcb6_151f),
    f32::from_bits(0x3b47_7045),
    f32::from_bits(0xb94d_7339),
];

/// e^x.
pub(super) fn exp(l: &mut Lanes, x: &str) -> String {
    // Beyond these the result is infinite or rounds to zero whatever x is.
    let x = l.at_most(x, 89.0);
    let x = l.at_least(&x, -104.5);
    let Reduced { power, count, sum } = exp_reduced(l, &x);
    if let Some(result) = scale_by(l, &power, &count) {
        return result;
    }
    // 2^count may be out of range where the product is not: scale by two halves. The first product is exact.
    let magic = ROUND.to_bits() as i32;
    let bits = l.bits(&sum);
    let whole = l.int_const("sub", &bits, magic);
    let half = l.int_const("ashr", &whole, 1);
    let rest = l.int("sub", &whole, &half);
    let first = power_of_two(l, &half);
    let second = power_of_two(l, &rest);
    let result = l.op("fmul", &power, &first);
    l.op("fmul", &result, &second)
}

/// ln x.
pub(super) fn log(l: &mut Lanes, x: &str) -> String {
    // Subnormals are scaled up first.
    let min_normal = l.float(f32::MIN_POSITIVE);
    let small = l.compare("olt", x, &min_normal);
    let scale = l.float(8_388_608.0);
    let scaled = l.op("fmul", x, &scale);
    let normal = l.select(&small, &scaled, x);
    let bits = l.bits(&normal);
    let from_root_half = l.int_const("sub", &bits, 0x3f35_04f3);
    let exponent = l.int_const("ashr", &from_root_half, 23);
    let shifted = l.int_const("shl", &exponent, 23);
    let mantissa = l.int("sub", &bits, &shifted);
    let mantissa = l.float_of_bits(&mantissa);
    let one = l.float(1.0);
    let f = l.op("fsub", &mantissa, &one);
    let e = l.float_of_int(&exponent);
    let bias = l.float(-23.0);
    let lowered = l.op("fadd", &e, &bias);
    let e = l.select(&small, &lowered, &e);

    let square = l.op("fmul", &f, &f);
    let p = l.polynomial(&f, &LOG);
    let cube = l.op("fmul", &square, &f);
    let low = l.float(LN2_LOW);
    let y = l.op("fmul", &e, &low);
    let y = l.mul_add(&cube, &p, &y);
    let minus_half = l.float(-0.5);
    let y = l.mul_add(&square, &minus_half, &y);
    let y = l.op("fadd", &f, &y);
    let high = l.float(LN2_HIGH);
    let y = l.mul_add(&e, &high, &y);

    let infinity = l.float(f32::INFINITY);
    let is_infinite = l.compare("oeq", x, &infinity);
    let y = l.select(&is_infinite, x, &y);
    let is_zero = l.compare("oeq", x, "zeroinitializer");
    let (minus_infinity, nan) = (l.float(f32::NEG_INFINITY), l.float(f32::NAN));
    let outside = l.select(&is_zero, &minus_infinity, &nan);
    let inside = l.compare("ogt", x, "zeroinitializer");
    l.select(&inside, &y, &outside)
}

/// tanh x.
pub(super) fn tanh(l: &mut Lanes, x: &str) -> String {
    let square = l.op("fmul", x, x);
    let p = l.polynomial(&square, &TANH);
    let cube = l.op("fmul", &square, x);
    let near = l.mul_add(&cube, &p, x);

    // From 9.02 on tanh rounds to 1.
    let magnitude = l.intrinsic("fabs", &[x]);
    let bounded = l.at_most(&magnitude, 9.02);
    let double = l.op("fadd", &bounded, &bounded);
    let e = exp_normal(l, &double);
    let (one, minus_two) = (l.float(1.0), l.float(-2.0));
    let denominator = l.op("fadd", &e, &one);
    let quotient = l.op("fdiv", &minus_two, &denominator);
    let far = l.op("fadd", &quotient, &one);

    let limit = l.float(0.625);
    let is_near = l.compare("olt", &magnitude, &limit);
    let result = l.select(&is_near, &near, &far);
    // The sum that makes `near` loses the sign of -0.
    l.intrinsic("copysign", &[&result, x])
}

/// erf x.
pub(super) fn erf(l: &mut Lanes, x: &str) -> String {
    let square = l.op("fmul", x, x);
    let p = l.polynomial(&square, &ERF);
    let near = l.mul_add(x, &p, x);

    // From 4 on erf rounds to 1.
    let magnitude = l.intrinsic("fabs", &[x]);
    let bounded = l.at_most(&magnitude, 4.0);
    let p = l.polynomial(&bounded, &ERFC);
    let zero = l.float(-0.0);
    let negative = l.op("fsub", &zero, &p);
    let e = exp_normal(l, &negative);
    let one = l.float(1.0);
    let far = l.op("fsub", &one, &e);
    let far = l.intrinsic("copysign", &[&far, x]);

    let limit = l.float(0.921_875);
    let is_near = l.compare("olt", &magnitude, &limit);
    l.select(&is_near, &near, &far)
}

/// The largest integer not above x.
pub(super) fn floor(l: &mut Lanes, x: &str) -> String {
    if l.features().isa != Isa::Baseline {
        return l.intrinsic("floor", &[x]);
    }
    let nearest = round(l, x);
    let above = l.compare("ogt", &nearest, x);
    let one = l.float(1.0);
    let below = l.op("fsub", &nearest, &one);
    let result = l.select(&above, &below, &nearest);
    l.intrinsic("copysign", &[&result, x])
}

/// The nearest integer, ties to even.
pub(super) fn round(l: &mut Lanes, x: &str) -> String {
    if l.features().isa != Isa::Baseline {
        return l.intrinsic("roundeven", &[x]);
    }
    // 2^23 pushes the fraction out; from there on every f32 is an integer.
    let magnitude = l.intrinsic("fabs", &[x]);
    let limit = l.float(8_388_608.0);
    let up = l.op("fadd", &magnitude, &limit);
    let nearest = l.op("fsub", &up, &limit);
    let has_fraction = l.compare("olt", &magnitude, &limit);
    let result = l.select(&has_fraction, &nearest, &magnitude);
    l.intrinsic("copysign", &[&result, x])
}

/// `e^x = power · 2^count`, with `sum = count + ROUND`.
struct Reduced {
    power: String,
    count: String,
    sum: String,
}

fn exp_reduced(l: &mut Lanes, x: &str) -> Reduced {
    let log2_e = l.float(std::f32::consts::LOG2_E);
    let magic = l.float(ROUND);
    let sum = l.mul_add(x, &log2_e, &magic);
    let count = l.op("fsub", &sum, &magic);
    let (high, low) = (l.float(-LN2_HIGH), l.float(-LN2_LOW));
    let r = l.mul_add(&count, &high, x);
    let r = l.mul_add(&count, &low, &r);
    let square = l.op("fmul", &r, &r);
    let p = l.polynomial(&r, &EXP);
    let p = l.mul_add(&square, &p, &r);
    let one = l.float(1.0);
    let power = l.op("fadd", &p, &one);
    Reduced { power, count, sum }
}

/// e^x where 2^count is normal: x within ±87, or NaN.
fn exp_normal(l: &mut Lanes, x: &str) -> String {
    let Reduced { power, count, sum } = exp_reduced(l, x);
    if let Some(result) = scale_by(l, &power, &count) {
        return result;
    }
    let bits = l.bits(&sum);
    let whole = l.int_const("sub", &bits, ROUND.to_bits() as i32);
    let scale = power_of_two(l, &whole);
    l.op("fmul", &power, &scale)
}

/// `x · 2^count` by `vscalefps`, rounded once, where the CPU has it for this width.
fn scale_by(l: &mut Lanes, x: &str, count: &str) -> Option<String> {
    let n = l.count();
    if l.features().isa != Isa::Avx512 || ![4, 8, 16].contains(&n) {
        return None;
    }
    let (function, v) = (format!("@llvm.x86.avx512.mask.scalef.ps.{}", n * 32), format!("<{n} x float>"));
    // Only the 512-bit form names a rounding mode; 4 is the current one.
    let (mask, mode, mode_type) = if n == 16 { ("i16", ", i32 4", ", i32") } else { ("i8", "", "") };
    Some(l.target_call(
        &format!("declare {v} {function}({v}, {v}, {v}, {mask}{mode_type})"),
        &format!("call {v} {function}({v} {x}, {v} {count}, {v} zeroinitializer, {mask} -1{mode})"),
    ))
}

/// 2^count for i32 lanes, where that is normal.
fn power_of_two(l: &mut Lanes, count: &str) -> String {
    let biased = l.int_const("add", count, 127);
    let bits = l.int_const("shl", &biased, 23);
    l.float_of_bits(&bits)
}
