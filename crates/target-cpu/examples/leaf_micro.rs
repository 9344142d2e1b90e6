//! Speed of the dot micro-kernels on blocks that lie in the second-level cache, as a fraction of the multiply-add peak
//! that is measured in the same run, with the speed of packing beside it.
//!
//! `cargo run --release --example leaf_micro [-- FEATURES …]`, for example `avx2 avx512,bf16,vnni`. `MNK=256,256,256` sets
//! the block, `SHAPE=14x2` the register tile, `DTYPE=f32` picks a row, `PACK_A=1` packs A where it could stay in place,
//! `WIDE=1` takes bf16 through f32, `GENERIC=1` withholds the strides from the emitter.
#![allow(unsafe_code, reason = "calls the code under measurement")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a fault of the run ends it")]

#[path = "../tests/leaf_common/mod.rs"]
mod leaf_common;

use std::time::Instant;

use leaf_common::{Aligned, DOT_ARGS, Dot, PACK_ARGS, Pack, clang, export, levels, load};
use tilewright_dtype::DType;
use tilewright_target_cpu::features::{CpuFeatures, Isa};
use tilewright_target_cpu::micro::{MicroSpec, Rows, Unit};
use tilewright_target_cpu::runtime::Runtime;

/// Rounds of one measurement of the peak: about a quarter of a millisecond.
const PEAK_ROUNDS: i64 = 30_000;
/// How often a dot is measured between two peaks.
const ROUNDS: usize = 1000;

fn main() {
    let Some(clang) = clang() else { return };
    let asked: Vec<CpuFeatures> =
        std::env::args().skip(1).map(|a| CpuFeatures::parse(&a).unwrap_or_else(|d| panic!("{d}"))).collect();
    let asked = if asked.is_empty() { levels() } else { asked };
    let [m, n, k] = numbers("MNK", [256, 256, 256]);
    println!("block m={m} n={n} k={k}; GOP/s count a multiply and an add as two");
    println!(
        "{:<18}{:<12}{:<8}{:>9}{:>9}{:>7}{:>9}{:>9}{:>9}",
        "cpu", "dtypes", "tile", "peak", "dot", "ratio", "B row", "B trans", "GB/s"
    );
    for features in asked {
        for (a, b) in [
            (DType::F32, DType::F32),
            (DType::BF16, DType::BF16),
            (DType::F16, DType::F16),
            (DType::F8E4M3, DType::F8E4M3),
            (DType::U8, DType::I8),
            (DType::I8, DType::I8),
        ] {
            if std::env::var("DTYPE").is_ok_and(|d| d != a.name()) {
                continue;
            }
            let mut spec = MicroSpec::new(a, b, features).unwrap();
            if std::env::var_os("WIDE").is_some() {
                spec = spec.widened();
            }
            spec = spec.for_rows(m);
            [spec.mr, spec.nr_vectors] = numbers("SHAPE", [spec.mr, spec.nr_vectors]);
            if std::env::var_os("GENERIC").is_none() {
                let in_place = spec.a_in_place() && std::env::var_os("PACK_A").is_none();
                let packed = (4, 4 * spec.mr as i64);
                let (rs, ks) = if in_place { ((k * a.bits() as usize / 8) as i64, 4) } else { packed };
                (spec.a_rs, spec.a_ks, spec.k, spec.m) = (Some(rs), Some(ks), Some(k as i64), Some(m as i64));
            }
            measure(clang, &spec, m, n, k);
        }
    }
}

