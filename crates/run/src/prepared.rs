//! A compiled program with its arrays wired: what remains of a launch is the launch.
#![allow(unsafe_code, reason = "keeps the addresses of tensors that it owns")]

use std::collections::BTreeMap;
use std::sync::Arc;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::Tensor;
use tilewright_ir::{ProgramOperand, Role};

use crate::launch::{OPERAND_ALIGN, Pool};
use crate::program::{Compiled, Stage, empty, expect, fill_identity, missing, scalar};

/// A program and all of its arrays, ready to run again and again.
///
/// ```no_run
/// # use tilewright_diag::Result;
/// # fn run(compiled: tilewright_run::Compiled, a: tilewright_dtype::Tensor) -> Result<()> {
/// let pool = tilewright_run::Pool::new(0)?;
/// let mut softmax = compiled.prepare([("x".to_string(), a)].into())?;
/// softmax.run(&pool)?;
/// println!("{:?}", softmax.get("y")?.to_f64());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Prepared {
    compiled: Compiled,
    /// One for each of the program's arrays. Only their bytes change while their addresses stand in `wires`.
    tensors: Vec<Tensor>,
    wires: Vec<Wires>,
}

/// What one stage is launched with.
#[derive(Debug)]
struct Wires {
    pointers: Box<[*mut u8]>,
    scalars: Box<[i32]>,
}

// SAFETY: the pointers lead into `tensors`, which move along; they are used by `run` alone, which borrows all mutably.
unsafe impl Send for Prepared {}

impl Prepared {
    pub(crate) fn new(compiled: &Compiled, mut given: BTreeMap<String, Tensor>) -> Result<Prepared> {
        let mut tensors = Vec::with_capacity(compiled.arrays.len());
        for array in compiled.arrays.iter() {
            let name = &array.operand.name;
            let tensor = match given.remove(name) {
                Some(tensor) => tensor,
                None if !array.given => empty(array)?,
                None => return Err(missing(name, given.keys().map(String::as_str))),
            };
            expect(array, &tensor)?;
            tensors.push(tensor);
        }
        let mut prepared = Prepared { compiled: compiled.clone(), tensors, wires: Vec::new() };
        prepared.check_promises(None)?;
        prepared.wire()?;
        Ok(prepared)
    }

    /// Runs the program on the arrays as they are.
    ///
    /// Errors: `run/out-of-memory` where a thread's scratch cannot be had; `run/out-of-range` where an earlier kernel
    /// made a table that breaks its promise.
    pub fn run(&mut self, pool: &Pool) -> Result<()> {
        let arrays = &self.compiled.arrays;
        for (stage, wires) in self.compiled.stages.iter().zip(&self.wires) {
            for promise in &stage.promises {
                promise.check(arrays, self.tensors[promise.array].bytes())?;
            }
            for &(array, op) in &stage.combines {
                fill_identity(self.tensors[array].bytes_mut(), arrays[array].operand.dtype, op);
            }
            let arena = stage.signature.arena_bytes;
            // SAFETY: `new` and `set` held every tensor to the declared type and shape, so to the sizes of the stage's
            // signature, and the scalars and tables to their ranges; the tensors are aligned, distinct allocations,
            // which this call borrows mutably as a whole. That the code keeps to it is the condition at `Module`.
            unsafe {
                pool.launch(&stage.entry, &wires.pointers, &wires.scalars, stage.cells, arena, stage.chunk)?
            };
        }
        Ok(())
    }

    /// An array, scalar or table.
    ///
    /// Errors (class request): `run/missing-array`.
    pub fn get(&self, name: &str) -> Result<&Tensor> {
        Ok(&self.tensors[self.place(name)?])
    }

    /// The stored bytes of an array, to write. Scalars and tables have promises to keep: see [`Prepared::set`].
    ///
    /// Errors (class request): `run/missing-array`, `run/wrong-array`.
    pub fn bytes_mut(&mut self, name: &str) -> Result<&mut [u8]> {
        let place = self.place(name)?;
        if matches!(self.compiled.arrays[place].operand.role, Role::Scalar { .. } | Role::Table { .. }) {
            let message = format!("`{name}` is a scalar or table, whose bytes are not lent out");
            return Err(Diagnostic::request("run/wrong-array", message).help("`set` it"));
        }
        Ok(self.tensors[place].bytes_mut())
    }

    /// Puts another tensor in the place of an array, scalar or table and returns the one that was there.
    ///
    /// Errors (class request): `run/missing-array`, `run/wrong-array`, `run/out-of-range`; the array then stays.
    pub fn set(&mut self, name: &str, tensor: Tensor) -> Result<Tensor> {
        let place = self.place(name)?;
        expect(&self.compiled.arrays[place], &tensor)?;
        let old = std::mem::replace(&mut self.tensors[place], tensor);
        if let Err(fault) = self.check_promises(Some(place)) {
            self.tensors[place] = old;
            return Err(fault);
        }
        self.wire()?;
        Ok(old)
    }

    /// All arrays, by name.
    pub fn into_tensors(self) -> BTreeMap<String, Tensor> {
        let names = self.compiled.arrays.iter().map(|a| a.operand.name.clone());
        names.zip(self.tensors).collect()
    }

    fn place(&self, name: &str) -> Result<usize> {
        let names = self.compiled.arrays.iter().map(|a| a.operand.name.as_str());
        names.clone().position(|n| n == name).ok_or_else(|| missing(name, names))
    }

    fn check_promises(&self, only: Option<usize>) -> Result<()> {
        let promises = self.compiled.promises.iter().filter(|p| only.is_none_or(|o| o == p.array));
        promises.clone().try_for_each(|p| p.check(&self.compiled.arrays, self.tensors[p.array].bytes()))
    }

    fn wire(&mut self) -> Result<()> {
        let stages: Arc<[Stage]> = self.compiled.stages.clone();
        let arrays: Arc<[ProgramOperand]> = self.compiled.arrays.clone();
        let wire = |stage: &Stage| {
            let pointers: Box<[*mut u8]> =
                stage.arrays.iter().map(|&i| self.tensors[i].as_mut_ptr()).collect();
            debug_assert!(pointers.iter().all(|p| p.addr().is_multiple_of(OPERAND_ALIGN)));
            let scalars = stage.scalars.iter().map(|&i| scalar(&arrays[i], self.tensors[i].bytes()));
            Ok(Wires { pointers, scalars: scalars.collect::<Result<_>>()? })
        };
        self.wires = stages.iter().map(wire).collect::<Result<_>>()?;
        Ok(())
    }
}
