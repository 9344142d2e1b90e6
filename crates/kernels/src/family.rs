//! What a kernel family gives: its problem, its configs, its programs, its reference, its necessary work.

use std::collections::BTreeMap;

use serde::Serialize;
use tilewright_diag::Result;
use tilewright_dtype::Tensor;
use tilewright_ir::Program;

use crate::problem::{Config, Key, Problem};

/// Operand values by name.
pub type Inputs = BTreeMap<String, Tensor>;

/// The facts of a machine by which configs are sized. No kernel asks which target it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// f32 lanes of a vector register.
    pub lanes: usize,
    /// Data cache nearest the core, in bytes.
    pub l1_bytes: usize,
    /// Second level, in bytes per core.
    pub l2_bytes: usize,
    /// Last level, in bytes.
    pub l3_bytes: usize,
    /// Grid cells that run at once.
    pub cores: usize,
}

/// The configs of a problem on a machine.
#[derive(Clone, Debug, Default)]
pub struct Space {
    /// Worth a measurement.
    pub configs: Vec<Config>,
    /// Left out, each with the reason.
    pub pruned: Vec<(Config, String)>,
}

/// The least work that any program for a problem does: each operand moved once, each product counted as two FLOPs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Multiplications and additions (a multiply-add is two), in FLOP; integer operations count alike.
    pub flops: f64,
    /// Bytes of all inputs and outputs.
    pub bytes: f64,
    /// exp, log, tanh, erf, rsqrt and the like.
    pub transcendentals: f64,
}

/// What values an input may take, beyond its dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// Any value of the dtype: adversarial families apply as they are.
    Any,
    /// Any finite value of the dtype: the kernel may multiply it by a weight of zero, and zero times infinity is NaN.
    Finite,
    /// Magnitudes in `lo ..= hi`, both positive (scales).
    Positive {
        /// Least.
        lo: f64,
        /// Greatest.
        hi: f64,
    },
    /// Magnitudes up to 1 (cosines and sines).
    Unit,
    /// Integers in `0 .. n` (labels, page numbers).
    Index {
        /// One past the greatest.
        n: usize,
    },
}

/// A kernel family. One file each under `families/`.
pub trait Family: Send + Sync {
    /// Name on the command line.
    fn name(&self) -> &'static str;

    /// What it computes, in one sentence with its formula.
    fn about(&self) -> &'static str;

    /// The parts of its problem, in order.
    fn keys(&self) -> &'static [Key];

    /// The Rust source of its kernel.
    fn source(&self) -> &'static str;

    /// Rules between keys. `Problem::parse` has held each key to its own rule.
    fn validate(&self, _problem: &Problem) -> Result<()> {
        Ok(())
    }

    /// A config that is legal for every problem and fair on most machines.
    fn default_config(&self, problem: &Problem, machine: &Machine) -> Config;

    /// The configs that a tuner may try, the default among them.
    fn space(&self, problem: &Problem, machine: &Machine) -> Space;

    /// The tile program.
    fn build(&self, problem: &Problem, config: &Config) -> Result<Program>;

    /// Every output by name in float64, written plainly and independently of `build`, from the inputs' exact values.
    fn reference(&self, problem: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>>;

    /// The necessary work.
    fn work(&self, problem: &Problem) -> Work;

    /// What values an input may take.
    fn domain(&self, _problem: &Problem, _operand: &str) -> Domain {
        Domain::Any
    }

    /// Why values on the way may leave their type's range although the result does not, if they may, as partial sums of
    /// products do. Where it is `None`, a result that is not finite although the reference is fails the check.
    fn overflows(&self) -> Option<&'static str> {
        None
    }

    /// The size key that counts independent rows (a batch), if there is one: batch invariance is asked of it.
    fn rows(&self) -> Option<&'static str> {
        None
    }
}
