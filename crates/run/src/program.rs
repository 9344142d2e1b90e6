//! A lowered program, compiled and loaded, with its arrays wired by name.
//!
//! [`Compiled::run`] takes and fills tensors; [`Compiled::run_bytes`] does so in place, in memory that the caller lends;
//! [`Compiled::prepare`] wires tensors once, for launches that cost nothing beside the kernels.

use std::collections::BTreeMap;
use std::sync::Arc;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::{DType, Tensor};
use tilewright_ir::{Kernel, Program, ProgramOperand, ReduceOp, Role, rules};
use tilewright_target_cpu::{Lowered, LoweredKernel};

use crate::compile::{Compiler, Object};
use crate::launch::{Arg, ArgSpec, Pool, Signature};
use crate::module::{Entry, Module};
use crate::prepared::Prepared;

/// A program as loaded code.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub(crate) arrays: Arc<[ProgramOperand]>,
    pub(crate) stages: Arc<[Stage]>,
    /// What the caller promises of the scalars and tables that it gives: the code leaves out checks by it.
    pub(crate) promises: Arc<[Promise]>,
    object: Object,
}

/// One kernel of the program. Arrays are named by their place in [`Compiled::arrays`].
#[derive(Debug)]
pub(crate) struct Stage {
    pub entry: Entry,
    pub signature: Signature,
    pub arrays: Vec<usize>,
    pub scalars: Vec<usize>,
    pub cells: i64,
    /// As [`Pool::launch`] takes it.
    pub chunk: i64,
    /// Outputs that start from the identity of what combines writes to them.
    pub combines: Vec<(usize, ReduceOp)>,
    /// Tables that an earlier kernel made.
    pub promises: Vec<Promise>,
}

/// Each element of an i32 array lies in `min ..= max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Promise {
    pub array: usize,
    pub min: i32,
    pub max: i32,
}

impl Compiled {
    /// Compiles and loads what `program` was lowered to, with the compiler that the environment asks for. `flags` are
    /// clang's, those of the CPU features that the text was lowered for.
    ///
    /// Errors (class tool): those of [`Compiler::compile`] and [`Module::load`]; `run/lowered-mismatch` where `lowered`
    /// is not that of `program`.
    pub fn new(program: &Program, lowered: &Lowered, flags: &[String]) -> Result<Compiled> {
        Compiled::with(Compiler::shared()?, program, lowered, flags)
    }

    /// As [`Compiled::new`], with a compiler of the caller's.
    pub fn with(
        compiler: &Compiler,
        program: &Program,
        lowered: &Lowered,
        flags: &[String],
    ) -> Result<Compiled> {
        if program.kernels.len() != lowered.kernels.len() {
            return Err(mismatch("the program and the lowered program differ in their number of kernels"));
        }
        let object = compiler.compile(&lowered.text, flags)?;
        let module = Module::load(&object)?;
        let arrays: Arc<[ProgramOperand]> = program.operands().into();
        let pairs = program.kernels.iter().zip(&lowered.kernels);
        let stages: Vec<Stage> = pairs.map(|(k, l)| stage(&module, &arrays, k, l)).collect::<Result<_>>()?;
        let promises =
            program.kernels.iter().flat_map(|k| promises(&arrays, k)).filter(|p| arrays[p.array].given);
        let promises: Vec<Promise> = promises.collect();
        Ok(Compiled { stages: stages.into(), promises: promises.into(), arrays, object })
    }

    /// Every array, scalar and table of the program, in order of first appearance.
    pub fn arrays(&self) -> &[ProgramOperand] {
        &self.arrays
    }

    /// The compiled object.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Runs the program: `inputs` hold every given array, scalar (rank 0) and table by name; each returned array is
    /// overwritten where `outputs` has it, and added where not.
    ///
    /// Errors (class request): `run/missing-array`, `run/unknown-array`, `run/wrong-array` (type or shape), `run/out-of-range` (a scalar or
    /// table outside its declared range), those of [`Pool::run`] and of allocation.
    pub fn run(
        &self,
        pool: &Pool,
        inputs: &BTreeMap<String, Tensor>,
        outputs: &mut BTreeMap<String, Tensor>,
    ) -> Result<()> {
        let given = || self.arrays.iter().filter(|a| a.given).map(|a| a.operand.name.as_str());
        if let Some(name) = inputs.keys().find(|name| given().all(|g| g != name.as_str())) {
            return Err(Diagnostic::unknown("run/unknown-array", "input", name, given()));
        }
        for array in self.arrays.iter() {
            let name = &array.operand.name;
            if array.given {
                expect(array, input(inputs, name)?)?;
            } else if array.returned {
                match outputs.get(name) {
                    Some(tensor) => expect(array, tensor)?,
                    None => drop(outputs.insert(name.clone(), empty(array)?)),
                }
            }
        }
        let reads = inputs.iter().map(|(name, tensor)| (name.as_str(), tensor.bytes())).collect();
        let mut writes =
            outputs.iter_mut().map(|(name, tensor)| (name.as_str(), tensor.bytes_mut())).collect();
        self.run_bytes(pool, &reads, &mut writes)
    }

