//! What every step of a program is timed with.

use std::collections::BTreeMap;

use tilewright_bundles::exec::Inputs;
use tilewright_bundles::timing::{Model, Params};
use tilewright_hw::Machine;

use crate::collective::Mesh;
use crate::cost;
use crate::program::{Program, Step};

/// What every step of a program is timed with.
pub struct Context<'a> {
    /// The chip.
    pub machine: &'static Machine,
    /// Its numbers.
    pub params: Params,
    /// The timing model.
    pub model: Model,
    /// How devices are arranged.
    pub mesh: Mesh,
    /// Values of operands that the program is given when it runs, by op and operand.
    pub scalars: &'a BTreeMap<(String, u32), Vec<u32>>,
}

impl Context<'_> {
    /// What is known of the values that an op is given: constants of the program, and what the request says.
    pub fn inputs(&self, program: &Program<'_>, step: &Step<'_>) -> Inputs {
        let mut inputs = Inputs::unknown(cost::LIMIT);
        for (operand, words) in program.module.constant_operands(step.computation, step.instruction) {
            inputs.give(operand, words);
        }
        for ((op, operand), words) in self.scalars {
            if *op == step.instruction.name {
                inputs.give(*operand, words.clone());
            }
        }
        inputs
    }
}
