//! The child's side: checks or times candidates, in a process that may crash or hang without harm.

use std::cell::RefCell;

use serde_json::Value;
use tilewright_check::Cpu;
use tilewright_check::inputs::{draw, input_family};
use tilewright_diag::{Class, Diagnostic, Result};
use tilewright_ir::Role;
use tilewright_kernels::{Config, Family, Inputs, Problem};
use tilewright_measure::timing::{Contestant, interleave};
use tilewright_run::{Pool, Prepared};
use tilewright_target_cpu::Options;
use tilewright_target_cpu::features::CpuFeatures;

use crate::gate;
use crate::job::{Answer, Job, Rounds, Task, Timed};

/// Finds a family by its name.
pub type Families<'a> = &'a dyn Fn(&str) -> Result<&'static dyn Family>;

/// Does the job that [`tune`](crate::tune()) wrote; for [`serve`](tilewright_run::isolate::serve) in the subcommand whose
/// arguments are [`Request::worker`](crate::Request::worker).
///
/// # Errors
/// `tune/bad-job`; `kernel/unknown` and the like where this process does not know what the tuner's knows; a failure of the
/// machine rather than of a candidate.
pub fn work(job: Value) -> Result<Value> {
    work_on(job, &tilewright_kernels::family)
}

/// As [`work`], on `families` of the caller's.
///
/// # Errors
/// As [`work`].
pub fn work_on(job: Value, families: Families<'_>) -> Result<Value> {
    let bad = |e: serde_json::Error| Diagnostic::request("tune/bad-job", format!("no job of the tuner: {e}"));
    let job: Job = serde_json::from_value(job).map_err(bad)?;
    let family = families(&job.kernel)?;
    let subject = Subject {
        family,
        problem: Problem::parse(family.name(), family.keys(), &job.problem)?,
        features: CpuFeatures::parse(&job.features)?,
        threads: job.threads,
        seed: job.seed,
    };
    let answer = match job.task {
        Task::Check { config, batch_invariant } => subject.check(&config, batch_invariant),
        Task::Time { configs, rounds } => subject.time(&configs, rounds),
    };
    let answer = match answer {
        Err(d) if d.class == Class::Tool => Answer::Faulted { reason: d.to_string() },
        answer => answer?,
    };
    serde_json::to_value(answer).map_err(bad)
}

/// What is tuned.
struct Subject {
    family: &'static dyn Family,
    problem: Problem,
    features: CpuFeatures,
    threads: usize,
    seed: u64,
}

impl Subject {
    fn cpu(&self) -> Result<Cpu> {
        Cpu::with(Options::new(self.features), Pool::new(self.threads)?)
    }

    fn check(&self, config: &Config, batch_invariant: bool) -> Result<Answer> {
        let cpu = self.cpu()?;
        // A refusal of the config, not a failure of the check.
        let compiled = self.family.build(&self.problem, config).and_then(|program| cpu.compile(&program));
        match compiled {
            Err(d) if d.class == Class::Tool => return Err(d),
            Err(refusal) => return Ok(Answer::Refused { reason: refusal.to_string() }),
            Ok(_) => {}
        }
        let asked = gate::Asked { problem: &self.problem, config, seed: self.seed, batch_invariant };
        gate::judge(self.family, &cpu, asked).map(Answer::Checked)
    }

    fn time(&self, configs: &[Config], rounds: Rounds) -> Result<Answer> {
        let (cpu, pool) = (self.cpu()?, Pool::new(self.threads)?);
        let mut inputs: Option<Inputs> = None;
        let mut entrants = Vec::with_capacity(configs.len());
        for config in configs {
            let program = self.family.build(&self.problem, config)?;
            let given = match &inputs {
                Some(given) => given,
                None => {
                    let drawn =
                        draw(input_family("normal")?, self.family, &self.problem, &program, self.seed)?;
                    inputs.insert(drawn)
                }
            };
            let prepared = cpu.compile(&program)?.prepare(given.clone())?;
            let operands = program.operands();
            let named = |keep: &dyn Fn(&tilewright_ir::ProgramOperand) -> bool| -> Vec<String> {
                operands.iter().filter(|o| keep(o)).map(|o| o.operand.name.clone()).collect()
            };
            entrants.push(RefCell::new(Entrant {
                prepared,
                inputs: named(&|o| o.given && matches!(o.operand.role, Role::Input { .. })),
                outputs: named(&|o| o.returned),
                first: None,
            }));
        }
        let inputs = inputs.unwrap_or_default();
        let mut contestants: Vec<Contestant<'_>> = entrants
            .iter()
            .zip(configs)
            .map(|(entrant, config)| {
                let pool = &pool;
                let inputs = &inputs;
                Contestant::new(config.to_string(), move |_| entrant.borrow_mut().prepared.run(pool))
                    .prepared_by(move |_| entrant.borrow_mut().make_ready(inputs, pool))
            })
            .collect();
        let series = interleave(&mut contestants, &rounds.plan(self.seed));
        drop(contestants);
        let timed = series.into_iter().zip(entrants).map(|(series, entrant)| Timed {
            seconds: series.seconds,
            inner_repeats: series.inner_repeats,
            fault: series.failure.map(|d| d.to_string()).or_else(|| entrant.into_inner().fault(&inputs)),
        });
        Ok(Answer::Timed(timed.collect()))
    }
}

/// A config that is being timed, with arrays of its own.
struct Entrant {
    prepared: Prepared,
    inputs: Vec<String>,
    outputs: Vec<String>,
    /// Checksums of the outputs of its first run.
    first: Option<Vec<u64>>,
}

impl Entrant {
    /// Restores the inputs and poisons the outputs, so that every run starts from the same and no result of an earlier
    /// one passes for its own.
    fn make_ready(&mut self, inputs: &Inputs, pool: &Pool) -> Result<()> {
        self.restore(inputs)?;
        if self.first.is_none() {
            self.prepared.run(pool)?;
            self.first = Some(self.checksums()?);
            self.restore(inputs)?;
        }
        Ok(())
    }

    fn restore(&mut self, inputs: &Inputs) -> Result<()> {
        for name in &self.inputs {
            if let Some(tensor) = inputs.get(name) {
                self.prepared.bytes_mut(name)?.copy_from_slice(tensor.bytes());
            }
        }
        for name in &self.outputs {
            // What `Tensor::fill_poison` writes: NaN in every float type.
            self.prepared.bytes_mut(name)?.fill(0xFF);
        }
        Ok(())
    }

    fn checksums(&self) -> Result<Vec<u64>> {
        self.outputs.iter().map(|name| Ok(self.prepared.get(name)?.checksum())).collect()
    }

    /// What its last run shows: the inputs as they were, the outputs as the first run left them.
    fn fault(self, inputs: &Inputs) -> Option<String> {
        let changed = |name: &&String| {
            let after = self.prepared.get(name).ok().map(|t| t.checksum());
            inputs.get(*name).map(|t| t.checksum()) != after
        };
        if let Some(name) = self.inputs.iter().find(changed) {
            return Some(format!("the run changed its input `{name}`"));
        }
        let last = self.checksums().ok();
        (self.first.is_some() && last != self.first).then(|| "its results differ from run to run".to_string())
    }
}