fn measure(clang: &str, spec: &MicroSpec, m: usize, n: usize, k: usize) {
    let mut rt = Runtime::new(spec.features);
    let dot = rt.dot(spec);
    let pack_a = rt.pack(&spec.pack_a(Rows::Width));
    let pack_b = rt.pack(&spec.pack_b(Rows::K));
    let pack_t = rt.pack(&spec.pack_b(Rows::Width));
    let (peak, peak_ops) = peak(&mut rt, spec);
    let text = [
        rt.text(),
        export("dot", &dot, DOT_ARGS),
        export("pack_a", &pack_a, PACK_ARGS),
        export("pack_b", &pack_b, PACK_ARGS),
        export("pack_t", &pack_t, PACK_ARGS),
        peak,
    ]
    .concat();
    let library = load(clang, &text, spec.features);
    // SAFETY: the names and types are those of the text above.
    let (dot, pack_a, pack_b, pack_t, peak) = unsafe {
        (
            *library.get::<Dot>(b"dot").unwrap(),
            *library.get::<Pack>(b"pack_a").unwrap(),
            *library.get::<Pack>(b"pack_b").unwrap(),
            *library.get::<Pack>(b"pack_t").unwrap(),
            *library.get::<unsafe extern "C" fn(i64) -> f32>(b"peak").unwrap(),
        )
    };

    let a_bytes = spec.a.bits() as usize / 8;
    let b_bytes = spec.b.bits() as usize / 8;
    let a = random(m * k * a_bytes, spec.a);
    let b = random(n * k * b_bytes, spec.b);
    let panels = n.div_ceil(spec.nr());
    let b_ps = spec.b_panel_bytes(k).next_multiple_of(64);
    let mut b_packed = Aligned::new(panels * b_ps);
    let a_ts = spec.a_panel_bytes(k);
    let mut a_packed = Aligned::new(m.div_ceil(spec.mr) * a_ts);
    let c_rs = panels * spec.nr() * 4;
    let mut c = Aligned::new(m * c_rs);
    let (k64, n64, m64) = (k as i64, n as i64, m as i64);
    // SAFETY (here and below): every buffer has the size that the contract of the call names.
    unsafe {
        pack_a(
            a.ptr(),
            (k * a_bytes) as i64,
            k64,
            m64,
            k64,
            m64,
            a_packed.bytes_mut().as_mut_ptr(),
            a_ts as i64,
        )
    };
    let in_place = spec.a_in_place() && std::env::var_os("PACK_A").is_none();
    let (a_ptr, a_ts, a_rs, a_ks) = if in_place {
        let rs = (k * a_bytes) as i64;
        (a.ptr(), spec.mr as i64 * rs, rs, 4)
    } else {
        (a_packed.ptr(), a_ts as i64, 4, 4 * spec.mr as i64)
    };

    let bp = b_packed.bytes_mut().as_mut_ptr();
    let cp = c.bytes_mut().as_mut_ptr();
    let (b_rs, t_rs, ps) = ((n * b_bytes) as i64, (k * b_bytes) as i64, b_ps as i64);
    let run_peak = || {
        rate(peak_ops * PEAK_ROUNDS as f64, 1, || unsafe {
            peak(PEAK_ROUNDS);
        })
    };
    let run_dot = || {
        rate(2.0 * (m * n * k) as f64, 1, || unsafe {
            dot(a_ptr, a_ts, a_rs, a_ks, bp, ps, k64, cp, c_rs as i64, m64, n64, false);
        })
    };
    // Other work comes and goes on this core: a dot counts where the peak before and after it is the same.
    let (mut best_peak, mut best_dot, mut ratios) = (0f64, 0f64, Vec::new());
    for _ in 0..ROUNDS {
        let (before, middle, after) = (run_peak(), run_dot(), run_peak());
        best_peak = best_peak.max(before).max(after);
        best_dot = best_dot.max(middle);
        if (before / after - 1.0).abs() < 0.02 {
            ratios.push(middle / before.midpoint(after));
        }
    }
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
    let bytes = (n * k * b_bytes) as f64;
    let best = |f: &mut dyn FnMut()| (0..ROUNDS / 4).map(|_| rate(bytes, 2, &mut *f)).fold(0.0, f64::max);
    let row_major = best(&mut || unsafe { pack_b(b.ptr(), b_rs, k64, n64, k64, n64, bp, ps) });
    let transposed = best(&mut || unsafe { pack_t(b.ptr(), t_rs, k64, n64, k64, n64, bp, ps) });
    println!(
        "{:<18}{:<12}{:<8}{best_peak:>9.1}{best_dot:>9.1}{ratio:>7.3}{row_major:>9.2}{transposed:>9.2}  {}",
        spec.features.name(),
        format!("{}·{}", spec.a, spec.b),
        format!("{}x{}", spec.mr, spec.nr_vectors),
        if in_place { "A in place" } else { "A packed" },
    );
}

