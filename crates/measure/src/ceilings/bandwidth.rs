//! Loops that do nothing but move bytes: a read that keeps nothing, a copy, and a copy whose stores bypass the caches.
//! Written as assembly, like the arithmetic loops.
#![allow(unsafe_code)]

/// How bytes are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Traffic {
    /// Loads only.
    Read,
    /// Loads and as many stores; both count.
    Copy,
    /// A copy with non-temporal stores: no line is read before it is overwritten.
    StreamCopy,
}

/// Lengths given to [`traffic`] are multiples of this many bytes.
pub(super) const STEP: usize = 1024;

/// Moves every byte of `buffer` once: reads all of it, or copies the first half to the second. Its length is a
/// multiple of [`STEP`]; what is left over is not touched.
pub(super) fn traffic(kind: Traffic, buffer: &mut [u64]) {
    match kind {
        Traffic::Read => read(buffer),
        Traffic::Copy | Traffic::StreamCopy => {
            let (from, to) = buffer.split_at_mut(buffer.len() / 2);
            copy(from, to, kind == Traffic::StreamCopy);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
use super::portable::{copy, read};

#[cfg(target_arch = "x86_64")]
use x86::{copy, read};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;

    use crate::ceilings::topology::has_feature;

    pub(super) fn read(from: &[u64]) {
        let bytes = size_of_val(from) / 512 * 512;
        match bytes {
            0 => {}
            _ if has_feature("avx512f") => read_avx512(from, bytes),
            _ if has_feature("avx2") => read_avx2(from, bytes),
            _ => read_sse2(from, bytes),
        }
    }

    pub(super) fn copy(from: &[u64], to: &mut [u64], stream: bool) {
        let bytes = size_of_val(from).min(size_of_val(to)) / 512 * 512;
        // Non-temporal stores fault unless they are aligned to their width.
        let aligned = to.as_ptr().addr().is_multiple_of(64);
        match (bytes, stream && aligned) {
            (0, _) => {}
            (_, false) if has_feature("avx512f") => copy_avx512(from, to, bytes),
            (_, true) if has_feature("avx512f") => stream_avx512(from, to, bytes),
            (_, false) if has_feature("avx2") => copy_avx2(from, to, bytes),
            (_, true) if has_feature("avx2") => stream_avx2(from, to, bytes),
            (_, false) => copy_sse2(from, to, bytes),
            (_, true) => stream_sse2(from, to, bytes),
        }
    }

    /// `$before $file{i}, [{from} + offset]` for eight registers, `$width` bytes apart.
    macro_rules! loads {
        ($op:literal, $file:literal, $width:literal) => {
            loads!(@ $op, $file, $width, 0 1 2 3 4 5 6 7)
        };
        (@ $op:literal, $file:literal, $width:literal, $($i:literal)*) => {
            concat!($($op, " ", $file, $i, ", [{from} + ", $i, "*", $width, "]\n"),*)
        };
    }

    macro_rules! stores {
        ($op:literal, $file:literal, $width:literal) => {
            stores!(@ $op, $file, $width, 0 1 2 3 4 5 6 7)
        };
        (@ $op:literal, $file:literal, $width:literal, $($i:literal)*) => {
            concat!($($op, " [{to} + ", $i, "*", $width, "], ", $file, $i, "\n"),*)
        };
    }

    macro_rules! read_loop {
        ($name:ident, $op:literal, $file:literal, $width:literal, $finish:literal) => {
            fn $name(from: &[u64], bytes: usize) {
                // SAFETY: the caller detected the instructions; `bytes` is a positive multiple of the loop's step of
                // eight registers and lies within `from`.
                unsafe {
                    asm!(
                        "2:",
                        loads!($op, $file, $width),
                        concat!("add {from}, 8*", $width),
                        "cmp {from}, {end}",
                        "jb 2b",
                        $finish,
                        from = inout(reg) from.as_ptr() => _,
                        end = in(reg) from.as_ptr().wrapping_byte_add(bytes),
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                        out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                        options(nostack, readonly),
                    );
                }
            }
        };
    }

    macro_rules! copy_loop {
        ($name:ident, $load:literal, $store:literal, $file:literal, $width:literal, $finish:literal) => {
            fn $name(from: &[u64], to: &mut [u64], bytes: usize) {
                // SAFETY: the caller detected the instructions, and the alignment that non-temporal stores ask for;
                // `bytes` is a positive multiple of the loop's step and lies within both slices, which are disjoint.
                unsafe {
                    asm!(
                        "2:",
                        loads!($load, $file, $width),
                        stores!($store, $file, $width),
                        concat!("add {from}, 8*", $width),
                        concat!("add {to}, 8*", $width),
                        "cmp {from}, {end}",
                        "jb 2b",
                        $finish,
                        from = inout(reg) from.as_ptr() => _,
                        to = inout(reg) to.as_mut_ptr() => _,
                        end = in(reg) from.as_ptr().wrapping_byte_add(bytes),
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                        out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                        options(nostack),
                    );
                }
            }
        };
    }

    read_loop!(read_avx512, "vmovups", "zmm", 64, "vzeroupper");
    read_loop!(read_avx2, "vmovups", "ymm", 32, "vzeroupper");
    read_loop!(read_sse2, "movups", "xmm", 16, "");
    copy_loop!(copy_avx512, "vmovups", "vmovups", "zmm", 64, "vzeroupper");
    copy_loop!(copy_avx2, "vmovups", "vmovups", "ymm", 32, "vzeroupper");
    copy_loop!(copy_sse2, "movups", "movups", "xmm", 16, "");
    copy_loop!(stream_avx512, "vmovups", "vmovntps", "zmm", 64, "sfence\nvzeroupper");
    copy_loop!(stream_avx2, "vmovups", "vmovntps", "ymm", 32, "sfence\nvzeroupper");
    copy_loop!(stream_sse2, "movups", "movntps", "xmm", 16, "sfence");

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn every_copy_copies_and_stays_within_bounds() {
            #[repr(align(64))]
            struct Aligned([u64; 256]);
            type Copy = fn(&[u64], &mut [u64], usize);
            let mut copies: Vec<Copy> = vec![copy_sse2, stream_sse2];
            if has_feature("avx2") {
                copies.extend([copy_avx2 as Copy, stream_avx2]);
            }
            if has_feature("avx512f") {
                copies.extend([copy_avx512 as Copy, stream_avx512]);
            }
            let from: Vec<u64> = (1..=256).collect();
            for copy in copies {
                let mut to = Aligned([0; 256]);
                copy(&from, &mut to.0, 1024);
                assert_eq!(to.0[..128], from[..128]);
                assert!(to.0[128..].iter().all(|&v| v == 0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_copies_the_first_half_and_reads_without_change() {
        for kind in [Traffic::Read, Traffic::Copy, Traffic::StreamCopy] {
            let mut buffer: Vec<u64> = (0..512).collect();
            traffic(kind, &mut buffer);
            let second = if kind == Traffic::Read { 256 } else { 0 };
            assert_eq!(buffer[..256], (0..256).collect::<Vec<u64>>());
            assert_eq!(buffer[256..], (second..second + 256).collect::<Vec<u64>>());
        }
    }
}
