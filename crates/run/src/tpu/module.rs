//! A program as a user has it: StableHLO text, MLIR bytecode, or the file that `jax.export` writes.

use tilewright_diag::{Diagnostic, Result, Span};
use tilewright_hw::Chip;

use super::bytecode;
use super::export::exported;
use super::target::Topology;

const PARTITIONS: &str = "mhlo.num_partitions";
const REPLICAS: &str = "mhlo.num_replicas";
const POLYMORPHIC: &str = "jax.uses_shape_polymorphism";
const FORMS: &str = "StableHLO text, MLIR bytecode, or the file that `jax.export` serializes";
const TEXT: &str = "`jax.jit(f).lower(…).as_text()` gives the text";

/// A module and what it says of the devices that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    code: Vec<u8>,
    partitions: usize,
    replicas: usize,
    is_shardy: bool,
    is_polymorphic: bool,
}

impl Module {
    /// Takes the bytes of a file; `name` stands for it in diagnostics.
    ///
    /// # Errors
    /// `tpu/module` where they are no module, `tpu/platform` where it was exported for other platforms than TPUs.
    pub fn read(bytes: Vec<u8>, name: &str) -> Result<Module> {
        if let Some(exported) = exported(&bytes) {
            if !exported.platforms.iter().any(|p| p == "tpu") {
                let platforms = exported.platforms.join(", ");
                return Err(Diagnostic::request(
                    "tpu/platform",
                    format!("`{name}` was exported for {platforms}, not for TPUs"),
                )
                .at(Span::file(name))
                .help("`jax.export.export(f, platforms=[\"tpu\"])`"));
            }
            return Module::read(exported.module.to_vec(), name);
        }
        let unreadable = |why: &str| {
            Diagnostic::request("tpu/module", format!("`{name}` is no module: {why}"))
                .at(Span::file(name))
                .rule(FORMS)
                .help(TEXT)
        };
        if bytes.starts_with(bytecode::MAGIC) {
            let why = |why| unreadable(&format!("it is MLIR bytecode, but {why}"));
            let numbers = bytecode::integers(&bytes).map_err(why)?;
            let number = |name| match numbers.get(name) {
                None => Ok(1),
                Some(&n) => usize::try_from(n)
                    .ok()
                    .filter(|n| *n > 0)
                    .ok_or_else(|| unreadable(&format!("its `{name}` is {n}"))),
            };
            let (partitions, replicas) = (number(PARTITIONS)?, number(REPLICAS)?);
            let is_polymorphic = numbers.get(POLYMORPHIC).is_some_and(|&n| n != 0);
            let is_shardy = mentions(&bytes, b"sdy");
            return Ok(Module { code: bytes, partitions, replicas, is_shardy, is_polymorphic });
        }
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return Err(unreadable("its bytes are neither text nor bytecode"));
        };
        if text.trim().is_empty() {
            return Err(unreadable("it is empty"));
        }
        if text.trim_start().starts_with("HloModule") {
            return Err(unreadable("it is HLO, not StableHLO"));
        }
        let (partitions, replicas) = (stated(text, PARTITIONS), stated(text, REPLICAS));
        let is_polymorphic = text.contains(&format!("{POLYMORPHIC} = true"));
        let is_shardy = text.contains("sdy.");
        Ok(Module { code: bytes, partitions, replicas, is_shardy, is_polymorphic })
    }

    /// The smallest topology that holds it.
    pub fn smallest(&self, chip: Chip) -> Topology {
        Topology::fitting(chip, self.devices())
    }

    /// Devices that it runs on: its replicas of its partitions.
    pub fn devices(&self) -> usize {
        self.partitions.saturating_mul(self.replicas)
    }

    /// Partitions that it is sharded over.
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// Copies of it that run on data of their own.
    pub fn replicas(&self) -> usize {
        self.replicas
    }

    /// Whether its shardings are Shardy's; else they are GSPMD's, or there are none.
    pub fn is_shardy(&self) -> bool {
        self.is_shardy
    }

    /// Whether its sizes are symbols, which no compiler for TPUs takes.
    pub(super) fn is_polymorphic(&self) -> bool {
        self.is_polymorphic
    }

    /// What the compiler is given: text or bytecode.
    pub fn code(&self) -> &[u8] {
        &self.code
    }

    /// Targets of custom calls that other platforms' compilers know, each with its platform.
    pub(super) fn foreign_calls(&self) -> Vec<(String, &'static str)> {
        let names: Vec<String> = if self.code.starts_with(bytecode::MAGIC) {
            bytecode::strings(&self.code)
        } else {
            let text = String::from_utf8_lossy(&self.code);
            let names = text.split("custom_call").skip(1).filter_map(|rest| {
                let rest = rest.trim_start_matches(|c: char| "@ \"(".contains(c));
                Some(rest.split(['(', '"', ' ']).next()?.to_string())
            });
            let attributes = text.split("call_target_name").skip(1).filter_map(|rest| {
                Some(
                    rest.trim_start_matches([' ', '='])
                        .trim_start_matches('"')
                        .split('"')
                        .next()?
                        .to_string(),
                )
            });
            names.chain(attributes).collect()
        };
        let platform = |name: &str| {
            PLATFORMS.iter().find(|(start, _)| name.starts_with(start)).map(|(_, platform)| *platform)
        };
        let mut found: Vec<_> =
            names.into_iter().filter_map(|n| platform(&n).map(|platform| (n, platform))).collect();
        found.sort();
        found.dedup();
        found
    }
}

