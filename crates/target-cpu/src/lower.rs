//! From tile IR to LLVM IR text: the passes, in order.

use serde::Serialize;
use tilewright_diag::Result;
use tilewright_ir::Program;

use crate::emit;
use crate::facts;
use crate::features::CpuFeatures;
use crate::plan::Plan;

/// What an emitted kernel may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Options {
    /// The instruction sets that the code may use.
    pub features: CpuFeatures,
    /// Bytes of packed operands that a thread may keep for the next grid cells.
    pub panel_bytes: usize,
}

impl Options {
    /// Options for `features` with the default budget for packed operands: half of what a last-level cache gives a core
    /// of a current server, 16 MiB.
    pub fn new(features: CpuFeatures) -> Options {
        Options { features, panel_bytes: 16 << 20 }
    }
}

/// A program as LLVM IR text, with what a launch needs to know.
#[derive(Clone, Debug, Serialize)]
pub struct Lowered {
    /// One LLVM module.
    pub text: String,
    /// In execution order.
    pub kernels: Vec<LoweredKernel>,
}

/// One kernel's entry point, `void entry(ptr args, ptr scalars, i64 begin, i64 end, ptr arena)`: runs the grid cells
/// `begin .. end` in linear order.
#[derive(Clone, Debug, Serialize)]
pub struct LoweredKernel {
    /// The kernel's name.
    pub name: String,
    /// Symbol of the entry point.
    pub entry: String,
    /// Number of grid cells.
    pub cells: usize,
    /// Bytes of scratch that each thread hands in, 64-byte aligned.
    pub arena_bytes: usize,
    /// Names of the arrays and tables whose addresses `args` holds, in order.
    pub arrays: Vec<String>,
    /// Names of the i32 scalars that `scalars` holds, in order.
    pub scalars: Vec<String>,
    /// Whether all cells must run on one thread, in order: an output combines writes of several cells.
    pub serial: bool,
}

/// A pass: its name and what it does.
pub type Pass = (&'static str, &'static str);

/// The passes, in the order in which [`lower`] runs them.
pub const PASSES: &[Pass] = &[
    ("verify", "holds the program to the rules of the tile IR"),
    ("facts", "refuses what this target does not take"),
    (
        "plan",
        "decides per value: scalar, inline expression or buffer; folds in place; buffers' places in the arena",
    ),
    ("emit", "writes loops over vectors, packed panels and micro-kernel calls as LLVM IR text"),
];

/// Lowers a program.
///
/// # Errors
/// Those of the verifier; `cpu/…` for what this target does not take.
pub fn lower(program: &Program, options: Options) -> Result<Lowered> {
    lower_watched(program, options, &mut |_| {})
}

/// As [`lower`]; `watch` hears the name of each pass of [`PASSES`] when it has ended.
///
/// # Errors
/// As for [`lower`].
pub fn lower_watched(
    program: &Program,
    options: Options,
    watch: &mut dyn FnMut(&'static str),
) -> Result<Lowered> {
    tilewright_ir::verify_program(program)?;
    watch("verify");
    facts::check(program)?;
    watch("facts");
    let plans = program.kernels.iter().map(|k| Plan::of(k, options.features)).collect::<Result<Vec<_>>>()?;
    watch("plan");
    let lowered = emit::program(program, plans, options)?;
    watch("emit");
    Ok(lowered)
}
