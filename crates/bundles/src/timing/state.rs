//! The machine's state that time depends on.

use std::collections::VecDeque;

use super::items::REGISTERS;
use super::memory::Memory;

/// Units of a kind.
pub const UNITS: usize = 4;
/// Result slots of a matrix unit (tpu7x).
pub const SLOTS: usize = 512;

/// Everything pending.
#[derive(Clone, Debug)]
pub struct State {
    /// Cycle at which each register can be used.
    pub ready: Vec<i64>,
    /// Cycle at which each matrix unit is free.
    pub mxu_free: [i64; UNITS],
    /// Cycle at which each cross-lane unit is free.
    pub xlu_free: [i64; UNITS],
    /// Matrix results in order.
    pub matrix: [VecDeque<i64>; UNITS],
    /// Transposed rows in order.
    pub transposed: [VecDeque<i64>; UNITS],
    /// Cross-lane results in order.
    pub crossed: [VecDeque<i64>; UNITS],
    /// Transcendental results in order.
    pub eup: VecDeque<i64>,
    /// Result slots of matrix units.
    pub slots: Vec<i64>,
    /// Transfers.
    pub memory: Memory,
}

impl State {
    /// Nothing pending.
    pub fn new() -> State {
        State {
            ready: vec![0; REGISTERS],
            mxu_free: [0; UNITS],
            xlu_free: [0; UNITS],
            matrix: Default::default(),
            transposed: Default::default(),
            crossed: Default::default(),
            eup: VecDeque::new(),
            slots: vec![0; UNITS * SLOTS],
            memory: Memory::default(),
        }
    }
}
