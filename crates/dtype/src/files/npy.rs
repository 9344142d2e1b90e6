//! Reads and writes NumPy's `.npy`: a magic string, a version, a Python dictionary literal padded to a multiple of 64
//! bytes, then the elements.
//!
//! Source: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use tilewright_diag::{Diagnostic, Result};

use super::{corrupt, not_a_bool, open, unreadable};
use crate::tensor::required_bytes;
use crate::{DType, Tensor};

const CORRUPT: &str = "file/corrupt-npy";
const UNSUPPORTED: &str = "file/unsupported-dtype";
const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read, in bytes; NumPy's own default limit is 10,000.
const MAX_HEADER_BYTES: u64 = 10_000;

/// NumPy's names of the element types that are read and written.
const DTYPES: [(&str, DType); 7] = [
    ("<f8", DType::F64),
    ("<f4", DType::F32),
    ("<f2", DType::F16),
    ("<i4", DType::I32),
    ("|i1", DType::I8),
    ("|u1", DType::U8),
    ("|b1", DType::Bool),
];

/// Reads a C-ordered, little-endian array of `f64`, `f32`, `f16`, `i32`, `i8`, `u8` or `bool`.
///
/// The file must hold exactly the elements that its header announces.
pub fn read_npy(path: impl AsRef<Path>) -> Result<Tensor> {
    let path = path.as_ref();
    let (mut file, file_bytes) = open(path)?;
    let (header, data_start) = read_header(path, &mut file, file_bytes)?;
    let (dtype, shape) = checked(path, &header)?;
    let needed = required_bytes(dtype, &shape).map_err(|e| corrupt(CORRUPT, path, e.message))? as u64;
    if needed != file_bytes - data_start {
        let found = file_bytes - data_start;
        let fault = format!("{dtype}{shape:?} takes {needed} bytes, {found} follow the header");
        return Err(corrupt(CORRUPT, path, fault));
    }
    let mut tensor = Tensor::try_new(dtype, &shape)?;
    file.read_exact(tensor.bytes_mut()).map_err(|e| unreadable(path, &e))?;
    match not_a_bool(&tensor) {
        Some((i, byte)) => {
            let fault = format!("element {i} of a bool array is the byte {byte}, not 0 or 1");
            Err(corrupt(CORRUPT, path, fault))
        }
        None => Ok(tensor),
    }
}

/// Writes a tensor of one of the types that [`read_npy`] reads; `file/unsupported-dtype` for the others, which NumPy
/// has no name for.
pub fn write_npy(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    let path = path.as_ref();
    let dtype = tensor.dtype();
    let Some((descr, _)) = DTYPES.iter().find(|(_, known)| *known == dtype) else {
        return Err(corrupt(UNSUPPORTED, path, format!("NumPy has no element type for {dtype}"))
            .help(format!("cast to {}, which holds every value of {dtype}", wider(dtype))));
    };
    let dims: String = tensor.shape().iter().map(|n| format!("{n}, ")).collect();
    let dims = if tensor.shape().len() == 1 { dims.trim_end() } else { dims.trim_end_matches(", ") };
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    // Magic, version and length take 10 bytes; the newline that ends the header takes one.
    let padded = (10 + dictionary.len() + 1).next_multiple_of(64) - 10;
    let length = u16::try_from(padded).map_err(|_| {
        Diagnostic::request(
            "file/unwritable",
            format!("{} dimensions exceed the header", tensor.shape().len()),
        )
    })?;
    let write = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(MAGIC)?;
        file.write_all(&[1, 0])?;
        file.write_all(&length.to_le_bytes())?;
        file.write_all(format!("{dictionary:<width$}\n", width = padded - 1).as_bytes())?;
        file.write_all(tensor.bytes())?;
        file.flush()
    };
    write().map_err(|e| {
        Diagnostic::request("file/unwritable", format!("cannot write `{}`: {e}", path.display()))
    })
}

/// The narrowest type with a NumPy name that holds every value of one without.
fn wider(dtype: DType) -> DType {
    match dtype {
        DType::F8E4M3 | DType::F8E5M2 => DType::F16,
        DType::I4 => DType::I8,
        _ => DType::F32,
    }
}

/// The header's text and the offset of the first element.
fn read_header(path: &Path, file: &mut File, file_bytes: u64) -> Result<(String, u64)> {
    let mut read = |n: u64, at: u64| -> Result<Vec<u8>> {
        if n > file_bytes.saturating_sub(at) {
            return Err(corrupt(
                CORRUPT,
                path,
                format!("the file ends at byte {file_bytes}, within the header"),
            ));
        }
        let mut bytes = vec![0; n as usize];
        file.read_exact(&mut bytes).map_err(|e| unreadable(path, &e))?;
        Ok(bytes)
    };
    let start = read(8, 0)?;
    if start[..6] != MAGIC[..] {
        return Err(corrupt(CORRUPT, path, "the file does not begin with NumPy's magic string"));
    }
    let length_bytes = match (start[6], start[7]) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        (major, minor) => {
            return Err(corrupt(
                CORRUPT,
                path,
                format!("version {major}.{minor} of the format is not known"),
            ));
        }
    };
    let length =
        read(length_bytes, 8)?.iter().rev().fold(0, |length: u64, byte| length << 8 | u64::from(*byte));
    if length > MAX_HEADER_BYTES {
        let fault = format!("the header claims {length} bytes, more than {MAX_HEADER_BYTES}");
        return Err(corrupt(CORRUPT, path, fault));
    }
    let text = String::from_utf8(read(length, 8 + length_bytes)?)
        .map_err(|_| corrupt(CORRUPT, path, "the header is not text"))?;
    Ok((text, 8 + length_bytes + length))
}

