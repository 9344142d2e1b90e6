//! Wide random programs: every op, tiles of rank 0 to 4 with more elements than a vector has lanes, ragged and outlying
//! blocks, folds in folds, branches, run-time tables, outputs that combine, kernels that read each other's outputs.
//!
//! A program follows from its seed and its [`Limits`] alone, on every machine. To find the op that matters, lower
//! [`Limits::steps`]: the ops of a shorter program are those that a longer one begins with, where none of them nests.

mod grow;
mod nested;
mod operands;

use std::cell::RefCell;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::{DType, Tensor};
use tilewright_ir::{Builder, Program, Role, verify_program};

use super::data::{Family, Random};
use crate::inputs::Inputs;
use operands::Arrays;

/// What a program may be made of.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Element types of tiles and arrays; i32 and bool are always among them.
    pub dtypes: Vec<DType>,
    /// Ops of a kernel's own body, roughly; bodies of folds and branches have a few more.
    pub steps: usize,
    /// The most elements of a tile.
    pub elements: usize,
    /// What the names of operands and kernels begin with, so that programs can be joined.
    pub prefix: String,
    /// Whether blocks past an edge without pad, divisors of 0 and indices outside a table may occur: the interpreter
    /// then reports poison, and outputs mean nothing.
    pub poison: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { dtypes: DType::ALL.to_vec(), steps: 8, elements: 2000, prefix: String::new(), poison: false }
    }
}

/// The program that `seed` stands for, and its inputs.
///
/// Errors: where a hundred attempts in a row break a rule of the IR, the fault of the last.
pub fn wide(seed: u64, limits: &Limits) -> Result<(Program, Inputs)> {
    let mut fault = None;
    for attempt in 0..100u64 {
        let random = RefCell::new(Random::new(seed ^ attempt.wrapping_mul(0x9E37_79B9)));
        match program(&random, limits) {
            Ok(program) => {
                let inputs = inputs(&program, &mut random.borrow_mut())?;
                return Ok((program, inputs));
            }
            Err(d) => fault = Some(d),
        }
    }
    Err(fault.unwrap_or_else(|| Diagnostic::request("interp/no-program", "no attempt was made")))
}

fn program(random: &RefCell<Random>, limits: &Limits) -> Result<Program> {
    let dice = Dice { random };
    let kernels = dice.weighted(&[6, 2, 1]) + 1;
    let mut made: Vec<(String, DType, Vec<usize>)> = Vec::new();
    let mut program = Program { kernels: Vec::new() };
    for number in 0..kernels {
        let k = Builder::new(format!("{}k{number}", limits.prefix));
        let mut arrays = Arrays::new(format!("{}k{number}_", limits.prefix), &made, limits.poison);
        grow::record(&k, &mut arrays, dice, limits);
        made.extend(arrays.outputs);
        program.kernels.push(k.finish()?);
    }
    verify_program(&program)?;
    Ok(program)
}

fn inputs(program: &Program, random: &mut Random) -> Result<Inputs> {
    let family = match random.next() % 8 {
        0..4 => Family::Ordinary,
        4 | 5 => Family::Whole,
        6 => Family::Wild,
        _ => Family::Bits,
    };
    let given = program.operands().into_iter().filter(|o| o.given).map(|o| o.operand);
    given
        .map(|o| {
            let mut value = || match o.role {
                Role::Scalar { min, max } | Role::Table { min, max } => {
                    (i64::from(min) + (random.next() % (i64::from(max) - i64::from(min) + 1) as u64) as i64)
                        as f64
                }
                _ => family.value(o.dtype, random),
            };
            let values: Vec<f64> = (0..o.shape.elements()).map(|_| value()).collect();
            Ok((o.name.clone(), Tensor::from_f64(o.dtype, o.shape.dims(), &values)?))
        })
        .collect()
}

/// Random choices.
#[derive(Clone, Copy)]
struct Dice<'r> {
    random: &'r RefCell<Random>,
}

impl Dice<'_> {
    /// Uniform in `0 .. n`; 0 where `n` is 0.
    fn below(self, n: usize) -> usize {
        (self.random.borrow_mut().next() >> 16) as usize % n.max(1)
    }

    /// Uniform in `lo ..= hi`.
    fn between(self, lo: usize, hi: usize) -> usize {
        lo + self.below(hi - lo + 1)
    }

    /// True once in `n` times.
    fn one_in(self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// An index into `weights`, each as likely as its weight.
    fn weighted(self, weights: &[usize]) -> usize {
        let mut at = self.below(weights.iter().sum());
        weights.iter().position(|&w| at.checked_sub(w).map(|left| at = left).is_none()).unwrap_or(0)
    }

    /// Dimensions of a tile of `rank` with at most `elements` elements: a few long, many ragged, some of 1.
    fn dims(self, rank: usize, elements: usize) -> Vec<usize> {
        const SIZES: [usize; 22] =
            [1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 64, 65, 70, 100];
        let mut left = elements.max(1);
        let mut dims: Vec<usize> = (0..rank)
            .map(|_| {
                let size = self.pick(&SIZES).min(left);
                left = (left / size).max(1);
                size
            })
            .collect();
        // No dimension is always the long one.
        for d in (1..rank).rev() {
            dims.swap(d, self.below(d + 1));
        }
        dims
    }
}
