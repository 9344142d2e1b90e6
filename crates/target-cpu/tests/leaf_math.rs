//! Vector math against f64 functions: every f32 exponent and sign, special values, the edges of the reductions.
#![allow(unsafe_code, reason = "calls the compiled functions")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a fault of the run ends it")]

mod leaf_common;

use std::f32::consts::{FRAC_1_SQRT_2, SQRT_2};

use leaf_common::accuracy::{Map, module, worst};
use leaf_common::{clang, levels, load};
use tilewright_dtype::DType;
use tilewright_target_cpu::math::Math;

/// A prime distance between patterns: every exponent, and all low bits over the run.
const STRIDE: usize = 8_209;

/// Where specials, overflow, underflow and the joints between formulas lie, with the patterns next to them.
fn edges() -> Vec<u32> {
    let mut points =
        vec![0.0f32, f32::MIN_POSITIVE, f32::from_bits(1), 1.0, f32::INFINITY, f32::MAX, 2.0, 0.5];
    points.extend([88.722_84, 89.0, 87.336_54, 103.972_08, 104.5, 103.278_93, 0.346_573_6]);
    points.extend([0.625, 9.02, 9.010_914, 0.921_875, 4.0, 3.919_206, FRAC_1_SQRT_2, SQRT_2]);
    points.extend([8_388_608.0, 8_388_607.5, 4_194_304.5, 2.5, 1.5, 3.402_823_5e38, 2.938_736e-39]);
    let mut patterns = Vec::new();
    for point in points {
        let bits = point.to_bits();
        for near in bits.saturating_sub(40)..=bits + 40 {
            patterns.extend([near, near | 1 << 31]);
        }
    }
    patterns.extend([
        0x7fc0_0000,
        0xffc0_0000,
        0x7f80_0001,
        0xff80_0001,
        0x7fff_ffff,
        0xffff_ffff,
        0x7fc0_01ff,
    ]);
    patterns
}

#[test]
fn errors_stay_within_the_stated_accuracy() {
    let Some(clang) = clang() else { return };
    let edges = edges();
    for features in levels() {
        let full = features.lanes(DType::F32);
        // A whole register, and a width for which there is no target instruction to scale by a power of two.
        for lanes in [full, 2 * full] {
            let library = load(clang, &module(features, lanes), features);
            for op in Math::ALL {
                // SAFETY: `module` exports this name with this type.
                let map = unsafe { *library.get::<Map>(format!("map_{}", op.name()).as_bytes()).unwrap() };
                let sample = (0..=u32::MAX).step_by(STRIDE).chain(edges.iter().copied());
                let (error, x, y) = worst(op, map, sample);
                assert!(
                    error <= op.fact().max_ulp,
                    "{features} {lanes} lanes: {} of {x:e} ({:#010x}) is {y:e}, {error:.3} ulp off",
                    op.name(),
                    x.to_bits()
                );
            }
        }
    }
}
