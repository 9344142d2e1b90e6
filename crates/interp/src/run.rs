//! Whole programs: kernels in order, cells in parallel.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tilewright_diag::{Diagnostic, Result};
use tilewright_ir::{Kernel, Program, Role, verify_program};

use crate::domain::Domain;
use crate::exec::{self, Context, Effects};
use crate::inputs::{self, Inputs};
use crate::memory::Source;
use crate::outcome::{Outcome, Values};
use crate::output::Output;
use crate::report::Report;

/// How a run goes about it; the results are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Run cells on the threads of rayon's current pool.
    pub parallel: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { parallel: true }
    }
}

/// Runs `program` on `inputs`.
///
/// Verifies the program first. Inputs that do not fit are refused with `interp/input-…`; a scalar that rounding may
/// change and that drives a block index or a fold with `interp/data-dependent-index`. What is wrong with the program
/// beyond that stands in [`Outcome::report`].
pub fn run(program: &Program, inputs: &Inputs, domain: Domain, options: &Options) -> Result<Outcome> {
    execute(program, inputs, domain, options, None)
}

/// Like [`run`], but runs only `cells` (linear numbers, last grid dimension fastest) of the last kernel. Elements that
/// no chosen cell writes are 0 in the result, do not stand in [`Values::written`], and are not reported. A number
/// that is no cell is refused with `interp/cell`.
pub fn run_cells(
    program: &Program,
    inputs: &Inputs,
    domain: Domain,
    options: &Options,
    cells: &[usize],
) -> Result<Outcome> {
    execute(program, inputs, domain, options, Some(cells))
}

/// Cells whose stores are held back until all of them ran, so that stores take place in the cells' order.
const BATCH: usize = 64;

/// The largest tile: float64 values with bounds take 16 bytes an element.
const MAX_TILE: usize = 1 << 28;

fn execute(
    program: &Program,
    inputs: &Inputs,
    domain: Domain,
    options: &Options,
    cells: Option<&[usize]>,
) -> Result<Outcome> {
    verify_program(program)?;
    inputs::check(program, inputs)?;
    let mut made: BTreeMap<String, Values> = BTreeMap::new();
    let (mut report, mut undecided) = (Report::default(), Report::default());
    for (number, kernel) in program.kernels.iter().enumerate() {
        let chosen = cells.filter(|_| number + 1 == program.kernels.len());
        let all: Vec<usize>;
        let order = match chosen {
            Some(chosen) => chosen,
            None => {
                all = (0..checked_cells(kernel)?).collect();
                &all
            }
        };
        check_size(kernel, order)?;
        let context = context(kernel, inputs, &made, domain)?;
        let mut outputs = kernel
            .operands
            .iter()
            .map(|o| Output::new(o, &domain))
            .collect::<Result<Vec<Option<Output>>>>()?;
        for batch in order.chunks(BATCH) {
            for (&cell, effects) in batch.iter().zip(run_batch(&context, batch, options)?) {
                for at in &effects.undecided {
                    let rule = "where rounding decides which body runs, results are undecided";
                    undecided.add("interp/undecided-branch", at, "", rule, || {
                        format!("rounding decides which body of an `if` of kernel `{}` runs", kernel.name)
                    });
                }
                for write in &effects.writes {
                    if let Some(Some(output)) = outputs.get_mut(write.array) {
                        output.write(write, cell, kernel, &mut report);
                    }
                }
            }
        }
        for (operand, output) in kernel.operands.iter().zip(outputs) {
            if let Some(output) = output {
                made.insert(operand.name.clone(), output.finish(chosen.is_none(), &mut report));
            }
        }
    }
    made.retain(|name, _| program.operands().iter().any(|o| o.returned && o.operand.name == *name));
    Ok(Outcome { outputs: made, report: report.diagnostics(), undecided: undecided.diagnostics() })
}

fn run_batch(context: &Context<'_>, batch: &[usize], options: &Options) -> Result<Vec<Effects>> {
    if options.parallel && batch.len() > 1 {
        batch.par_iter().map(|&cell| exec::cell(context, cell)).collect()
    } else {
        batch.iter().map(|&cell| exec::cell(context, cell)).collect()
    }
}

fn context<'a>(
    kernel: &'a Kernel,
    inputs: &'a Inputs,
    made: &'a BTreeMap<String, Values>,
    domain: Domain,
) -> Result<Context<'a>> {
    let mut sources = Vec::with_capacity(kernel.operands.len());
    let mut scalars = Vec::new();
    for o in &kernel.operands {
        let given = inputs.get(&o.name);
        let source = match o.role {
            Role::Output { .. } => None,
            Role::Scalar { .. } => {
                let missing =
                    || Diagnostic::request("interp/input-missing", format!("`{}` is not given", o.name));
                scalars.push(given.ok_or_else(missing)?.get(0) as i64);
                None
            }
            Role::Input { .. } | Role::Table { .. } => {
                made.get(&o.name).map(Source::Made).or(given.map(Source::Given))
            }
        };
        sources.push(source);
    }
    Ok(Context { kernel, sources, scalars, domain })
}

fn checked_cells(kernel: &Kernel) -> Result<usize> {
    let cells = kernel.cells();
    if cells < u32::MAX as usize {
        return Ok(cells);
    }
    Err(Diagnostic::request("interp/too-large", format!("kernel `{}` has {cells} grid cells", kernel.name))
        .rule("the interpreter runs fewer than 2^32 - 1 cells")
        .help("run chosen cells"))
}

fn check_size(kernel: &Kernel, cells: &[usize]) -> Result<()> {
    if let Some(cell) = cells.iter().find(|&&c| c >= kernel.cells().min(u32::MAX as usize - 1)) {
        let message = format!("cell {cell} of kernel `{}`, which has {}", kernel.name, kernel.cells());
        return Err(
            Diagnostic::request("interp/cell", message).rule("a chosen cell lies below 2^32 - 1 in its grid")
        );
    }
    match kernel.values.iter().find(|v| v.ty.shape.elements() > MAX_TILE) {
        None => Ok(()),
        Some(v) => {
            let message = format!("a tile {} of kernel `{}`", v.ty, kernel.name);
            Err(Diagnostic::request("interp/too-large", message)
                .rule("the interpreter holds tiles of up to 2^28 elements")
                .help("split the problem into more grid cells"))
        }
    }
}
