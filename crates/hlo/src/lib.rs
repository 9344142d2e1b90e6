//! The optimised HLO that XLA prints: the ops of a program in the order in which they run.
//!
//! Only what explaining a program needs is understood: shapes with their tilings and memory spaces, operands, called
//! computations, source lines; all other attributes are kept as text. [`parse`] is strict about what it understands and
//! names the line of what it does not.

mod constants;
mod forms;
mod frames;
mod groups;
mod memory;
mod parse;
mod shape;
mod work;

use std::collections::HashMap;

pub use forms::Forms;
pub use parse::parse;
pub use shape::{Array, Dtype, Layout, Shape, Tile};
pub use work::Work;

/// A module: its computations, the entry among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Computations in the order of the text.
    pub computations: Vec<Computation>,
    /// Which of them is the entry.
    pub entry: usize,
    /// Devices that one copy of the program is split over.
    pub partitions: usize,
    /// Copies of the program that run together.
    pub replicas: usize,
    by_name: HashMap<String, usize>,
}

/// A computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Computation {
    /// Its name, without `%`.
    pub name: String,
    /// Instructions; in a scheduled module in the order in which they run.
    pub instructions: Vec<Instruction>,
    /// Which of them is the root.
    pub root: usize,
    by_name: HashMap<String, usize>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Its name, without `%`.
    pub name: String,
    /// What it yields.
    pub shape: Shape,
    /// `fusion`, `dot`, `custom-call` …
    pub opcode: String,
    /// Names of its operands, without `%`; of a `parameter` or `constant` the text in its parentheses.
    pub operands: Vec<String>,
    /// Attributes as they are written, in order.
    pub attributes: Vec<(String, String)>,
    /// Line of the text, from 1.
    pub line: usize,
    /// Where its `stack_frame_id` leads.
    frame: Option<frames::Place>,
}

impl Module {
    /// The computation called `name`.
    pub fn computation(&self, name: &str) -> Option<&Computation> {
        self.by_name.get(name).map(|&i| &self.computations[i])
    }

    /// The computation that the program begins with.
    pub fn entry(&self) -> &Computation {
        &self.computations[self.entry]
    }

    /// The instruction called `name`, wherever it stands: names are unique in a module. Entry first.
    pub fn find(&self, name: &str) -> Option<(&Computation, &Instruction)> {
        let entry = std::iter::once(self.entry());
        entry.chain(&self.computations).find_map(|c| c.instruction(name).map(|i| (c, i)))
    }
}

impl Computation {
    /// The instruction called `name`.
    pub fn instruction(&self, name: &str) -> Option<&Instruction> {
        self.by_name.get(name).map(|&i| &self.instructions[i])
    }

    /// The instruction whose result is the computation's.
    pub fn root(&self) -> &Instruction {
        &self.instructions[self.root]
    }
}

impl Instruction {
    /// An attribute's text.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The name of the computation that an attribute (`calls`, `body`, `to_apply` …) names.
    pub fn called(&self, name: &str) -> Option<&str> {
        self.attribute(name).map(|c| c.trim_start_matches('%'))
    }

    /// Whole numbers of an attribute in braces, such as `{1,2}`.
    pub fn numbers(&self, name: &str) -> Vec<usize> {
        let text = self.attribute(name).unwrap_or_default();
        text.trim_matches(['{', '}']).split(',').filter_map(|n| n.trim().parse().ok()).collect()
    }

    /// Where its author wrote it: file and line, as the front end recorded them.
    pub fn source(&self) -> Option<(String, usize)> {
        let metadata = self.attribute("metadata")?;
        let field = |name: &str| {
            let rest = &metadata[metadata.find(&format!("{name}="))? + name.len() + 1..];
            Some(rest.trim_start_matches('"').split(['"', ' ', '}']).next()?.to_string())
        };
        match &self.frame {
            Some((file, line)) => Some((file.to_string(), *line)),
            None => Some((field("source_file")?, field("source_line")?.parse().ok()?)),
        }
    }
}
