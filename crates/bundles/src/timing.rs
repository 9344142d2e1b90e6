//! Time: bundles issue in order, and wait for operands, units, result queues and transfers.
//!
//! The simulator is an observer of the executor. It replays each segment of the path, and remembers from which
//! relative state a segment led to which, so that a loop in its steady state costs one look-up an iteration.

mod background;
mod bits;
mod delta;
mod effect;
mod items;
mod memory;
mod params;
mod sim;
mod state;

pub use background::Background;
pub use delta::Delta;
pub use items::Items;
pub use memory::wait;
pub use params::{Lift, Model, Params};
use serde::Serialize;
pub use sim::Simulator;

/// Why the next bundle could not issue at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A wait for a transfer.
    DmaWait,
    /// A matrix unit was taken.
    MatrixBusy,
    /// A matrix result was not there.
    MatrixResult,
    /// The transpose unit was taken.
    TransposeBusy,
    /// A transposed row was not there.
    TransposeResult,
    /// A cross-lane unit was taken.
    XluBusy,
    /// A cross-lane result was not there.
    XluResult,
    /// A transcendental's result was not there.
    EupResult,
    /// A scalar operand was not ready.
    ScalarOperand,
    /// A vector operand was not ready.
    VectorOperand,
    /// A scalar operand of the whole program had to arrive.
    CallOperand,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Cause; 11] = [
        Cause::DmaWait,
        Cause::MatrixBusy,
        Cause::MatrixResult,
        Cause::TransposeBusy,
        Cause::TransposeResult,
        Cause::XluBusy,
        Cause::XluResult,
        Cause::EupResult,
        Cause::ScalarOperand,
        Cause::VectorOperand,
        Cause::CallOperand,
    ];

    /// Stable name.
    pub fn name(self) -> &'static str {
        match self {
            Cause::DmaWait => "dma_wait",
            Cause::MatrixBusy => "matrix_busy",
            Cause::MatrixResult => "matrix_result",
            Cause::TransposeBusy => "transpose_busy",
            Cause::TransposeResult => "transpose_result",
            Cause::XluBusy => "xlu_busy",
            Cause::XluResult => "xlu_result",
            Cause::EupResult => "eup_result",
            Cause::ScalarOperand => "scalar_operand",
            Cause::VectorOperand => "vector_operand",
            Cause::CallOperand => "call_operand",
        }
    }
}
