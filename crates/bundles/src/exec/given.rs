//! What an execution is given, and what it gives.

use std::collections::BTreeMap;

use serde::Serialize;

/// What the listing does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Values of scalar operands in registers, by operand index.
    pub scalars: BTreeMap<u32, u32>,
    /// Words of operands that reach scalar memory, by operand index, in the order of their layout: of operands in scalar
    /// memory, and of those that a transfer brings there from HBM or vector memory.
    pub tables: BTreeMap<u32, Vec<u32>>,
    /// What an unknown value is taken to be.
    pub default: u32,
    /// Bundles after which an execution ends with a diagnostic.
    pub limit: u64,
}

impl Inputs {
    /// Nothing known, unknown values 0, at most `limit` bundles.
    pub fn unknown(limit: u64) -> Inputs {
        Inputs { scalars: BTreeMap::new(), tables: BTreeMap::new(), default: 0, limit }
    }

    /// Makes the words of operand `index` known, whether the program has it in a register or in memory.
    pub fn give(&mut self, index: u32, words: Vec<u32>) {
        if let Some(first) = words.first() {
            self.scalars.insert(index, *first);
        }
        self.tables.insert(index, words);
    }
}

/// A value that was taken for granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumption {
    /// What it is.
    pub what: String,
    /// Line where it entered.
    pub line: u32,
    /// Times it was read.
    pub count: u64,
}

/// What the scalar side did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Bundles executed, empty ones and delay slots included.
    pub bundles: u64,
    /// Executions of each bundle.
    pub counts: Vec<u64>,
    /// Bytes read from HBM.
    pub hbm_read: u64,
    /// Bytes written to HBM.
    pub hbm_written: u64,
    /// Transfers started.
    pub transfers: u64,
    /// Values taken for granted.
    pub assumptions: Vec<Assumption>,
    /// Branches that an assumed value decided.
    pub assumed_branches: u64,
    /// Checks that failed (`shalt.err`); on assumed values they mean little.
    pub failed_checks: u64,
    /// Of these, the ones that rest on no assumption.
    pub certain_failed_checks: u64,
    /// Calls of other listings.
    pub calls: u64,
}
