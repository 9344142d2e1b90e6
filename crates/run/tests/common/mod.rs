//! Random programs, compiled for the instruction sets that this machine has.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]
#![allow(dead_code, reason = "each test uses a part")]

use std::ops::Range;

use tilewright_dtype::{DType, Tensor};
use tilewright_interp::Inputs;
use tilewright_interp::testing::{Limits, wide};
use tilewright_ir::{Program, Role};
use tilewright_run::cache::Cache;
use tilewright_run::compile::Compiler;
use tilewright_run::testing::clang_or_skip;
use tilewright_target_cpu::features::CpuFeatures;
use tilewright_target_cpu::{self as cpu, Lowered};

/// One random program.
pub struct Case {
    pub seed: u64,
    pub program: Program,
    pub inputs: Inputs,
}

/// The seeds to try: `TILEWRIGHT_RANDOM_PROGRAMS` of them, or `otherwise`, from `TILEWRIGHT_RANDOM_SEED` on.
pub fn seeds(otherwise: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|t| t.parse().ok());
    let first = number("TILEWRIGHT_RANDOM_SEED").unwrap_or(0);
    first..first + number("TILEWRIGHT_RANDOM_PROGRAMS").unwrap_or(otherwise)
}

/// The program of `seed`, of the dtypes that the CPU takes.
pub fn case(seed: u64, poison: bool) -> Case {
    let dtypes =
        DType::ALL.into_iter().filter(|d| cpu::REFUSED_DTYPES.iter().all(|(r, ..)| r != d)).collect();
    let limits = Limits { dtypes, prefix: format!("p{seed}_"), poison, ..Limits::default() };
    let (program, inputs) = wide(seed, &limits).unwrap_or_else(|d| panic!("seed {seed}: {d}"));
    Case { seed, program, inputs }
}

/// The programs as one, and its inputs: clang's start is most of the time that a small one takes.
pub fn joined(cases: &[&Case]) -> (Program, Inputs) {
    let program = Program { kernels: cases.iter().flat_map(|c| c.program.kernels.clone()).collect() };
    (program, cases.iter().flat_map(|c| c.inputs.clone()).collect())
}

/// The instruction sets to compile for.
pub fn levels() -> Vec<CpuFeatures> {
    let all = [CpuFeatures::AVX512_BF16_VNNI, CpuFeatures::AVX512, CpuFeatures::AVX2, CpuFeatures::BASELINE];
    let host = CpuFeatures::detect();
    all.into_iter().filter(|f| f.supported_by(host)).collect()
}

/// The program as text for `features`, and the flags to compile it with.
pub fn lower(
    program: &Program,
    features: CpuFeatures,
    level: &str,
) -> Result<(Lowered, Vec<String>), String> {
    let lowered = cpu::lower(program, cpu::Options::new(features)).map_err(|d| d.to_string())?;
    Ok((lowered, features.clang_flags().into_iter().chain([level]).map(String::from).collect()))
}

/// A compiler with a cache of its own, in a folder that lives as long.
pub fn compiler() -> Option<(Compiler, tempfile::TempDir)> {
    let clang = clang_or_skip()?;
    let folder = tempfile::tempdir().unwrap();
    Some((Compiler::new(clang, Cache::open(folder.path(), 1 << 30).unwrap()), folder))
}

/// The same inputs with each array's elements in the opposite order.
pub fn turned(program: &Program, inputs: &Inputs) -> Inputs {
    let operands = program.operands();
    let turn = |(name, tensor): (&String, &Tensor)| {
        let mut values = tensor.to_f64();
        let array =
            operands.iter().any(|o| o.operand.name == *name && matches!(o.operand.role, Role::Input { .. }));
        if array {
            values.reverse();
        }
        (name.clone(), Tensor::from_f64(tensor.dtype(), tensor.shape(), &values).unwrap())
    };
    inputs.iter().map(turn).collect()
}
