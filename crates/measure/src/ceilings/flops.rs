//! Loops that do nothing but arithmetic: twelve independent accumulators, no memory traffic. Written as assembly, so
//! that a debug build measures the same machine code as a release build.
#![allow(unsafe_code)]

use super::PeakClass;

/// One arithmetic loop that this machine can run.
pub(super) struct PeakLoop {
    pub class: PeakClass,
    /// The instruction it repeats.
    pub isa: &'static str,
    /// Operations of one iteration; a multiply-add counts as two.
    pub flops: f64,
    pub run: fn(u64),
}

/// The best loop of each class that the processor at hand supports.
#[cfg(target_arch = "x86_64")]
pub(super) fn loops() -> Vec<PeakLoop> {
    use PeakClass::*;
    use x86::*;
    let has = super::topology::has_feature;
    let entry = |class, isa, lanes: u32, run| PeakLoop {
        class,
        isa,
        flops: f64::from(lanes * ACCUMULATORS * 2),
        run,
    };
    let mut loops = Vec::new();
    if has("avx512f") {
        loops.push(entry(F64, "avx512 vfmadd231pd", 8, f64_avx512));
        loops.push(entry(F32, "avx512 vfmadd231ps", 16, f32_avx512));
    } else if has("avx2") && has("fma") {
        loops.push(entry(F64, "avx2 vfmadd231pd", 4, f64_avx2));
        loops.push(entry(F32, "avx2 vfmadd231ps", 8, f32_avx2));
    } else {
        // Half of the twelve instructions multiply and half add.
        loops.push(PeakLoop { flops: 24.0, ..entry(F64, "sse2 mulpd, addpd", 2, f64_sse2) });
        loops.push(PeakLoop { flops: 48.0, ..entry(F32, "sse2 mulps, addps", 4, f32_sse2) });
    }
    if has("avx512fp16") {
        loops.push(entry(F16, "avx512fp16 vfmadd231ph", 32, f16_avx512));
    }
    if has("avx512bf16") {
        loops.push(entry(Bf16, "avx512bf16 vdpbf16ps", 32, bf16_avx512));
    }
    if has("avx512vnni") {
        loops.push(entry(I8, "avx512vnni vpdpbusd", 64, i8_avx512));
    } else if has("avxvnni") {
        loops.push(entry(I8, "avxvnni vpdpbusd", 32, i8_avxvnni));
    } else if has("avx2") {
        loops.push(entry(I8, "avx2 vpmaddubsw, vpmaddwd, vpaddd", 32, i8_avx2));
    } else {
        loops.push(entry(I8, "sse2 pmaddwd, paddd", 8, i8_sse2));
    }
    loops.extend(super::amx::loops());
    loops
}

