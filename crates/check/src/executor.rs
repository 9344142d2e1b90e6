//! What runs a program: the interpreter, this CPU, or anything that implements [`Executor`].

use std::collections::BTreeMap;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::Tensor;
use tilewright_interp::{self as interp, Accuracy};
use tilewright_ir::{Program, ProgramOperand};
use tilewright_kernels::Inputs;
use tilewright_run::{Compiled, Pool};
use tilewright_target_cpu::features::CpuFeatures;
use tilewright_target_cpu::math::Math;
use tilewright_target_cpu::{Options, lower};

/// A program's outputs by name.
pub type Outputs = BTreeMap<String, Tensor>;

/// Something that runs programs.
pub trait Executor: Sync {
    /// Name in reports.
    fn name(&self) -> String;

    /// How accurate its functions are: what the bounds are derived for.
    fn accuracy(&self) -> Accuracy;

    /// Makes a program ready to run on many inputs. A program that the target cannot take is an error, with the rule.
    fn prepare(&self, program: &Program) -> Result<Box<dyn Ready>>;

    /// Runs a program once.
    fn run(&self, program: &Program, inputs: &Inputs) -> Result<Ran> {
        self.prepare(program)?.run(inputs, None)
    }
}

/// A program that is ready to run.
pub trait Ready: Send + Sync {
    /// Runs the program. Where only some `cells` of the last kernel will be judged (linear numbers), running only those
    /// will do.
    fn run(&self, inputs: &Inputs, cells: Option<&[usize]>) -> Result<Ran>;
}

/// What a run left behind.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The outputs, which were as [`Tensor::fill_poison`] leaves them before the run.
    pub outputs: Outputs,
    /// What the run did wrong besides its values: `check/input-changed`, `check/out-of-bounds`, and the interpreter's
    /// own findings.
    pub faults: Vec<Diagnostic>,
}

/// The interpreter in the exact dtypes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interp;

impl Executor for Interp {
    fn name(&self) -> String {
        "interp".to_string()
    }

    fn accuracy(&self) -> Accuracy {
        Accuracy::ieee()
    }

    fn prepare(&self, program: &Program) -> Result<Box<dyn Ready>> {
        tilewright_ir::verify_program(program)?;
        Ok(Box::new(Interpreted { program: program.clone() }))
    }
}

struct Interpreted {
    program: Program,
}

impl Ready for Interpreted {
    fn run(&self, inputs: &Inputs, cells: Option<&[usize]>) -> Result<Ran> {
        let (domain, options) = (interp::Domain::Exact, interp::Options::default());
        let outcome = match cells {
            Some(cells) => interp::run_cells(&self.program, inputs, domain, &options, cells)?,
            None => interp::run(&self.program, inputs, domain, &options)?,
        };
        let tensor = |v: &interp::Values| Tensor::from_f64(v.dtype, &v.shape, &v.v);
        let outputs = outcome.outputs.iter().map(|(name, v)| Ok((name.clone(), tensor(v)?)));
        Ok(Ran { outputs: outputs.collect::<Result<_>>()?, faults: outcome.report })
    }
}

/// This CPU, by way of clang.
pub struct Cpu {
    options: Options,
    pool: std::sync::Arc<Pool>,
}

impl Cpu {
    /// Code for `features`, run on `threads` threads; 0 for all cores.
    ///
    /// Errors: `check/features` (class request) where this machine lacks them; `run/no-threads`.
    pub fn new(features: CpuFeatures, threads: usize) -> Result<Cpu> {
        Cpu::with(Options::new(features), Pool::new(threads)?)
    }

    /// Code emitted with `options`, run on `pool`. Errors as for [`Cpu::new`].
    pub fn with(options: Options, pool: Pool) -> Result<Cpu> {
        let here = CpuFeatures::detect();
        if !options.features.supported_by(here) {
            return Err(Diagnostic::request("check/features", format!("code for `{}` is not run here", options.features))
                .rule(format!("this machine has `{here}`"))
                .help(format!("`--cpu-features {here}`")));
        }
        Ok(Cpu { options, pool: std::sync::Arc::new(pool) })
    }

    /// What a program becomes: lowered, compiled, loaded.
    ///
    /// Errors: those of lowering (what this target refuses) and of [`Compiled::new`].
    pub fn compile(&self, program: &Program) -> Result<Compiled> {
        let flags: Vec<String> = self.options.features.clang_flags().iter().map(ToString::to_string).collect();
        Compiled::new(program, &lower(program, self.options)?, &flags)
    }
}

impl Executor for Cpu {
    fn name(&self) -> String {
        format!("cpu {}", self.options.features)
    }

    fn accuracy(&self) -> Accuracy {
        cpu_accuracy(self.options.features)
    }

    fn prepare(&self, program: &Program) -> Result<Box<dyn Ready>> {
        Ok(Box::new(Native { compiled: self.compile(program)?, pool: self.pool.clone() }))
    }
}

