//! One multiplication of a broadcast unit of A with a vector of units of B, in the CPU's own instruction.

use crate::features::Isa;
use crate::runtime::{Body, Runtime, mask};

use super::{MicroSpec, Unit};

/// `sum + unit · vector`, lane by lane.
pub(super) fn multiply_add(
    rt: &mut Runtime,
    body: &mut Body,
    spec: &MicroSpec,
    unit: &str,
    vector: &str,
    sum: &str,
) -> String {
    let n = spec.lanes();
    let bits = spec.features.vector_bits();
    match spec.unit {
        Unit::F32 => {
            // `fmuladd` fuses where the CPU can and never calls a library.
            let f = format!("<{n} x float>");
            rt.declare(format!("declare {f} @llvm.fmuladd.v{n}f32({f}, {f}, {f})"));
            body.bind(format!("call {f} @llvm.fmuladd.v{n}f32({f} {unit}, {f} {vector}, {f} {sum})"))
        }
        Unit::Bf16x2 => {
            let (f, h) = (format!("<{n} x float>"), format!("<{} x bfloat>", 2 * n));
            rt.declare(format!("declare {f} @llvm.x86.avx512bf16.dpbf16ps.{bits}({f}, {h}, {h})"));
            let a = body.bind(format!("bitcast <{n} x i32> {unit} to {h}"));
            let b = body.bind(format!("bitcast <{n} x i32> {vector} to {h}"));
            body.bind(format!("call {f} @llvm.x86.avx512bf16.dpbf16ps.{bits}({f} {sum}, {h} {a}, {h} {b})"))
        }
        Unit::I8x4 => {
            let i = format!("<{n} x i32>");
            rt.declare(format!("declare {i} @llvm.x86.avx512.vpdpbusd.{bits}({i}, {i}, {i})"));
            let (unsigned, signed) = if spec.b_unsigned { (vector, unit) } else { (unit, vector) };
            body.bind(format!(
                "call {i} @llvm.x86.avx512.vpdpbusd.{bits}({i} {sum}, {i} {unsigned}, {i} {signed})"
            ))
        }
        Unit::I16x2 => {
            let (i, h) = (format!("<{n} x i32>"), format!("<{} x i16>", 2 * n));
            let a = body.bind(format!("bitcast <{n} x i32> {unit} to {h}"));
            let b = body.bind(format!("bitcast <{n} x i32> {vector} to {h}"));
            let product = match pair_intrinsic(spec.features.isa) {
                Some(f) => {
                    rt.declare(format!("declare {i} {f}({h}, {h})"));
                    body.bind(format!("call {i} {f}({h} {a}, {h} {b})"))
                }
                None => pair_products(body, n, &a, &b),
            };
            body.bind(format!("add {i} {sum}, {product}"))
        }
    }
}

/// The instruction that multiplies pairs of i16 and adds their products. LLVM does not find it in the portable form next to
/// a broadcast, so the baseline of x86-64 names it too.
fn pair_intrinsic(isa: Isa) -> Option<&'static str> {
    match isa {
        Isa::Baseline if cfg!(target_arch = "x86_64") => Some("@llvm.x86.sse2.pmadd.wd"),
        Isa::Baseline => None,
        Isa::Avx2 => Some("@llvm.x86.avx2.pmadd.wd"),
        Isa::Avx512 => Some("@llvm.x86.avx512.pmaddw.d.512"),
    }
}

/// `a[2i]·b[2i] + a[2i+1]·b[2i+1]` in i32, portably.
fn pair_products(body: &mut Body, n: usize, a: &str, b: &str) -> String {
    let (i, h, w) = (format!("<{n} x i32>"), format!("<{} x i16>", 2 * n), format!("<{} x i32>", 2 * n));
    let a = body.bind(format!("sext {h} {a} to {w}"));
    let b = body.bind(format!("sext {h} {b} to {w}"));
    let products = body.bind(format!("mul nsw {w} {a}, {b}"));
    let mut pick = |odd: usize| {
        let order = mask((0..n).map(|l| 2 * l + odd));
        body.bind(format!("shufflevector {w} {products}, {w} poison, {order}"))
    };
    let (even, odd) = (pick(0), pick(1));
    body.bind(format!("add {i} {even}, {odd}"))
}
