//! LLVM IR text.

mod text;

use tilewright_diag::{Diagnostic, Result};
use tilewright_ir::Program;

use crate::lower::{Lowered, Options};

pub fn program(_program: &Program, _options: Options) -> Result<Lowered> {
    Err(Diagnostic::request("cpu/unfinished", "being written"))
}