/// How accurate the code that is emitted for `features` is.
pub fn cpu_accuracy(features: CpuFeatures) -> Accuracy {
    let ulp = |function: Math| function.fact().max_ulp;
    Accuracy {
        exp: ulp(Math::Exp),
        log: ulp(Math::Log),
        tanh: ulp(Math::Tanh),
        erf: ulp(Math::Erf),
        sqrt: ulp(Math::Sqrt),
        rsqrt: ulp(Math::Rsqrt),
        div: ulp(Math::Recip),
        flushes_denormals: false,
        dot_flushes_denormals: features.bf16,
    }
}

struct Native {
    compiled: Compiled,
    pool: std::sync::Arc<Pool>,
}

impl Ready for Native {
    fn run(&self, inputs: &Inputs, _cells: Option<&[usize]>) -> Result<Ran> {
        guarded_run(&self.compiled, &self.pool, inputs)
    }
}

/// Runs compiled code on arrays that lie between guards, which its stores must leave alone, as it must its inputs.
fn guarded_run(compiled: &Compiled, pool: &Pool, inputs: &Inputs) -> Result<Ran> {
    let (mut reads, mut writes) = (BTreeMap::new(), BTreeMap::new());
    for array in compiled.arrays() {
        let name = array.operand.name.as_str();
        if let Some(tensor) = inputs.get(name).filter(|_| array.given) {
            reads.insert(name, Guarded::of(tensor)?);
        } else if array.returned {
            let mut poisoned = Tensor::try_new(array.operand.dtype, array.operand.shape.dims())?;
            poisoned.fill_poison();
            writes.insert(name, Guarded::of(&poisoned)?);
        }
    }
    let lent = reads.iter().map(|(name, g)| (*name, g.inner())).collect();
    let mut filled = writes.iter_mut().map(|(name, g)| (*name, g.inner_mut())).collect();
    compiled.run_bytes(pool, &lent, &mut filled)?;
    let mut faults = Vec::new();
    for (name, guarded) in reads.iter().chain(&writes) {
        faults.extend(guarded.trespass(name));
    }
    for (name, guarded) in &reads {
        faults.extend(inputs.get(*name).and_then(|tensor| changed(name, tensor, guarded.inner())));
    }
    let returned = compiled.arrays().iter().filter_map(|a| Some((a, writes.get(a.operand.name.as_str())?)));
    let outputs = returned.map(|(array, guarded)| Ok((array.operand.name.clone(), output(array, guarded)?)));
    Ok(Ran { outputs: outputs.collect::<Result<_>>()?, faults })
}

fn output(array: &ProgramOperand, guarded: &Guarded) -> Result<Tensor> {
    Tensor::from_bytes(array.operand.dtype, array.operand.shape.dims(), guarded.inner())
}

fn changed(name: &str, before: &Tensor, after: &[u8]) -> Option<Diagnostic> {
    let byte = before.bytes().iter().zip(after).position(|(b, a)| b != a)?;
    let element = byte * 8 / before.dtype().bits() as usize;
    let d = Diagnostic::verdict("check/input-changed", format!("the run changed element {element} of the input `{name}`"));
    Some(*d.rule("a kernel leaves its inputs as they are"))
}

/// An array in the middle of a larger allocation.
struct Guarded {
    memory: Tensor,
    bytes: usize,
}

impl Guarded {
    /// Bytes before and after: more than a vector, or a row of most tiles.
    const GUARD: usize = 4096;
    /// NaN in every float type: what is read here and used shows in the results.
    const PATTERN: u8 = 0xFF;

    fn of(tensor: &Tensor) -> Result<Guarded> {
        let bytes = tensor.bytes().len();
        let mut memory = Tensor::try_new(tilewright_dtype::DType::U8, &[bytes.saturating_add(2 * Guarded::GUARD)])?;
        let all = memory.bytes_mut();
        all[..Guarded::GUARD].fill(Guarded::PATTERN);
        all[Guarded::GUARD..][..bytes].copy_from_slice(tensor.bytes());
        all[Guarded::GUARD + bytes..].fill(Guarded::PATTERN);
        Ok(Guarded { memory, bytes })
    }

    fn inner(&self) -> &[u8] {
        &self.memory.bytes()[Guarded::GUARD..][..self.bytes]
    }

    fn inner_mut(&mut self) -> &mut [u8] {
        &mut self.memory.bytes_mut()[Guarded::GUARD..][..self.bytes]
    }

    /// A write outside of the array, if there was one.
    fn trespass(&self, name: &str) -> Option<Diagnostic> {
        let all = self.memory.bytes();
        let after = Guarded::GUARD + self.bytes;
        let broken = |guard: &[u8]| guard.iter().position(|&b| b != Guarded::PATTERN);
        let place = match (broken(&all[..Guarded::GUARD]), broken(&all[after..])) {
            (Some(at), _) => format!("{} bytes before `{name}` begins", Guarded::GUARD - at),
            (None, Some(at)) => format!("{at} bytes after `{name}` ends"),
            (None, None) => return None,
        };
        let d = Diagnostic::verdict("check/out-of-bounds", format!("the run wrote {place}"));
        Some(*d.rule("a kernel writes nothing but its outputs"))
    }
}