/// The loops of a processor that has no assembly here: what the compiler makes of plain arithmetic.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn loops() -> Vec<PeakLoop> {
    use super::portable;
    vec![
        PeakLoop {
            class: PeakClass::F64,
            isa: "compiled a*b+c",
            flops: portable::FLOPS,
            run: portable::multiply_add::<f64>,
        },
        PeakLoop {
            class: PeakClass::F32,
            isa: "compiled a*b+c",
            flops: portable::FLOPS,
            run: portable::multiply_add::<f32>,
        },
    ]
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;

    pub(super) const ACCUMULATORS: u32 = 12;

    #[repr(C, align(64))]
    struct Operands([[u8; 64]; 2]);

    impl Operands {
        /// Two vectors that repeat the given bit patterns.
        fn of<const N: usize>(a: [u8; N], b: [u8; N]) -> Self {
            let fill = |pattern: [u8; N]| std::array::from_fn(|i| pattern[i % N]);
            Operands([fill(a), fill(b)])
        }
    }

    /// `$each` once for each of the twelve accumulators of register file `$file`.
    macro_rules! twelve {
        ($before:literal, $file:literal, $after:literal) => {
            twelve!(@ $before, $file, $after, 0 1 2 3 4 5 6 7 8 9 10 11)
        };
        (@ $before:literal, $file:literal, $after:literal, $($i:literal)*) => {
            concat!($($before, " ", $file, $i, ", ", $after, "\n"),*)
        };
    }

    macro_rules! run_loop {
        ($n:ident, $operands:ident, $setup:expr, $body:expr, $finish:literal) => {
            // SAFETY: `loops` offers this function only where the processor has the instructions. The assembly reads
            // 128 bytes at `$operands`, which are there, touches vector registers that it declares, and no stack.
            unsafe {
                asm!(
                    $setup,
                    "2:",
                    $body,
                    "dec {n}",
                    "jnz 2b",
                    $finish,
                    n = inout(reg) $n.max(1) => _,
                    p = in(reg) &raw const $operands,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nostack, readonly),
                );
            }
        };
    }

    /// A loop of twelve `$op acc, $file14, $file15`.
    macro_rules! vector_loop {
        ($name:ident, $file:literal, $op:literal, $sources:literal, $a:expr, $b:expr) => {
            pub(super) fn $name(n: u64) {
                let operands = Operands::of($a.to_le_bytes(), $b.to_le_bytes());
                run_loop!(
                    n,
                    operands,
                    concat!(
                        "vzeroall\n",
                        "vmovups ",
                        $file,
                        "14, [{p}]\n",
                        "vmovups ",
                        $file,
                        "15, [{p} + 64]\n"
                    ),
                    twelve!($op, $file, $sources),
                    "vzeroupper"
                );
            }
        };
    }

    // 0x3f80 is 1.0 and 0x3c00 is 2⁻⁷ in bf16; 0x3c00 is 1.0 and 0x2000 is 2⁻⁷ in f16: sums stay finite.
    vector_loop!(f64_avx512, "zmm", "vfmadd231pd", "zmm14, zmm15", 1.0f64, 1e-3f64);
    vector_loop!(f32_avx512, "zmm", "vfmadd231ps", "zmm14, zmm15", 1.0f32, 1e-3f32);
    vector_loop!(f16_avx512, "zmm", "vfmadd231ph", "zmm14, zmm15", 0x3c00u16, 0x2000u16);
    vector_loop!(bf16_avx512, "zmm", "vdpbf16ps", "zmm14, zmm15", 0x3f80u16, 0x3c00u16);
    vector_loop!(i8_avx512, "zmm", "vpdpbusd", "zmm14, zmm15", 3u8, 5u8);
    vector_loop!(f64_avx2, "ymm", "vfmadd231pd", "ymm14, ymm15", 1.0f64, 1e-3f64);
    vector_loop!(f32_avx2, "ymm", "vfmadd231ps", "ymm14, ymm15", 1.0f32, 1e-3f32);
    vector_loop!(i8_avxvnni, "ymm", "{{vex}} vpdpbusd", "ymm14, ymm15", 3u8, 5u8);

    pub(super) fn i8_avx2(n: u64) {
        let operands = Operands::of([3], [5]);
        run_loop!(
            n,
            operands,
            "vzeroall\nvmovups ymm14, [{p}]\nvmovups ymm15, [{p} + 64]\n",
            twelve!(
                "vpmaddubsw ymm13, ymm14, ymm15\nvpmaddwd ymm12, ymm13, ymm15\nvpaddd",
                "ymm",
                "ymm12, ymm12"
            ),
            "vzeroupper"
        );
    }

    pub(super) fn i8_sse2(n: u64) {
        let operands = Operands::of([3, 0], [5, 0]);
        run_loop!(
            n,
            operands,
            "movups xmm14, [{p}]\nmovups xmm15, [{p} + 64]\n",
            twelve!("movaps xmm13, xmm14\npmaddwd xmm13, xmm15\npaddd", "xmm", "xmm13"),
            ""
        );
    }

    macro_rules! sse2_loop {
        ($name:ident, $mul:literal, $add:literal, $a:expr, $b:expr) => {
            pub(super) fn $name(n: u64) {
                let operands = Operands::of($a.to_le_bytes(), $b.to_le_bytes());
                run_loop!(
                    n,
                    operands,
                    concat!(
                        "movups xmm14, [{p}]\nmovups xmm15, [{p} + 64]\n",
                        twelve!("movaps", "xmm", "xmm15")
                    ),
                    concat!(
                        twelve!(@ $mul, "xmm", "xmm14", 0 1 2 3 4 5),
                        twelve!(@ $add, "xmm", "xmm15", 6 7 8 9 10 11)
                    ),
                    ""
                );
            }
        };
    }

    sse2_loop!(f64_sse2, "mulpd", "addpd", 1.0f64, 1e-3f64);
    sse2_loop!(f32_sse2, "mulps", "addps", 1.0f32, 1e-3f32);

    #[cfg(test)]
    mod tests {
        #[test]
        fn narrower_loops_run_wherever_wider_ones_do() {
            // `loops` picks one of each class; the others must at least assemble and return.
            super::f64_sse2(10);
            super::f32_sse2(10);
            super::i8_sse2(10);
            let has = crate::ceilings::topology::has_feature;
            if has("avx2") && has("fma") {
                super::f64_avx2(10);
                super::f32_avx2(10);
                super::i8_avx2(10);
            }
            if has("avxvnni") {
                super::i8_avxvnni(10);
            }
        }
    }
}
