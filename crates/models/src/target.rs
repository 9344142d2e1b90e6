//! The machine that a model is compiled for.

use tilewright_dtype::DType;
use tilewright_kernels::Machine;
use tilewright_run::Host;
use tilewright_target_cpu::features::CpuFeatures;

/// What code may use, and the facts by which configs are sized.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The instruction sets.
    pub features: CpuFeatures,
    /// Caches, lanes and cores.
    pub machine: Machine,
}

impl Target {
    /// This machine, for a pool of `threads`.
    pub fn here(threads: usize) -> Target {
        Target::with(CpuFeatures::detect(), threads)
    }

    /// This machine with other instruction sets. A cache that the system does not tell of gets a size that most machines
    /// exceed.
    pub fn with(features: CpuFeatures, threads: usize) -> Target {
        let host = Host::detect();
        let cache = |level, otherwise: u64| host.data_cache(level).unwrap_or(otherwise) as usize;
        let machine = Machine {
            lanes: features.lanes(DType::F32),
            l1_bytes: cache(1, 32 << 10),
            l2_bytes: cache(2, 512 << 10),
            l3_bytes: cache(3, 4 << 20),
            cores: threads,
        };
        Target { features, machine }
    }

    /// The flags that make clang generate code for it.
    pub(crate) fn flags(&self) -> Vec<String> {
        self.features.clang_flags().iter().map(ToString::to_string).collect()
    }
}
