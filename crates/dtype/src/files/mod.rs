//! Tensor files: safetensors (read) and `.npy` (read and write).
//!
//! A fault is a diagnostic that names the file, the tensor where there is one, and what is wrong: `file/not-found`,
//! `file/unreadable`, `file/unwritable`, `file/corrupt-safetensors`, `file/corrupt-npy`, `file/unknown-tensor`,
//! `file/unsupported-dtype`.

mod npy;
mod safetensors;

pub use npy::{read_npy, write_npy};
pub use safetensors::{SafeTensorsFile, TensorInfo};

use std::fs::File;
use std::io;
use std::path::Path;

use tilewright_diag::{Diagnostic, Result, Span};

use crate::{DType, Tensor};

/// Opens a file to read and yields its length in bytes.
fn open(path: &Path) -> Result<(File, u64)> {
    // To open a pipe may wait for ever, and a device may never end.
    let opened = std::fs::metadata(path).and_then(|metadata| {
        if metadata.is_dir() {
            Err(io::ErrorKind::IsADirectory.into())
        } else if !metadata.is_file() {
            Err(io::Error::other("it is a pipe or a device, not a file"))
        } else {
            Ok((File::open(path)?, metadata.len()))
        }
    });
    opened.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            Diagnostic::request("file/not-found", format!("no file `{}`", path.display()))
        }
        _ => unreadable(path, &e),
    })
}

fn unreadable(path: &Path, e: &io::Error) -> Box<Diagnostic> {
    Diagnostic::request("file/unreadable", format!("cannot read `{}`: {e}", path.display()))
}

/// A fault in the content of `path`.
fn corrupt(code: &'static str, path: &Path, fault: impl Into<String>) -> Box<Diagnostic> {
    Diagnostic::request(code, fault).at(Span::file(path.display().to_string()))
}

/// The first element of a `bool` tensor that is stored as neither 0 nor 1, and its byte.
fn not_a_bool(tensor: &Tensor) -> Option<(usize, u8)> {
    if tensor.dtype() != DType::Bool {
        return None;
    }
    tensor.bytes().iter().copied().enumerate().find(|(_, byte)| *byte > 1)
}
