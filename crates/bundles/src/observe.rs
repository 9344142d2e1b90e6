//! What watches an execution: time, and later the values that vectors hold.

use tilewright_diag::Result;

use crate::program::{Op, Source, Transfer};

/// A stretch of execution: the path from one bundle to the next boundary (a jump back, or a limit on length).
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// First bundle.
    pub start: u32,
    /// Bundles executed.
    pub bundles: u64,
    /// Outcomes of guards in order, in words: below a leading 1, the last outcome lowest.
    pub bits: &'a [u64],
    /// Facts of transfers and waits in order, two words each: instruction and granules, then the flag.
    pub facts: &'a [u64],
    /// Hash of `bits` and `facts`.
    pub hash: u64,
    /// The bundle that comes next; the program's length at its end.
    pub next: u32,
}

/// The scalar side at a bundle, before any of its writes.
#[derive(Clone, Copy, Debug)]
pub struct Scalars<'a> {
    /// Scalar registers at 0…, predicates at 64… ([`crate::program`]); the low 32 bits are the value.
    pub registers: &'a [u64],
}

impl Scalars<'_> {
    /// The value of a scalar register.
    pub fn scalar(&self, index: u8) -> u32 {
        self.registers.get(usize::from(index)).map_or(0, |v| *v as u32)
    }

    /// The value of a predicate register.
    pub fn predicate(&self, index: u8) -> bool {
        self.registers.get(64 + usize::from(index)).is_some_and(|v| v & 1 == 1)
    }
}

/// A transfer as it starts.
#[derive(Clone, Copy, Debug)]
pub struct Started<'a> {
    /// Its entry in the program.
    pub transfer: &'a Transfer,
    /// Source address, in the units of the transfer.
    pub src: u32,
    /// Destination address.
    pub dst: u32,
    /// Size in granules of 32 bytes.
    pub granules: u32,
    /// Address of its flag.
    pub flag: u32,
    /// Source stride, destination stride, steps a stride.
    pub strides: Option<[u32; 3]>,
}

/// An observer. The executor calls it in program order; it cannot change scalar state but gives values that come from
/// vectors.
pub trait Observer {
    /// Whether [`Observer::bundle`] and [`Observer::transfer`] are wanted; without them, execution is faster.
    const EVERY_BUNDLE: bool;

    /// A bundle is about to execute.
    fn bundle(&mut self, _bundle: u32, _scalars: Scalars<'_>) -> Result<()> {
        Ok(())
    }

    /// A transfer starts.
    fn transfer(&mut self, _started: Started<'_>) -> Result<()> {
        Ok(())
    }

    /// A segment of the path is complete.
    fn segment(&mut self, _segment: Segment<'_>) -> Result<()> {
        Ok(())
    }

    /// The value of a vector element that the scalar side pops, if this observer knows it.
    fn vector_value(&mut self, _source: &Source, _op: &Op) -> Option<u32> {
        None
    }
}

/// An observer that only lets the program run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Observer for Nothing {
    const EVERY_BUNDLE: bool = false;
}