/// Text of `float @peak(i64 n)`: `n` rounds of independent multiply-adds on registers, and the operations of one round.
fn peak(rt: &mut Runtime, spec: &MicroSpec) -> (String, f64) {
    let sums = if spec.features.isa == Isa::Avx512 { 24 } else { 12 };
    let lanes = spec.lanes();
    let bits = spec.features.vector_bits();
    let (f, i) = (format!("<{lanes} x float>"), format!("<{lanes} x i32>"));
    let h = format!("<{} x i16>", 2 * lanes);
    let bf = format!("<{} x bfloat>", 2 * lanes);
    let ty = if spec.acc() == DType::F32 { &f } else { &i };
    let mut text = format!(
        "define float @peak(i64 %n) {{\nentry:\n  %ai = bitcast {i} zeroinitializer to {i}\n  %low = trunc i64 %n to i32\n  %seed = or i32 %low, 1065369472\n  %one = insertelement {i} poison, i32 %seed, i64 0\n  %x = shufflevector {i} %one, {i} poison, {i} zeroinitializer\n"
    );
    text += &format!(
        "  %xf = bitcast {i} %x to {f}\n  %xh = bitcast {i} %x to {h}\n  %xb = bitcast {i} %x to {bf}\n"
    );
    text += "  br label %loop\nloop:\n  %r = phi i64 [ 0, %entry ], [ %r.next, %loop ]\n";
    for s in 0..sums {
        text += &format!("  %s{s} = phi {ty} [ zeroinitializer, %entry ], [ %d{s}, %loop ]\n");
    }
    for s in 0..sums {
        text += &match spec.unit {
            Unit::F32 => {
                format!("  %d{s} = call {f} @llvm.fmuladd.v{lanes}f32({f} %s{s}, {f} %xf, {f} %xf)\n")
            }
            Unit::Bf16x2 => format!(
                "  %d{s} = call {f} @llvm.x86.avx512bf16.dpbf16ps.{bits}({f} %s{s}, {bf} %xb, {bf} %xb)\n"
            ),
            Unit::I8x4 => {
                format!("  %d{s} = call {i} @llvm.x86.avx512.vpdpbusd.{bits}({i} %s{s}, {i} %x, {i} %x)\n")
            }
            Unit::I16x2 => {
                // The product must depend on the sum, or it would leave the loop.
                let f = match spec.features.isa {
                    Isa::Baseline => "@llvm.x86.sse2.pmadd.wd",
                    Isa::Avx2 => "@llvm.x86.avx2.pmadd.wd",
                    Isa::Avx512 => "@llvm.x86.avx512.pmaddw.d.512",
                };
                rt.declare(format!("declare {i} {f}({h}, {h})"));
                format!(
                    "  %h{s} = bitcast {i} %s{s} to {h}\n  %p{s} = call {i} {f}({h} %h{s}, {h} %xh)\n  %d{s} = add {i} %p{s}, %x\n"
                )
            }
        };
    }
    text += "  %r.next = add i64 %r, 1\n  %more = icmp ult i64 %r.next, %n\n  br i1 %more, label %loop, label %done\ndone:\n";
    let mut total = "%d0".to_string();
    let add = if spec.acc() == DType::F32 { "fadd" } else { "add" };
    for s in 1..sums {
        text += &format!("  %t{s} = {add} {ty} {total}, %d{s}\n");
        total = format!("%t{s}");
    }
    text += &format!(
        "  %tf = bitcast {ty} {total} to {f}\n  %out = extractelement {f} %tf, i64 0\n  ret float %out\n}}\n"
    );
    (text, (sums * lanes * spec.group() * 2) as f64)
}

/// Billions of operations a second over `repeats` runs of `ops` each.
fn rate(ops: f64, repeats: usize, mut run: impl FnMut()) -> f64 {
    run();
    let start = Instant::now();
    for _ in 0..repeats {
        run();
    }
    ops * repeats as f64 / start.elapsed().as_secs_f64() * 1e-9
}

fn random(bytes: usize, dtype: DType) -> Aligned {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut new = Aligned::new(bytes);
    let size = dtype.bits() as usize / 8;
    for element in new.bytes_mut().chunks_exact_mut(size) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = (state >> 40) as f64 / (1u64 << 24) as f64 - 0.5;
        let value = if dtype.is_int() { (unit * 200.0).trunc() } else { unit };
        element.copy_from_slice(&dtype.encode(value).to_le_bytes()[..size]);
    }
    new
}

fn numbers<const N: usize>(name: &str, default: [usize; N]) -> [usize; N] {
    let Ok(text) = std::env::var(name) else { return default };
    let parts: Vec<usize> = text.split([',', 'x']).map(|p| p.parse().unwrap()).collect();
    parts.try_into().unwrap_or(default)
}
