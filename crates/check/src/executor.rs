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
            return Err(Diagnostic::request(
                "check/features",
                format!("code for `{}` is not run here", options.features),
            )
            .rule(format!("this machine has `{here}`"))
            .help(format!("`--cpu-features {here}`")));
        }
        Ok(Cpu { options, pool: std::sync::Arc::new(pool) })
    }

    /// What a program becomes: lowered, compiled, loaded.
    ///
    /// Errors: those of lowering (what this target refuses) and of [`Compiled::new`].
    pub fn compile(&self, program: &Program) -> Result<Compiled> {
        let flags: Vec<String> =
            self.options.features.clang_flags().iter().map(ToString::to_string).collect();
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
    let d = Diagnostic::verdict(
        "check/input-changed",
        format!("the run changed element {element} of the input `{name}`"),
    );
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
        let mut memory =
            Tensor::try_new(tilewright_dtype::DType::U8, &[bytes.saturating_add(2 * Guarded::GUARD)])?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_ir::{Builder, DType};
    use tilewright_run::cache::Cache;
    use tilewright_run::compile::Compiler;
    use tilewright_run::testing::clang_or_skip;
    use tilewright_target_cpu::{Lowered, LoweredKernel};

    /// A program that copies 64 numbers, and code for it that does what `stores` say after its loop over `count` numbers.
    fn copy(count: usize, stores: &str) -> Option<Compiled> {
        let clang = clang_or_skip()?;
        let b = Builder::new("copy");
        let x = b.input("x", DType::F32, &[64]);
        let y = b.output("y", DType::F32, &[64]);
        let [i] = b.grid([("i", 1)]);
        y.store((i,), x.load((i,), &[64]));
        let program = Program::single(b.finish().unwrap());
        let text = format!(
            "define void @copy(ptr %args, ptr %scalars, i64 %begin, i64 %end, ptr %arena) {{\n\
             entry:\n  %x = load ptr, ptr %args\n  %slot = getelementptr ptr, ptr %args, i64 1\n  \
             %y = load ptr, ptr %slot\n  br label %each\n\
             each:\n  %i = phi i64 [ 0, %entry ], [ %next, %each ]\n  \
             %from = getelementptr float, ptr %x, i64 %i\n  %v = load float, ptr %from\n  \
             %to = getelementptr float, ptr %y, i64 %i\n  store float %v, ptr %to\n  \
             %next = add i64 %i, 1\n  %more = icmp slt i64 %next, {count}\n  br i1 %more, label %each, label %done\n\
             done:\n{stores}  ret void\n}}\n"
        );
        let kernel = LoweredKernel {
            name: "copy".to_string(),
            entry: "copy".to_string(),
            cells: 1,
            arena_bytes: 64,
            arrays: vec!["x".to_string(), "y".to_string()],
            scalars: Vec::new(),
            serial: false,
        };
        let folder = tempfile::tempdir().unwrap();
        let compiler = Compiler::new(clang, Cache::open(folder.path(), 1 << 20).unwrap());
        Some(Compiled::with(&compiler, &program, &Lowered { text, kernels: vec![kernel] }, &[]).unwrap())
    }

    fn run(compiled: &Compiled) -> Ran {
        let values: Vec<f64> = (0..64).map(f64::from).collect();
        let inputs = Inputs::from([("x".to_string(), Tensor::from_f64(DType::F32, &[64], &values).unwrap())]);
        guarded_run(compiled, &Pool::new(1).unwrap(), &inputs).unwrap()
    }

    fn store(array: &str, element: i64) -> String {
        format!(
            "  %p{0} = getelementptr float, ptr %{array}, i64 {element}\n  store float 1.0, ptr %p{0}\n",
            element.abs()
        )
    }

    #[test]
    fn a_kernel_that_keeps_to_its_outputs_has_no_faults() {
        let Some(compiled) = copy(64, "") else { return };
        let ran = run(&compiled);
        assert!(ran.faults.is_empty() && ran.outputs["y"].get(63) == 63.0);
    }

    #[test]
    fn a_changed_input_is_named() {
        let Some(compiled) = copy(64, &store("x", 5)) else { return };
        let ran = run(&compiled);
        assert_eq!(ran.faults.iter().map(|d| d.code).collect::<Vec<_>>(), ["check/input-changed"]);
        assert!(ran.faults[0].message.contains("element 5 of the input `x`"), "{}", ran.faults[0]);
    }

    #[test]
    fn writes_past_either_end_are_named() {
        for (array, element, place) in
            [("y", 64, "0 bytes after `y`"), ("y", -2, "8 bytes before `y`"), ("x", 70, "24 bytes after `x`")]
        {
            let Some(compiled) = copy(64, &store(array, element)) else { return };
            let ran = run(&compiled);
            assert_eq!(ran.faults.iter().map(|d| d.code).collect::<Vec<_>>(), ["check/out-of-bounds"]);
            assert!(ran.faults[0].message.contains(place), "{}", ran.faults[0]);
        }
    }

    #[test]
    fn what_is_not_written_stays_poison() {
        let Some(compiled) = copy(63, "") else { return };
        let y = &run(&compiled).outputs["y"];
        assert!(y.get(63).is_nan() && y.bytes()[63 * 4..] == [0xFF; 4] && y.get(62) == 62.0);
    }

    #[test]
    fn features_that_this_machine_lacks_are_refused() {
        if CpuFeatures::AVX512_BF16_VNNI.supported_by(CpuFeatures::detect()) {
            return;
        }
        assert_eq!(Cpu::new(CpuFeatures::AVX512_BF16_VNNI, 1).err().map(|d| d.code), Some("check/features"));
    }
}
