//! What the CPU that code is emitted for can do, and how `clang` is told.
//!
//! Three levels and three extensions cover every path of the emitters. A [`CpuFeatures`] is a plain value: emitted text
//! depends on it and on nothing that was detected behind the caller's back.

use std::fmt;

use serde::{Deserialize, Serialize};
use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;

/// The vector instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isa {
    /// 128-bit portable vectors: SSE2 on x86-64, NEON on AArch64. No target intrinsic is used.
    Baseline,
    /// 256-bit vectors, fused multiply-add and half-precision conversion (x86-64-v3).
    Avx2,
    /// 512-bit vectors and mask registers (AVX-512 F, BW, CD, DQ and VL: x86-64-v4).
    Avx512,
}

/// An instruction set and the extensions that the emitters make use of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CpuFeatures {
    /// The vector instruction set.
    pub isa: Isa,
    /// `vdpbf16ps`, the bf16 pair dot product (needs [`Isa::Avx512`]).
    pub bf16: bool,
    /// `vpdpbusd`, the u8·i8 quad dot product (AVX512-VNNI, or AVX-VNNI with [`Isa::Avx2`]).
    pub vnni: bool,
    /// `vcvtph2ps` and `vcvtps2ph`: part of [`Isa::Avx2`] and above as [`CpuFeatures::parse`] reads them.
    pub f16c: bool,
}

/// The names that [`CpuFeatures::parse`] knows, each with its sentence.
pub const FEATURE_NAMES: &[(&str, &str)] = &[
    ("native", "what this machine has"),
    ("baseline", "128-bit portable vectors that any machine runs"),
    ("avx2", "256-bit vectors with FMA and F16C"),
    ("avx512", "512-bit vectors (F, BW, CD, DQ, VL)"),
    ("bf16", "the bf16 dot product; needs avx512"),
    ("vnni", "the 8-bit integer dot product; needs avx512 or avx2"),
];

impl CpuFeatures {
    /// What every x86-64 and AArch64 machine runs.
    pub const BASELINE: CpuFeatures =
        CpuFeatures { isa: Isa::Baseline, bf16: false, vnni: false, f16c: false };
    /// AVX2, FMA and F16C.
    pub const AVX2: CpuFeatures = CpuFeatures { isa: Isa::Avx2, bf16: false, vnni: false, f16c: true };
    /// AVX-512 F, BW, CD, DQ and VL, without the dot-product extensions.
    pub const AVX512: CpuFeatures = CpuFeatures { isa: Isa::Avx512, bf16: false, vnni: false, f16c: true };
    /// AVX-512 with both dot-product extensions.
    pub const AVX512_BF16_VNNI: CpuFeatures =
        CpuFeatures { isa: Isa::Avx512, bf16: true, vnni: true, f16c: true };

    /// Reads a comma-separated list: `native` alone, or a level (`baseline`, `avx2`, `avx512`) and the extensions to it
    /// (`avx512,bf16,vnni`).
    ///
    /// # Errors
    /// `cpu/unknown-feature` names the nearest known one; `cpu/feature-needs` when an extension lacks its level.
    pub fn parse(text: &str) -> Result<CpuFeatures> {
        let mut level = None;
        let (mut bf16, mut vnni) = (false, false);
        for word in text.split(',').map(str::trim) {
            let named = match word {
                "native" => Self::detect(),
                "baseline" => Self::BASELINE,
                "avx2" => Self::AVX2,
                "avx512" => Self::AVX512,
                "bf16" => {
                    bf16 = true;
                    continue;
                }
                "vnni" => {
                    vnni = true;
                    continue;
                }
                other => {
                    let known = FEATURE_NAMES.iter().map(|(name, _)| *name);
                    return Err(Diagnostic::unknown("cpu/unknown-feature", "CPU feature", other, known)
                        .rule("a level, then its extensions: `avx512,bf16,vnni`"));
                }
            };
            if level.replace(named).is_some() {
                return Err(needs(
                    text,
                    "there is one level: a higher one has what a lower one has",
                    "avx512",
                ));
            }
        }
        let Some(mut features) = level else {
            return Err(needs(text, "an extension needs its level", "avx512,bf16,vnni"));
        };
        if bf16 && features.isa != Isa::Avx512 {
            return Err(needs(text, "bf16 needs avx512", "avx512,bf16"));
        }
        if vnni && features.isa == Isa::Baseline {
            return Err(needs(text, "vnni needs avx512 or avx2", "avx512,vnni"));
        }
        features.bf16 |= bf16;
        features.vnni |= vnni;
        Ok(features)
    }

    /// What this machine has.
    #[cfg(target_arch = "x86_64")]
    pub fn detect() -> CpuFeatures {
        use std::is_x86_feature_detected as has;
        let avx2 = has!("avx2") && has!("fma") && has!("f16c");
        let avx512 = avx2
            && has!("avx512f")
            && has!("avx512bw")
            && has!("avx512cd")
            && has!("avx512dq")
            && has!("avx512vl");
        if avx512 {
            CpuFeatures { bf16: has!("avx512bf16"), vnni: has!("avx512vnni"), ..Self::AVX512 }
        } else if avx2 {
            CpuFeatures { vnni: has!("avxvnni"), ..Self::AVX2 }
        } else {
            Self::BASELINE
        }
    }

