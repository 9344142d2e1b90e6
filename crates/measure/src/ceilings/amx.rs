//! The matrix unit of recent x86 servers (AMX): a ceiling that vendors' libraries reach for, so an honest bench shows it.
#![allow(unsafe_code)]

use super::flops::PeakLoop;

/// The AMX loops, where the processor has the unit and the kernel grants it to this process.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(super) fn loops() -> Vec<PeakLoop> {
    Vec::new()
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(super) use linux::loops;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod linux {
    use std::arch::asm;

    use super::PeakLoop;
    use crate::ceilings::PeakClass;
    use crate::ceilings::topology::has_feature;

    pub(in crate::ceilings) fn loops() -> Vec<PeakLoop> {
        let mut loops = Vec::new();
        let (bf16, i8) = (has_feature("amx_bf16"), has_feature("amx_int8"));
        if !(has_feature("amx_tile") && (bf16 || i8) && granted()) {
            return loops;
        }
        // Six accumulators; one instruction multiplies 16 rows of 64 bytes by 16 columns of 64 bytes.
        let flops = |products: u32| f64::from(6 * 16 * 16 * products * 2);
        if bf16 {
            let class = PeakClass::Bf16Amx;
            loops.push(PeakLoop { class, isa: "amx_bf16 tdpbf16ps", flops: flops(32), run: bf16_amx });
        }
        if i8 {
            let class = PeakClass::I8Amx;
            loops.push(PeakLoop { class, isa: "amx_int8 tdpbssd", flops: flops(64), run: i8_amx });
        }
        loops
    }

    /// Asks the kernel for the tile registers' state (`Documentation/arch/x86/xstate.rst`); it holds for all threads.
    fn granted() -> bool {
        const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
        const XFEATURE_XTILEDATA: libc::c_long = 18;
        // SAFETY: this request reads no memory of ours; a kernel that does not know it returns an error.
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
    }

    /// The operand of `ldtilecfg`: palette 1, eight tiles of 16 rows by 64 bytes.
    #[repr(C, align(64))]
    struct TileConfig {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        column_bytes: [u16; 16],
        rows: [u8; 16],
    }

    const CONFIG: TileConfig = TileConfig {
        palette: 1,
        start_row: 0,
        reserved: [0; 14],
        column_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
        rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
    };

    macro_rules! tile_loop {
        ($name:ident, $op:literal, $a:expr, $b:expr) => {
            fn $name(n: u64) {
                let config = CONFIG;
                let operands: [[u16; 512]; 2] = [[$a; 512], [$b; 512]];
                // SAFETY: `loops` offers this function only after the processor and the kernel agreed to AMX. The
                // assembly reads the 64 bytes of `config` and two tiles of 1024 bytes at `operands`, all of which
                // are there; the tile registers, which no compiled code uses, are released at the end.
                unsafe {
                    asm!(
                        "ldtilecfg [{config}]",
                        "tilezero tmm0", "tilezero tmm1", "tilezero tmm2",
                        "tilezero tmm3", "tilezero tmm4", "tilezero tmm5",
                        "tileloadd tmm6, [{p} + {stride}]",
                        "tileloadd tmm7, [{q} + {stride}]",
                        "2:",
                        concat!($op, " tmm0, tmm6, tmm7"), concat!($op, " tmm1, tmm6, tmm7"),
                        concat!($op, " tmm2, tmm6, tmm7"), concat!($op, " tmm3, tmm6, tmm7"),
                        concat!($op, " tmm4, tmm6, tmm7"), concat!($op, " tmm5, tmm6, tmm7"),
                        "dec {n}",
                        "jnz 2b",
                        "tilerelease",
                        n = inout(reg) n.max(1) => _,
                        config = in(reg) &raw const config,
                        p = in(reg) operands[0].as_ptr(),
                        q = in(reg) operands[1].as_ptr(),
                        stride = in(reg) 64usize,
                        options(nostack, readonly),
                    );
                }
            }
        };
    }

    tile_loop!(bf16_amx, "tdpbf16ps", 0x3f80, 0x3c00);
    tile_loop!(i8_amx, "tdpbssd", 0x0303, 0x0505);
}