/// Type and shape of a header that describes an array which can be read.
fn checked(path: &Path, header: &str) -> Result<(DType, Vec<usize>)> {
    let array = parse_dictionary(header)
        .map_err(|fault| corrupt(CORRUPT, path, format!("the header `{}`: {fault}", header.trim_end())))?;
    // NumPy writes `|` for one-byte types, where the order of bytes means nothing, and reads any mark there.
    let descr = match array.descr.strip_prefix(['<', '=', '>']) {
        Some(one_byte @ ("i1" | "u1" | "b1")) => format!("|{one_byte}"),
        _ => array.descr,
    };
    let Some((_, dtype)) = DTYPES.iter().find(|(name, _)| *name == descr) else {
        let help = match descr.strip_prefix('>') {
            Some(swapped) => format!("store it as little-endian: `a.astype('<{swapped}')`"),
            None => "convert it first, e.g. `a.astype(np.float32)` or `a.astype(np.int32)`".to_string(),
        };
        let fault = format!("the element type `{descr}` is not supported");
        return Err(corrupt(UNSUPPORTED, path, fault).help(help));
    };
    if array.fortran_order && array.shape.iter().filter(|n| **n > 1).count() > 1 {
        return Err(corrupt("file/unsupported-order", path, "the array is in Fortran order")
            .rule("arrays are stored in C order: the last dimension varies fastest")
            .help("store `np.ascontiguousarray(a)`"));
    }
    Ok((*dtype, array.shape))
}

/// What the header's dictionary says.
struct Array {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// Parses the one dictionary literal that the format allows: these three keys, each once, in any order.
fn parse_dictionary(text: &str) -> std::result::Result<Array, String> {
    let mut literal = Literal { rest: text };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    literal.expect("{")?;
    while !literal.accept("}") {
        let key = literal.string()?;
        literal.expect(":")?;
        let repeated = match key {
            "descr" => descr.replace(literal.string()?.to_string()).is_some(),
            "fortran_order" => fortran_order.replace(literal.boolean()?).is_some(),
            "shape" => shape.replace(literal.tuple()?).is_some(),
            _ => return Err(format!("unknown key `{key}`")),
        };
        if repeated {
            return Err(format!("key `{key}` appears twice"));
        }
        if !literal.accept(",") {
            literal.expect("}")?;
            break;
        }
    }
    if !literal.rest.trim().is_empty() {
        return Err(format!("`{}` follows the dictionary", literal.rest.trim()));
    }
    match (descr, fortran_order, shape) {
        (Some(descr), Some(fortran_order), Some(shape)) => Ok(Array { descr, fortran_order, shape }),
        _ => Err("`descr`, `fortran_order` and `shape` must all be present".to_string()),
    }
}

/// What is left to read of a Python literal.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn accept(&mut self, token: &str) -> bool {
        match self.rest.trim_start().strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> std::result::Result<(), String> {
        if self.accept(token) {
            Ok(())
        } else {
            Err(format!("expected `{token}` before `{}`", self.rest.trim()))
        }
    }

    /// A quoted string without escapes.
    fn string(&mut self) -> std::result::Result<&'a str, String> {
        let quote = if self.accept("'") {
            '\''
        } else {
            self.expect("\"")?;
            '"'
        };
        let (string, rest) = self.rest.split_once(quote).ok_or("a string does not end")?;
        self.rest = rest;
        Ok(string)
    }

    fn boolean(&mut self) -> std::result::Result<bool, String> {
        if self.accept("True") {
            return Ok(true);
        }
        self.expect("False").map(|()| false)
    }

    /// A tuple of sizes. `(4)` is a number in parentheses; the tuple is `(4,)`.
    fn tuple(&mut self) -> std::result::Result<Vec<usize>, String> {
        let mut sizes = Vec::new();
        self.expect("(")?;
        while !self.accept(")") {
            sizes.push(self.size()?);
            if !self.accept(",") {
                self.expect(")")?;
                if sizes.len() == 1 {
                    return Err(format!("the shape ({}) is not a tuple", sizes[0]));
                }
                break;
            }
        }
        Ok(sizes)
    }

    fn size(&mut self) -> std::result::Result<usize, String> {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, rest) = text.split_at(end);
        self.rest = rest;
        digits.parse().map_err(|_| format!("`{}` in the shape is not a size", text.trim_end()))
    }
}