    /// As [`Compiled::run`], on the stored bytes of arrays of the declared types and shapes, each at a multiple of
    /// [`crate::launch::OPERAND_ALIGN`]. Every returned array must be there; other names are passed over.
    /// Temporaries start as [`Tensor::fill_poison`] leaves them.
    pub fn run_bytes(
        &self,
        pool: &Pool,
        inputs: &BTreeMap<&str, &[u8]>,
        outputs: &mut BTreeMap<&str, &mut [u8]>,
    ) -> Result<()> {
        let mut lent: BTreeMap<&str, &mut [u8]> =
            outputs.iter_mut().map(|(name, b)| (*name, &mut **b)).collect();
        let mut slots: Vec<Slot<'_>> = Vec::with_capacity(self.arrays.len());
        for array in self.arrays.iter() {
            let name = array.operand.name.as_str();
            slots.push(match (array.given, array.returned) {
                (true, _) => {
                    Slot::Given(inputs.get(name).ok_or_else(|| missing(name, inputs.keys().copied()))?)
                }
                (false, true) => {
                    Slot::Made(lent.remove(name).ok_or_else(|| missing(name, lent.keys().copied()))?)
                }
                (false, false) => {
                    let mut temporary = empty(array)?;
                    temporary.fill_poison();
                    Slot::Temporary(temporary)
                }
            });
        }
        self.promises.iter().try_for_each(|p| p.check(&self.arrays, slots[p.array].bytes()))?;
        self.stages.iter().try_for_each(|stage| stage.run(&self.arrays, pool, &mut slots))
    }

    /// Takes all arrays and wires them, for many launches. Returned arrays that `arrays` lacks are allocated, as are
    /// temporaries. Errors as for [`Compiled::run`].
    pub fn prepare(&self, arrays: BTreeMap<String, Tensor>) -> Result<Prepared> {
        Prepared::new(self, arrays)
    }
}

/// Where one array of a run lies.
enum Slot<'a> {
    Given(&'a [u8]),
    Made(&'a mut [u8]),
    Temporary(Tensor),
}

impl Slot<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Slot::Given(bytes) => bytes,
            Slot::Made(bytes) => bytes,
            Slot::Temporary(tensor) => tensor.bytes(),
        }
    }

    fn lend(&mut self, writable: bool) -> Arg<'_> {
        if !writable {
            return Arg::Read(self.bytes());
        }
        match self {
            // A program's inputs are not written: the verifier's rule, to which the launch's own checks hold this too.
            Slot::Given(bytes) => Arg::Read(bytes),
            Slot::Made(bytes) => Arg::Write(bytes),
            Slot::Temporary(tensor) => Arg::Write(tensor.bytes_mut()),
        }
    }
}

