//! What the corpus must hold: every op of the table, and every element type, in a file that the interpreter runs.

use std::collections::BTreeSet;

use tilewright_ir::{DType, OPS, parse};

use crate::file::File;
use crate::modes::Mode;

/// Names an op or an element type that no interpreted file has.
pub fn check(files: &[File]) -> Result<(), String> {
    let (mut ops, mut dtypes) = (BTreeSet::new(), BTreeSet::new());
    let interpreted = files.iter().filter(|f| f.modes().contains(&Ok(Mode::Interp)));
    for program in interpreted.flat_map(|f| &f.cases).filter_map(|case| parse(&case.text, "corpus").ok()) {
        for kernel in &program.kernels {
            kernel.walk(&mut |op| {
                ops.insert(op.kind.form().name());
            });
            dtypes.extend(kernel.values.iter().map(|v| v.ty.dtype));
        }
    }
    let missing: Vec<&str> = OPS
        .iter()
        .map(|d| d.name)
        .filter(|name| !ops.contains(name))
        .chain(DType::ALL.into_iter().filter(|d| !dtypes.contains(d)).map(DType::name))
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no interpreted file has {}", missing.join(", "))) }
}
