//! Kernels and targets with something wrong with them.
#![allow(clippy::unwrap_used, reason = "a test stops at its first fault")]
#![allow(dead_code, reason = "no test uses all of it")]

use std::collections::BTreeMap;
use std::time::Duration;

use tilewright_check::{Executor, Interp, Options, Ran, Ready, Report, check};
use tilewright_diag::Result;
use tilewright_dtype::Tensor;
use tilewright_interp::Accuracy;
use tilewright_ir::Program;
use tilewright_kernels::{Config, Family, Inputs, Key, Machine, Problem, Space, Work};

/// Enough for a debug build on a busy machine: no case is left out.
pub fn options() -> Options {
    Options {
        budget: Duration::from_secs(600),
        shrink_budget: Duration::from_secs(600),
        ..Options::default()
    }
}

pub fn machine() -> Machine {
    Machine { lanes: 8, l1_bytes: 4096, l2_bytes: 32768, l3_bytes: 1 << 20, cores: 2 }
}

pub fn family(name: &str) -> &'static dyn Family {
    tilewright_kernels::family(name).unwrap()
}

pub fn problem(words: &str) -> Problem {
    let mut words = words.split(' ');
    let family = family(words.next().unwrap());
    let words: Vec<&str> = words.collect();
    Problem::parse(family.name(), family.keys(), &words).unwrap()
}

/// Checks a library kernel with its default config on the interpreter.
pub fn on_interp(words: &str, options: &Options) -> Report {
    let (f, p) = (family(words.split(' ').next().unwrap()), problem(words));
    check(f, &p, &f.default_config(&p, &machine()), &Interp, options).unwrap()
}

/// A target that runs another program than it is given.
pub struct Mutant<F>(pub F);

impl<F: Fn(&mut Program) + Sync> Executor for Mutant<F> {
    fn name(&self) -> String {
        "mutant".to_string()
    }

    fn accuracy(&self) -> Accuracy {
        Interp.accuracy()
    }

    fn prepare(&self, program: &Program) -> Result<Box<dyn Ready>> {
        let mut program = program.clone();
        (self.0)(&mut program);
        Interp.prepare(&program)
    }
}

/// A target that changes its answers.
pub struct Answer<F>(pub F);

struct Answering<F> {
    change: F,
    right: Box<dyn Ready>,
}

impl<F: Fn(&str, &mut Tensor) + Copy + Send + Sync + 'static> Executor for Answer<F> {
    fn name(&self) -> String {
        "answer".to_string()
    }

    fn accuracy(&self) -> Accuracy {
        Interp.accuracy()
    }

    fn prepare(&self, program: &Program) -> Result<Box<dyn Ready>> {
        Ok(Box::new(Answering { change: self.0, right: Interp.prepare(program)? }))
    }
}

impl<F: Fn(&str, &mut Tensor) + Send + Sync> Ready for Answering<F> {
    fn run(&self, inputs: &Inputs, cells: Option<&[usize]>) -> Result<Ran> {
        let mut ran = self.right.run(inputs, cells)?;
        ran.outputs.iter_mut().for_each(|(name, tensor)| (self.change)(name, tensor));
        Ok(ran)
    }
}

pub static ROWS: &[Key] = &[Key::dim("rows", "rows"), Key::dim("cols", "columns")];

type Build = dyn Fn(&Problem, &Config) -> Result<Program> + Send + Sync;

/// What a user writes: a program, and a reference for its output `y`.
pub struct Kernel {
    pub build: Box<Build>,
    pub reference: fn(&Problem, &Inputs) -> Vec<f64>,
    /// [`Family::overflows`].
    pub overflows: Option<&'static str>,
}

impl Family for Kernel {
    fn name(&self) -> &'static str {
        "planted"
    }

    fn about(&self) -> &'static str {
        "a kernel of the tests"
    }

    fn keys(&self) -> &'static [Key] {
        ROWS
    }

    fn source(&self) -> &'static str {
        ""
    }

    fn default_config(&self, _: &Problem, _: &Machine) -> Config {
        Config::of(&[("br", 1), ("bc", 16)])
    }

    fn space(&self, problem: &Problem, machine: &Machine) -> Space {
        Space { configs: vec![self.default_config(problem, machine)], pruned: Vec::new() }
    }

    fn build(&self, problem: &Problem, config: &Config) -> Result<Program> {
        (self.build)(problem, config)
    }

    fn reference(&self, problem: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        Ok(BTreeMap::from([("y".to_string(), (self.reference)(problem, inputs))]))
    }

    fn work(&self, _: &Problem) -> Work {
        Work::default()
    }

    fn overflows(&self) -> Option<&'static str> {
        self.overflows
    }

    fn rows(&self) -> Option<&'static str> {
        Some("rows")
    }
}
