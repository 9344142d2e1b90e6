//! A compiled kernel in a caller's hands.

use std::collections::BTreeMap;

use tilewright_diag::Result;
use tilewright_dtype::Tensor;
use tilewright_ir::{Program, print, verify_program};
use tilewright_kernels::{Family, Problem, family};
use tilewright_run::cache::Key;
use tilewright_run::{Compiled, Prepared, tools};
use tilewright_store::{Provenance, now};
use tilewright_target_cpu::{LoweredKernel, Options, lower};

use crate::choose::{Chosen, brief};
use crate::memory;
use crate::session::Session;

/// The target of this version.
pub const CPU: &str = "cpu";

/// A problem's kernel for this CPU, compiled and loaded.
///
/// ```no_run
/// use tilewright::{Kernel, Session, Settings};
/// use tilewright::dtype::{DType, Tensor};
///
/// # fn main() -> tilewright::diag::Result<()> {
/// let session = Session::new(Settings::default())?;
/// let softmax = Kernel::tuned("softmax", "rows=4 cols=1000 dtype=f32", &session)?;
/// let x = Tensor::zeros(DType::F32, &[4, 1000])?;
/// let y = softmax.launch(&session, &[("x".to_string(), x)].into())?;
/// println!("{}", y["y"].get(0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Kernel {
    /// What is computed, as a user would type it.
    pub name: String,
    /// The tile program.
    pub program: Program,
    /// The config, and why it was taken.
    pub chosen: Chosen,
    /// What launches need to know, kernel by kernel.
    pub lowered: Vec<LoweredKernel>,
    compiled: Compiled,
    provenance: Provenance,
}

impl Kernel {
    /// The kernel of `words` (a problem such as `m=512 n=512 k=512 dtype=bf16`) in the family called `name`, with the
    /// tuned config of that problem, else of the nearest one that was tuned. Where there is none, or another problem's
    /// has to do, a warning goes to standard error.
    ///
    /// # Errors
    /// Those of [`family`], [`Problem::parse`], [`Session::choose`] and [`Kernel::new`].
    pub fn tuned(name: &str, words: &str, session: &Session) -> Result<Kernel> {
        let family = family(name)?;
        let words: Vec<&str> = words.split_whitespace().collect();
        let problem = Problem::parse(family.name(), family.keys(), &words)?;
        family.validate(&problem)?;
        let chosen = session.choose(family, &problem, CPU)?;
        if let Some(warning) = &chosen.warning {
            eprintln!("warning: {warning}");
        }
        Kernel::new(family, &problem, chosen, session)
    }

    /// The kernel of a problem with a config that was chosen before.
    ///
    /// # Errors
    /// `cpu/feature-absent`, `memory/too-large`; those of building, lowering, compiling and loading.
    pub fn new(family: &dyn Family, problem: &Problem, chosen: Chosen, session: &Session) -> Result<Kernel> {
        session.require_runnable()?;
        let name = brief(family, problem);
        memory::plausible(family.work(problem), &name)?;
        let program = family.build(problem, &chosen.config)?;
        verify_program(&program)?;
        memory::require(&program, 1.0, &name)?;
        let lowered = lower(&program, Options::new(session.features))?;
        let flags: Vec<String> = session.features.clang_flags().into_iter().map(String::from).collect();
        let compiled = Compiled::new(&program, &lowered, &flags)?;
        let provenance = Provenance {
            ir_hash: hash(&print(&program)),
            code_hash: hash(&lowered.text),
            compiler: tools::clang()?.version,
            machine: session.machine_key(),
            versions: [("tilewright", env!("CARGO_PKG_VERSION")), ("features", &session.features.name())]
                .map(|(name, version)| (name.to_string(), version.to_string()))
                .into(),
            created: now(),
            threads: session.threads.try_into().unwrap_or(u32::MAX),
        };
        Ok(Kernel { name, program, chosen, lowered: lowered.kernels, compiled, provenance })
    }

    /// Runs the kernel: `inputs` holds every given operand by name; the outputs come back by name.
    ///
    /// # Errors
    /// Those of [`Compiled::run`] and [`Session::pool`].
    pub fn launch(
        &self,
        session: &Session,
        inputs: &BTreeMap<String, Tensor>,
    ) -> Result<BTreeMap<String, Tensor>> {
        let mut outputs = BTreeMap::new();
        self.compiled.run(session.pool()?, inputs, &mut outputs)?;
        Ok(outputs)
    }

    /// Wires operands once, for many launches that cost nothing beside the kernel.
    ///
    /// # Errors
    /// Those of [`Compiled::prepare`].
    pub fn prepare(&self, arrays: BTreeMap<String, Tensor>) -> Result<Prepared> {
        self.compiled.prepare(arrays)
    }

    /// Where its results come from: hashes, versions, machine.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }
}

fn hash(text: &str) -> String {
    Key::of([text.as_bytes()]).to_string()
}
