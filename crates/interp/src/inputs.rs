//! What a program is given, and the checks that it fits.

use std::collections::BTreeMap;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::Tensor;
use tilewright_ir::{Operand, Program, Role};

/// A program's inputs by name: arrays, scalars (i32 of rank 0) and tables (i32 of rank 1).
pub type Inputs = BTreeMap<String, Tensor>;

/// Checks that `inputs` are what `program` takes: `interp/input-missing`, `interp/input-unknown`,
/// `interp/input-dtype`, `interp/input-shape`, and `interp/input-range` for scalars and tables.
pub(crate) fn check(program: &Program, inputs: &Inputs) -> Result<()> {
    let operands = program.operands();
    let given = || operands.iter().filter(|o| o.given).map(|o| &o.operand);
    for name in inputs.keys() {
        if !given().any(|o| o.name == *name) {
            let known = given().map(|o| o.name.as_str());
            return Err(Diagnostic::unknown("interp/input-unknown", "input", name, known));
        }
    }
    for operand in given() {
        let Some(tensor) = inputs.get(&operand.name) else {
            let message =
                format!("input `{}: {}{}` is not given", operand.name, operand.dtype, operand.shape);
            return Err(Diagnostic::request("interp/input-missing", message));
        };
        fits(operand, tensor)?;
    }
    // Kernels may state different ranges for one scalar.
    program.kernels.iter().flat_map(|k| &k.operands).try_for_each(|o| match (&o.role, inputs.get(&o.name)) {
        (Role::Scalar { min, max } | Role::Table { min, max }, Some(t)) => in_range(o, t, *min, *max),
        _ => Ok(()),
    })
}

fn fits(operand: &Operand, tensor: &Tensor) -> Result<()> {
    let refuse = |code, rule: &str| {
        let message = format!(
            "`{}` is {}{:?} where the program takes {}{}",
            operand.name,
            tensor.dtype(),
            tensor.shape(),
            operand.dtype,
            operand.shape
        );
        Err(Diagnostic::request(code, message).rule(rule))
    };
    if tensor.dtype() != operand.dtype {
        return refuse("interp/input-dtype", "an input has its operand's element type");
    }
    if tensor.shape() != operand.shape.dims() {
        return refuse("interp/input-shape", "an input has its operand's shape");
    }
    Ok(())
}

fn in_range(operand: &Operand, tensor: &Tensor, min: i32, max: i32) -> Result<()> {
    let range = f64::from(min)..=f64::from(max);
    match (0..tensor.len()).find(|&i| !range.contains(&tensor.get(i))) {
        None => Ok(()),
        Some(i) => Err(Diagnostic::request(
            "interp/input-range",
            format!("element {i} of `{}` is {}, outside of {min}..={max}", operand.name, tensor.get(i)),
        )
        .rule("run-time scalars and tables lie in their declared range")),
    }
}
