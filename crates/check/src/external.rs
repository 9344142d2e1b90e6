//! Operands from files: real weights and activations in place of drawn ones.

use std::path::Path;

use tilewright_diag::{Diagnostic, Result, Span};
use tilewright_dtype::files::{SafeTensorsFile, read_npy};
use tilewright_dtype::{DType, Tensor};
use tilewright_ir::Program;
use tilewright_kernels::Inputs;

/// An operand's values, as they were read.
#[derive(Clone, Debug)]
pub struct External {
    /// The operand's name.
    pub name: String,
    /// Its values, of the file's type and shape.
    pub tensor: Tensor,
    /// Where they came from, as the user wrote it.
    pub from: String,
}

/// Reads `NAME=FILE.safetensors:TENSOR` or `NAME=FILE.npy`.
///
/// Errors (class request): `check/input-syntax`; those of reading the file, which name it.
pub fn read(text: &str) -> Result<External> {
    let wrong = |what: &str| {
        Diagnostic::request("check/input-syntax", format!("`{text}` {what}"))
            .rule("NAME=FILE.safetensors:TENSOR, or NAME=FILE.npy")
            .help("--input b=model.safetensors:encoder.layer.0.attention.self.query.weight")
    };
    let (name, from) = text.split_once('=').ok_or_else(|| wrong("names no operand"))?;
    if name.is_empty() || from.is_empty() {
        return Err(wrong("is incomplete"));
    }
    if let Some((file, _)) = from.split_once(".npy:") {
        return Err(
            wrong("names a tensor of a file that holds one array").help(format!("--input {name}={file}.npy"))
        );
    }
    let tensor = if from.ends_with(".npy") {
        read_npy(from)?
    } else {
        // The first such mark, for tensors may be named with colons.
        let mark = from.find(".safetensors:").map(|at| at + ".safetensors".len());
        let at = mark.or_else(|| from.rfind(':')).ok_or_else(|| wrong("names no tensor of the file"))?;
        let (file, tensor) = (&from[..at], &from[at + 1..]);
        if tensor.is_empty() {
            return Err(with_names(wrong("names no tensor of the file"), Path::new(file)));
        }
        SafeTensorsFile::open(file)?.tensor(tensor)?
    };
    Ok(External { name: name.to_string(), tensor, from: from.to_string() })
}

/// Reads operands for a program: their values by name, and a sentence on each.
///
/// Errors (class request): those of [`read`] and [`fit`]; `check/input-repeated`.
pub fn given<S: AsRef<str>>(texts: &[S], program: &Program) -> Result<(Inputs, Vec<String>)> {
    let (mut inputs, mut notes) = (Inputs::new(), Vec::new());
    for text in texts {
        let external = read(text.as_ref())?;
        let (tensor, how) = fit(&external, program)?;
        if inputs.insert(external.name.clone(), tensor).is_some() {
            let message = format!("`{}` is given twice", external.name);
            return Err(Diagnostic::request("check/input-repeated", message));
        }
        notes.push(how);
    }
    Ok((inputs, notes))
}

/// The values as the program takes them, and a sentence on what was done to them.
///
/// The shape must be the operand's, dimensions of 1 left out of account: a transposed file goes with the problem's own
/// flags (`ta`, `tb`). Another type is converted, each value rounded once to nearest even; what lies beyond the type's
/// range is refused, for it would become infinite or be cut off.
///
/// Errors (class request): `check/input-name`, `check/input-shape`, `check/input-range`.
pub fn fit(external: &External, program: &Program) -> Result<(Tensor, String)> {
    let operands = program.operands();
    let given = operands.iter().filter(|o| o.given).map(|o| &o.operand);
    let Some(operand) = given.clone().find(|o| o.name == external.name) else {
        let known = given.map(|o| o.name.as_str());
        return Err(Diagnostic::unknown("check/input-name", "operand", &external.name, known));
    };
    let (have, want) = (external.tensor.shape(), operand.shape.dims());
    if !significant(have).eq(significant(want)) {
        let turned = significant(have).eq(significant(want).collect::<Vec<_>>().into_iter().rev());
        let d = Diagnostic::request(
            "check/input-shape",
            format!("`{}` is {have:?}, the operand `{}` is {want:?}", external.from, operand.name),
        )
        .rule("a given operand has the operand's shape, dimensions of 1 apart")
        .at(Span::file(external.from.clone()));
        return Err(if turned {
            d.help("it is the transpose: set the problem's flag (`ta`, `tb`)")
        } else {
            d
        });
    }
    let (from, to) = (external.tensor.dtype(), operand.dtype);
    let values = external.tensor.to_f64();
    if let Some((i, x)) = values.iter().enumerate().find(|(_, x)| !fits(**x, to)) {
        return Err(Diagnostic::request(
            "check/input-range",
            format!("element {i} of `{}` is {x}", external.from),
        )
        .rule(format!("{to} has no such value")));
    }
    let rounded = values.iter().filter(|x| to.round(**x) != **x && !x.is_nan()).count();
    let tensor = Tensor::from_f64(to, want, &values)?;
    let how = match (from == to, rounded) {
        (true, _) => format!("`{}` is {}", operand.name, external.from),
        (false, 0) => format!("`{}` is {}, {from} converted to {to} exactly", operand.name, external.from),
        (false, n) => format!(
            "`{}` is {}, {from} rounded to {to}: {n} of {} values change",
            operand.name,
            external.from,
            values.len()
        ),
    };
    Ok((tensor, how))
}

