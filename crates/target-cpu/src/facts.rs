//! What the CPU target takes and refuses, as data, checked before anything is lowered.

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;
use tilewright_ir::{Kernel, Op, OpKind, Program, Value};

/// Element types that the target refuses, each with the reason and the nearest that works.
pub const REFUSED_DTYPES: &[(DType, &str, &str)] = &[(
    DType::F64,
    "f64 is for references: no vector math or micro-kernel is emitted for it",
    "use f32, or run the kernel in the interpreter",
)];

/// The most elements of a tile. Its buffer lies in each thread's scratch; addresses of many such stay far below 2^63.
pub const MOST_ELEMENTS: usize = 1 << 32;

/// Refuses what the target cannot lower, naming the kernel's source line and the rule.
pub fn check(program: &Program) -> Result<()> {
    program.kernels.iter().try_for_each(kernel)
}

fn kernel(kernel: &Kernel) -> Result<()> {
    for operand in &kernel.operands {
        refuse_dtype(operand.dtype, &format!("operand `{}` of kernel `{}`", operand.name, kernel.name))
            .map_err(|d| d.at(operand.loc.span()))?;
    }
    let mut fault = None;
    kernel.walk(&mut |op| {
        if fault.is_some() {
            return;
        }
        let dtypes = op.results.iter().map(|&v| kernel.ty(v).dtype);
        let refused = dtypes
            .map(|d| refuse_dtype(d, &format!("`{}` in kernel `{}`", op.kind.form().name(), kernel.name)))
            .find(|r| r.is_err());
        let verdict =
            refused.unwrap_or(Ok(())).and_then(|()| size(kernel, op)).and_then(|()| i4_store(kernel, op));
        fault = verdict.err().map(|d| d.at_if_absent(Some(op.loc.span())));
    });
    fault.map_or(Ok(()), Err)
}

fn refuse_dtype(dtype: DType, what: &str) -> Result<()> {
    match REFUSED_DTYPES.iter().find(|(d, _, _)| *d == dtype) {
        Some((_, why, instead)) => {
            Err(Diagnostic::request("cpu/dtype", format!("{what} is {dtype}")).rule(*why).help(*instead))
        }
        None => Ok(()),
    }
}

fn size(kernel: &Kernel, op: &Op) -> Result<()> {
    let large = |&v: &Value| kernel.ty(v).shape.elements() > MOST_ELEMENTS;
    match op.results.iter().copied().find(large) {
        Some(v) => Err(Diagnostic::request("cpu/tile-size", format!("a tile of type {}", kernel.ty(v)))
            .rule("a tile has at most 2^32 elements")
            .help("smaller tiles, and a grid or a fold over them")),
        None => Ok(()),
    }
}

/// Two i4 elements share a byte, which two grid cells must not write at once.
fn i4_store(kernel: &Kernel, op: &Op) -> Result<()> {
    let OpKind::Store { array } = op.kind else { return Ok(()) };
    let array = kernel.operand(array);
    let tile = op.operands.last().map(|&v| kernel.ty(v));
    let odd = |shape: &[usize]| shape.last().is_none_or(|n| n % 2 == 1);
    match tile {
        Some(t) if t.dtype == DType::I4 && (odd(t.shape.dims()) || odd(array.shape.dims())) => {
            Err(Diagnostic::request(
                "cpu/i4-store",
                format!("store of {t} to `{}: i4{}`", array.name, array.shape),
            )
            .rule("stored i4 tiles and arrays have an even last dimension: two elements share a byte")
            .help("store i8, or make the last dimension even"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use tilewright_dtype::DType;
    use tilewright_ir::{Builder, Program};

    use crate::features::CpuFeatures;
    use crate::lower::{Options, lower};

    fn refusal(record: impl FnOnce(&Builder)) -> &'static str {
        let k = Builder::new("k");
        record(&k);
        let program = Program::single(k.finish().unwrap());
        lower(&program, Options::new(CpuFeatures::BASELINE)).map_or_else(|d| d.code, |_| "")
    }

    #[test]
    fn what_cannot_be_lowered_is_refused() {
        let copy = |dtype, dims: [usize; 2]| {
            refusal(|k| {
                let (x, o) = (k.input("x", dtype, &dims), k.output("o", dtype, &dims));
                k.grid([("i", 1)]);
                o.store((0, 0), x.load((0, 0), &dims));
            })
        };
        assert_eq!(copy(DType::F64, [2, 2]), "cpu/dtype");
        assert_eq!(copy(DType::I4, [2, 3]), "cpu/i4-store");
        assert_eq!(copy(DType::I4, [3, 2]), "");
        assert_eq!(copy(DType::F32, [1 << 40, 2]), "cpu/tile-size");
    }
}