/// How names of calls begin that only one platform's compiler knows, from OpenXLA's and JAX's own.
const PLATFORMS: [(&str, &str); 14] = [
    ("__gpu$", "GPUs"),
    ("__triton", "GPUs"),
    ("triton_kernel_call", "GPUs"),
    ("mosaic_gpu", "GPUs"),
    ("__cublas", "NVIDIA GPUs"),
    ("__cudnn", "NVIDIA GPUs"),
    ("cudnn", "NVIDIA GPUs"),
    ("cublas", "NVIDIA GPUs"),
    ("cusolver", "NVIDIA GPUs"),
    ("cusparse", "NVIDIA GPUs"),
    ("cu_", "NVIDIA GPUs"),
    ("hip", "AMD GPUs"),
    ("lapack_", "CPUs"),
    ("__onednn", "CPUs"),
];

fn mentions(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|w| w == word)
}

/// The number that a module's text states, `name = N`; 1 where it states none.
fn stated(text: &str, name: &str) -> usize {
    let Some((_, rest)) = text.split_once(name) else { return 1 };
    let digits = rest.trim_start().strip_prefix('=').map(str::trim_start).unwrap_or_default();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|n| *n > 0).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::super::export::tests::sample;
    use super::*;

    fn read(bytes: &[u8]) -> Result<Module> {
        Module::read(bytes.to_vec(), "f.mlir")
    }

    #[test]
    fn what_a_text_says_of_its_devices_is_read() {
        let text = b"module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32} {";
        let module = read(text).unwrap();
        assert_eq!((module.partitions(), module.replicas(), module.devices()), (4, 2, 8));
        assert_eq!(module.smallest(Chip::V5e).to_string(), "v5e:4x2");
        assert!(!module.is_shardy() && read(b"sdy.mesh @mesh = <[]>").unwrap().is_shardy());
        for text in ["module {}", "mhlo.num_partitions", "mhlo.num_partitions = 0"] {
            assert_eq!(read(text.as_bytes()).unwrap().devices(), 1);
        }
    }

    #[test]
    fn what_is_no_module_says_what_it_is() {
        for (bytes, code, what) in [
            (b" \n".to_vec(), "tpu/module", "empty"),
            (b"HloModule f\n".to_vec(), "tpu/module", "HLO, not StableHLO"),
            (b"\x80\x02\xff".to_vec(), "tpu/module", "neither text nor bytecode"),
            (b"ML\xefR\x0d".to_vec(), "tpu/module", "MLIR bytecode, but it ends early"),
            (b"ML\xefR\xffby\0".to_vec(), "tpu/module", "newer than 6"),
            (sample("cuda", b"ML\xefR"), "tpu/platform", "exported for cuda"),
            (sample("tpu", b"ML\xefR\x0d"), "tpu/module", "it ends early"),
        ] {
            let d = read(&bytes).unwrap_err();
            assert!(d.code == code && d.message.contains(what), "{d}");
        }
    }

    #[test]
    fn calls_of_other_platforms_are_named() {
        let text = b"stablehlo.custom_call @__gpu$xla.gpu.triton(%a)\n\"stablehlo.custom_call\"(%0) \
            <{call_target_name = \"lapack_spotrf_ffi\"}> stablehlo.custom_call @tpu_custom_call(%b) @\"cudnn$conv\"(%a)";
        let names = read(text).unwrap().foreign_calls();
        assert_eq!(
            names,
            [("__gpu$xla.gpu.triton".to_string(), "GPUs"), ("lapack_spotrf_ffi".to_string(), "CPUs")]
        );
    }
}