impl Stage {
    fn run(&self, arrays: &[ProgramOperand], pool: &Pool, slots: &mut [Slot<'_>]) -> Result<()> {
        self.promises.iter().try_for_each(|p| p.check(arrays, slots[p.array].bytes()))?;
        let scalars = self.scalars.iter().map(|&i| scalar(&arrays[i], slots[i].bytes()));
        let scalars: Vec<i32> = scalars.collect::<Result<_>>()?;
        for &(array, op) in &self.combines {
            if let Arg::Write(bytes) = slots[array].lend(true) {
                fill_identity(bytes, arrays[array].operand.dtype, op);
            }
        }
        // Each array of a kernel is another one: all may be lent at once.
        let mut lent: Vec<Option<Arg<'_>>> = Vec::with_capacity(slots.len());
        for (i, slot) in slots.iter_mut().enumerate() {
            let place = self.arrays.iter().position(|&a| a == i);
            lent.push(place.map(|p| slot.lend(self.signature.args[p].writable)));
        }
        let mut args: Vec<Arg<'_>> = self.arrays.iter().filter_map(|&i| lent[i].take()).collect();
        pool.run(&self.entry, &self.signature, &mut args, &scalars, self.cells, self.chunk)
    }
}

impl Promise {
    /// Holds stored elements to the promise.
    pub fn check(&self, arrays: &[ProgramOperand], bytes: &[u8]) -> Result<()> {
        let elements = bytes.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let Some((i, x)) = elements.enumerate().find(|(_, x)| !(self.min..=self.max).contains(x)) else {
            return Ok(());
        };
        let operand = &arrays[self.array].operand;
        let place = if operand.shape.rank() == 0 { String::new() } else { format!("[{i}]") };
        Err(Diagnostic::request("run/out-of-range", format!("`{}{place}` is {x}", operand.name))
            .rule(format!("the program declares that it lies in {}..={}", self.min, self.max)))
    }
}

/// A tensor for an array.
pub(crate) fn empty(array: &ProgramOperand) -> Result<Tensor> {
    Tensor::try_new(array.operand.dtype, array.operand.shape.dims())
}

/// Holds a tensor to the type and shape of an array.
pub(crate) fn expect(array: &ProgramOperand, tensor: &Tensor) -> Result<()> {
    let o = &array.operand;
    if (tensor.dtype(), tensor.shape()) == (o.dtype, o.shape.dims()) {
        return Ok(());
    }
    let given = format!("{}{:?}", tensor.dtype(), tensor.shape());
    Err(Diagnostic::request("run/wrong-array", format!("`{}` is given as {given}", o.name))
        .rule(format!("the program takes `{}` as {}{}", o.name, o.dtype, o.shape)))
}

/// The i32 in the bytes of a scalar.
pub(crate) fn scalar(array: &ProgramOperand, bytes: &[u8]) -> Result<i32> {
    let found = bytes.try_into().map(i32::from_le_bytes);
    found.map_err(|_| {
        let message = format!("the scalar `{}` is given in {} bytes", array.operand.name, bytes.len());
        Diagnostic::request("run/wrong-array", message).rule("a run-time scalar is one i32")
    })
}

/// Overwrites every element with the identity of `op`: with the extreme finite value where infinity is it and the type
/// has none.
pub(crate) fn fill_identity(bytes: &mut [u8], dtype: DType, op: ReduceOp) {
    let identity = rules::reduce_identity(op, dtype).as_f64();
    let greatest = if dtype.has_infinity() { identity.abs() } else { dtype.max_finite() };
    let bits = dtype.encode(if identity.is_infinite() { greatest.copysign(identity) } else { identity });
    let bits = if dtype == DType::I4 { bits | bits << 4 } else { bits };
    let width = (dtype.bits() as usize).div_ceil(8);
    for element in bytes.chunks_mut(width) {
        element.copy_from_slice(&bits.to_le_bytes()[..element.len()]);
    }
}

pub(crate) fn missing<'a>(name: &str, given: impl Iterator<Item = &'a str>) -> Box<Diagnostic> {
    let given: Vec<&str> = given.collect();
    Diagnostic::request("run/missing-array", format!("the array `{name}` is not given"))
        .note(format!("given: {}", given.join(", ")))
}

fn input<'a>(inputs: &'a BTreeMap<String, Tensor>, name: &str) -> Result<&'a Tensor> {
    inputs.get(name).ok_or_else(|| missing(name, inputs.keys().map(String::as_str)))
}

fn mismatch(what: impl Into<String>) -> Box<Diagnostic> {
    Diagnostic::tool("run/lowered-mismatch", what)
        .rule("a program is run by the code that was lowered from it")
}

fn stage(
    module: &Module,
    arrays: &[ProgramOperand],
    kernel: &Kernel,
    lowered: &LoweredKernel,
) -> Result<Stage> {
    let place = |name: &String| {
        let found = kernel.operand_named(name).and(arrays.iter().position(|a| a.operand.name == *name));
        found.ok_or_else(|| mismatch(format!("kernel `{}` has no operand `{name}`", kernel.name)))
    };
    let places = |names: &[String]| names.iter().map(place).collect::<Result<Vec<usize>>>();
    let (wired, scalars) = (places(&lowered.arrays)?, places(&lowered.scalars)?);
    if wired.len() + scalars.len() != kernel.operands.len() {
        return Err(mismatch(format!("kernel `{}` has {} operands", kernel.name, kernel.operands.len())));
    }
    let named = lowered.arrays.iter().filter_map(|name| kernel.operand_named(name));
    let args = named.clone().map(|(_, o)| {
        // The verifier has seen to it that the bytes can be counted.
        let bytes = o.dtype.storage_bytes(o.shape.elements()).unwrap_or(usize::MAX);
        ArgSpec { bytes, writable: o.is_output() }
    });
    let combined = wired.iter().zip(named.clone()).filter_map(|(&i, (_, o))| match o.role {
        Role::Output { combine: Some(op) } => Some((i, op)),
        _ => None,
    });
    let cells = i64::try_from(lowered.cells).map_err(|_| mismatch("a grid of 2^63 cells or more"))?;
    Ok(Stage {
        entry: module.entry(&lowered.entry)?,
        signature: Signature {
            args: args.collect(),
            scalars: scalars.len(),
            arena_bytes: lowered.arena_bytes,
        },
        combines: combined.collect(),
        promises: promises(arrays, kernel).filter(|p| !arrays[p.array].given).collect(),
        arrays: wired,
        scalars,
        cells,
        chunk: if lowered.serial { cells } else { 0 },
    })
}

fn promises<'a>(arrays: &'a [ProgramOperand], kernel: &'a Kernel) -> impl Iterator<Item = Promise> + 'a {
    kernel.operands.iter().filter_map(|o| match o.role {
        Role::Scalar { min, max } | Role::Table { min, max } => {
            let array = arrays.iter().position(|a| a.operand.name == o.name)?;
            Some(Promise { array, min, max })
        }
        _ => None,
    })
}
