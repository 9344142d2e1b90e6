//! A kernel and its peers, timed in turn on rotating sets of fresh data.

use std::cell::RefCell;

use tilewright_check::inputs::{draw, input_family};
use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::Tensor;
use tilewright_ir::{ProgramOperand, Role};
use tilewright_kernels::{Family, Problem, family};
use tilewright_measure::peers::{Data, Peer, Work};
use tilewright_measure::timing::{Contestant, Plan, Progress, Series, interleave, interleave_watched};
use tilewright_run::Prepared;

use crate::choose::{Chosen, Source};
use crate::kernel::Kernel;
use crate::memory;
use crate::session::Session;

/// At most so many sets of data; more would add nothing but memory.
const MOST_SETS: usize = 8;

/// Our name among the contestants.
const OURS: &str = "tilewright";

/// What a race needs.
pub(super) struct Race<'a> {
    pub family: &'a dyn Family,
    pub problem: &'a Problem,
    pub kernel: &'a Kernel,
    pub session: &'a Session,
    pub peers: &'a [&'a dyn Peer],
    /// What the peers do; absent where there are none.
    pub work: Option<&'a Work>,
    pub seed: u64,
}

/// What came of it.
pub(super) struct Outcome {
    /// Ours first, then the peers' in their order.
    pub series: Vec<Series>,
    /// What each peer chose to run.
    pub kernels: Vec<String>,
    /// Sets of data that took turns.
    pub sets: usize,
}

impl Race<'_> {
    /// How many sets of data take turns: enough that they exceed the last cache twice, as far as memory allows.
    pub fn sets(&self) -> usize {
        let bytes = memory::operand_bytes(&self.kernel.program).max(1);
        let beyond_cache = (2 * self.session.machine.l3_bytes as u128).div_ceil(bytes);
        let contestants = 1 + self.peers.len() as u128;
        let affordable = memory::available_bytes().map_or(u128::MAX, |b| b / 2 / bytes / contestants);
        let sets = beyond_cache.min(affordable).clamp(2, MOST_SETS as u128);
        usize::try_from(sets).unwrap_or(2)
    }

    /// Runs it.
    ///
    /// # Errors
    /// `memory/too-large`, `bench/unwritten`, `bench/input-changed`, `bench/unsteady`; those of launching and of peers.
    pub fn run(&self, plan: &Plan, watch: &mut dyn FnMut(Progress)) -> Result<Outcome> {
        let sets = self.sets();
        let copies = (sets * (1 + self.peers.len())) as f64;
        memory::require(&self.kernel.program, copies, &self.kernel.name)?;
        let pool = self.session.pool()?;
        let ours = (0..sets).map(|set| Set::new(self, set)).collect::<Result<Vec<_>>>()?;
        let ours = RefCell::new(ours);
        let mut contestants = vec![Contestant::new(OURS, |repeat| {
            let set = repeat % sets;
            ours.borrow_mut()[set].prepared.run(pool)
        })];
        let mut kernels = Vec::new();
        for peer in self.peers {
            let Some(work) = self.work else { continue };
            let prepared = peer.prepare(work, self.session.threads, Data { seed: self.seed, sets })?;
            contestants.push(prepared.contestant);
            kernels.push(prepared.kernel);
        }
        let series = interleave_watched(&mut contestants, plan, watch);
        drop(contestants);
        ours.into_inner().into_iter().try_for_each(Set::hold)?;
        Ok(Outcome { series, kernels, sets })
    }
}

/// One set of operands, and what they must still be after the race.
struct Set {
    prepared: Prepared,
    inputs: Vec<(String, u64)>,
    outputs: Vec<(String, u64)>,
}

impl Set {
    /// Draws the inputs, runs once on poisoned outputs, and keeps what came out.
    fn new(race: &Race<'_>, set: usize) -> Result<Set> {
        let program = &race.kernel.program;
        let seed = race.seed.wrapping_add(set as u64);
        let mut drawn = draw(input_family("normal")?, race.family, race.problem, program, seed)?;
        // Lengths are their greatest: the necessary work counts all.
        for o in program.operands().iter().filter(|o| o.given) {
            if let Role::Scalar { max, .. } | Role::Table { max, .. } = o.operand.role {
                let values = vec![f64::from(max); o.operand.shape.elements()];
                let longest = Tensor::from_f64(o.operand.dtype, o.operand.shape.dims(), &values)?;
                drawn.insert(o.operand.name.clone(), longest);
            }
        }
        let mut prepared = race.kernel.prepare(drawn)?;
        let names = |keep: &dyn Fn(&ProgramOperand) -> bool| -> Vec<String> {
            program.operands().iter().filter(|o| keep(o)).map(|o| o.operand.name.clone()).collect()
        };
        let inputs = names(&|o| o.given && matches!(o.operand.role, Role::Input { .. }));
        let outputs = names(&|o| o.returned);
        for name in &outputs {
            // NaN in every float type, and no likely integer.
            prepared.bytes_mut(name)?.fill(0xFF);
        }
        let poisoned = sums(&prepared, &outputs)?;
        prepared.run(race.session.pool()?)?;
        let made = sums(&prepared, &outputs)?;
        if let Some(((name, _), _)) = made.iter().zip(&poisoned).find(|(made, before)| made == before) {
            return Err(Diagnostic::verdict(
                "bench/unwritten",
                format!("the kernel left its output `{name}` as it was"),
            )
            .help(format!("`tilewright check {}` says more", race.kernel.name)));
        }
        let inputs = sums(&prepared, &inputs)?;
        Ok(Set { prepared, inputs, outputs: made })
    }

    /// Refuses a race after which the inputs are not what they were, or the outputs not those of the first run.
    fn hold(self) -> Result<()> {
        for (code, what, before) in [
            ("bench/input-changed", "the kernel changed its input", &self.inputs),
            ("bench/unsteady", "the kernel's runs differ in their output", &self.outputs),
        ] {
            for (name, sum) in before {
                if self.prepared.get(name)?.checksum() != *sum {
                    return Err(Diagnostic::verdict(code, format!("{what} `{name}`")));
                }
            }
        }
        Ok(())
    }
}

fn sums(prepared: &Prepared, names: &[String]) -> Result<Vec<(String, u64)>> {
    names.iter().map(|name| Ok((name.clone(), prepared.get(name)?.checksum()))).collect()
}

/// Median seconds of a launch that does next to nothing: one grid cell that converts 64 numbers.
///
/// # Errors
/// Those of compiling and launching.
pub(super) fn launch_seconds(session: &Session) -> Result<Option<f64>> {
    let cast = family("cast")?;
    let problem = Problem::parse(cast.name(), cast.keys(), &["rows=1", "cols=64", "from=f32", "to=bf16"])?;
    let config = cast.default_config(&problem, &session.machine);
    let chosen = Chosen { config, source: Source::Default, warning: None };
    let kernel = Kernel::new(cast, &problem, chosen, session)?;
    let inputs = draw(input_family("normal")?, cast, &problem, &kernel.program, 1)?;
    let mut prepared = kernel.prepare(inputs)?;
    let pool = session.pool()?;
    let plan = Plan { max_seconds: 0.1, max_rounds: 31, ..Plan::default() };
    let mut contestants = [Contestant::new("launch", |_| prepared.run(pool))];
    let series = interleave(&mut contestants, &plan);
    Ok(series.first().and_then(Series::summary).map(|s| s.median))
}