fn significant(dims: &[usize]) -> impl Iterator<Item = usize> + '_ {
    dims.iter().copied().filter(|&d| d != 1)
}

/// Whether a value stays what it is, but for rounding.
fn fits(x: f64, dtype: DType) -> bool {
    match dtype.int_range() {
        Some((lo, hi)) => x.fract() == 0.0 && (lo as f64..=hi as f64).contains(&x),
        None if x.is_nan() => true,
        None if x.is_infinite() => dtype.has_infinity(),
        None => dtype.round(x).is_finite(),
    }
}

fn with_names(d: Box<Diagnostic>, file: &Path) -> Box<Diagnostic> {
    match SafeTensorsFile::open(file) {
        Ok(opened) => {
            let some: Vec<&str> = opened.names().take(8).collect();
            d.note(format!("`{}` has {} …", file.display(), some.join(", ")))
        }
        Err(fault) => fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_ir::Builder;

    /// A safetensors file of one f32 tensor.
    fn file(folder: &Path, tensor: &str, shape: &[usize], values: &[f32]) -> String {
        let header = format!(
            r#"{{"{tensor}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[0,{}]}}}}"#,
            4 * values.len()
        );
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        let path = folder.join("model.safetensors");
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }

    fn program(dtype: DType, dims: &[usize]) -> Program {
        let b = Builder::new("copy");
        let x = b.input("x", dtype, dims);
        let y = b.output("y", dtype, dims);
        let [i] = b.grid([("i", 1)]);
        y.store((i, 0), x.load((i, 0), dims));
        Program::single(b.finish().unwrap())
    }

    #[test]
    fn a_tensor_is_read_converted_and_described() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "w:0", &[4], &[1.0, 0.1, -2.5, 3.0]);
        let read = read(&format!("x={path}:w:0")).unwrap();
        assert_eq!((read.name.as_str(), read.tensor.shape()), ("x", &[4][..]));
        let (x, how) = fit(&read, &program(DType::F32, &[1, 4])).unwrap();
        assert_eq!((x.shape(), x.get(2)), (&[1, 4][..], -2.5));
        assert!(how.ends_with(":w:0"), "{how}");
        let (x, how) = fit(&read, &program(DType::BF16, &[1, 4])).unwrap();
        assert_eq!(x.get(1), 0.10009765625);
        assert!(how.contains("1 of 4 values change"), "{how}");
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "w", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 1e6]);
        let code = |text: &str, p: &Program| read(text).and_then(|x| fit(&x, p)).unwrap_err();
        let good = program(DType::F32, &[2, 3]);
        assert_eq!(code("x", &good).code, "check/input-syntax");
        assert_eq!(code(&format!("x={path}"), &good).code, "check/input-syntax");
        let d = code(&format!("x={path}:"), &good);
        assert!(d.code == "check/input-syntax" && d.notes.iter().any(|n| n.contains("w")), "{d}");
        assert_eq!(code(&format!("x={path}:v"), &good).code, "file/unknown-tensor");
        assert_eq!(code(&format!("z={path}:w"), &good).code, "check/input-name");
        let d = code(&format!("x={path}:w"), &program(DType::F32, &[3, 2]));
        assert!(d.code == "check/input-shape" && d.help.is_some_and(|h| h.contains("transpose")));
        assert_eq!(code(&format!("x={path}:w"), &program(DType::F16, &[2, 3])).code, "check/input-range");
        assert_eq!(code(&format!("x={path}:w"), &program(DType::I8, &[2, 3])).code, "check/input-range");
        let twice = [format!("x={path}:w"), format!("x={path}:w")];
        assert_eq!(given(&twice, &good).unwrap_err().code, "check/input-repeated");
        assert_eq!(code("x=/nowhere.safetensors:w", &good).code, "file/not-found");
    }
}