    /// What this machine has.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn detect() -> CpuFeatures {
        Self::BASELINE
    }

    /// Whether code emitted for `self` runs on a machine that has `host`.
    ///
    /// AVX-VNNI and AVX512-VNNI are encoded differently; a host that has AVX-512 without the former is asked afresh.
    pub fn supported_by(self, host: CpuFeatures) -> bool {
        let vnni = match (self.vnni, self.isa, host.isa) {
            (false, _, _) => true,
            (true, Isa::Avx2, Isa::Avx512) => host_has_avx_vnni(),
            (true, _, _) => host.vnni,
        };
        self.isa <= host.isa && (!self.bf16 || host.bf16) && vnni && (!self.f16c || host.f16c)
    }

    /// The flags that make `clang` generate code for this CPU and no more.
    pub fn clang_flags(self) -> Vec<&'static str> {
        let mut flags = if cfg!(target_arch = "x86_64") { vec!["-march=x86-64"] } else { Vec::new() };
        match self.isa {
            Isa::Baseline => {}
            Isa::Avx2 => flags.extend(["-mavx2", "-mfma", "-mbmi2", "-mf16c"]),
            Isa::Avx512 => flags.extend([
                "-mavx2",
                "-mfma",
                "-mbmi2",
                "-mf16c",
                "-mavx512f",
                "-mavx512bw",
                "-mavx512cd",
                "-mavx512dq",
                "-mavx512vl",
                "-mprefer-vector-width=512",
            ]),
        }
        if self.bf16 {
            flags.push("-mavx512bf16");
        }
        match (self.vnni, self.isa) {
            (true, Isa::Avx512) => flags.push("-mavx512vnni"),
            (true, _) => flags.push("-mavxvnni"),
            (false, _) => {}
        }
        flags
    }

    /// Width of a vector register in bits.
    pub fn vector_bits(self) -> usize {
        match self.isa {
            Isa::Baseline => 128,
            Isa::Avx2 => 256,
            Isa::Avx512 => 512,
        }
    }

    /// Elements of `dtype` in one vector register (f32: 4, 8 or 16). Sub-byte and bool elements count as bytes, the
    /// form in which registers hold them.
    pub fn lanes(self, dtype: DType) -> usize {
        self.vector_bits() / dtype.bits().max(8) as usize
    }

    /// Architectural vector registers.
    pub fn vector_registers(self) -> usize {
        match self.isa {
            Isa::Baseline | Isa::Avx2 => 16,
            Isa::Avx512 => 32,
        }
    }

    /// The canonical name, which [`CpuFeatures::parse`] reads back.
    pub fn name(self) -> String {
        let mut name = match self.isa {
            Isa::Baseline => "baseline",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
        .to_string();
        if self.bf16 {
            name += ",bf16";
        }
        if self.vnni {
            name += ",vnni";
        }
        name
    }
}

impl fmt::Display for CpuFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

fn needs(text: &str, rule: &str, example: &str) -> Box<Diagnostic> {
    Diagnostic::request("cpu/feature-needs", format!("`{text}` is not a CPU"))
        .rule(rule)
        .help(format!("for example `{example}`"))
}

fn host_has_avx_vnni() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::is_x86_feature_detected!("avxvnni")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for text in ["baseline", "avx2", "avx2,vnni", "avx512", "avx512,bf16", "avx512,bf16,vnni"] {
            assert_eq!(CpuFeatures::parse(text).unwrap().name(), text);
        }
        assert_eq!(CpuFeatures::parse("native").unwrap(), CpuFeatures::detect());
        assert_eq!(CpuFeatures::parse("avx512, bf16 ,vnni").unwrap(), CpuFeatures::AVX512_BF16_VNNI);
    }

    #[test]
    fn unknown_and_impossible_are_refused() {
        let d = CpuFeatures::parse("avx521").unwrap_err();
        assert_eq!(d.code, "cpu/unknown-feature");
        assert_eq!(d.help.as_deref(), Some("did you mean `avx512`?"));
        for text in ["bf16", "avx2,bf16", "baseline,vnni"] {
            assert_eq!(CpuFeatures::parse(text).unwrap_err().code, "cpu/feature-needs", "{text}");
        }
    }

    #[test]
    fn order_of_support() {
        let levels =
            [CpuFeatures::BASELINE, CpuFeatures::AVX2, CpuFeatures::AVX512, CpuFeatures::AVX512_BF16_VNNI];
        for (i, a) in levels.iter().enumerate() {
            for (j, b) in levels.iter().enumerate() {
                assert_eq!(a.supported_by(*b), i <= j, "{a} on {b}");
            }
        }
        assert!(CpuFeatures::detect().supported_by(CpuFeatures::detect()));
    }

    #[test]
    fn lanes_follow_the_width() {
        assert_eq!(CpuFeatures::BASELINE.lanes(DType::F32), 4);
        assert_eq!(CpuFeatures::AVX2.lanes(DType::BF16), 16);
        assert_eq!(CpuFeatures::AVX512.lanes(DType::I4), 64);
        assert_eq!(CpuFeatures::AVX512.lanes(DType::F32), 16);
    }
}
