//! What becomes of each value: a scalar in a register, an expression that is evaluated inside the loops of its users,
//! or a buffer in the arena; which folds update their carried tiles in place; where each buffer lies.
//!
//! *Positions* number the ops in the order of the text; a fold or an `if` also takes a position at its end. A *root* is an
//! op that runs loops: one that fills a buffer, or a store.

mod carry;
mod lives;
mod places;
mod reads;
#[cfg(test)]
mod tests;
mod unseen;
mod uses;
mod verify;
mod view;

use std::collections::{BTreeSet, HashMap};

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::range::Ranges;
use tilewright_ir::{Kernel, Value};

use crate::features::CpuFeatures;
use crate::layout::{self, Buffer};
pub use unseen::{Edge, unseen};
pub use verify::verify;
pub use view::unit_map;

/// Where a value is to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An LLVM value, made where its op stands.
    Scalar,
    /// Evaluated in the loops of its users.
    Inline,
    /// In the arena: an index into [`Plan::buffers`].
    Buffer(usize),
}

/// How a fold hands a carried tile to its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carry {
    /// A scalar: a phi.
    Scalar,
    /// The yielded tile was computed in the carried tile's buffer.
    InPlace,
    /// The yielded tile is copied at the end of the step.
    Copy,
}

/// The plan of one kernel.
pub struct Plan {
    /// Indexed by value.
    pub place: Vec<Place>,
    /// Every buffer.
    pub buffers: Vec<Buffer>,
    /// Per fold (keyed by its index value): how each carried tile is handed on.
    pub carries: HashMap<Value, Vec<Carry>>,
    /// Carried tiles (keyed by the region argument) that need no initialisation: the first step's dot starts from zero.
    pub zero_first: BTreeSet<Value>,
    /// Carried tiles whose next value is another carried tile: the buffer through which it passes.
    pub swaps: HashMap<Value, usize>,
    /// Intervals of scalars.
    pub ranges: Ranges,
    /// Bytes of all buffers.
    pub buffer_bytes: usize,
}

impl Plan {
    /// Plans a kernel that the target accepts. Errors: `cpu/dot-dtypes`.
    pub fn of(kernel: &Kernel, features: CpuFeatures) -> Result<Plan> {
        let mut p = places::Planner::new(kernel, features.lanes(DType::F32));
        p.panels(features)?;
        p.places();
        p.carries();
        p.lives();
        let buffer_bytes = layout::place(&mut p.buffers);
        Ok(Plan {
            place: p.place,
            buffers: p.buffers,
            carries: p.carries,
            zero_first: p.zero_first,
            swaps: p.swaps,
            ranges: Ranges::of(kernel),
            buffer_bytes,
        })
    }

    /// Where `v` is to be had.
    pub fn place(&self, v: Value) -> Place {
        self.place[v.0 as usize]
    }
}
