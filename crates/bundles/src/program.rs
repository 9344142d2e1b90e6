//! A listing made ready to run: the scalar side as a flat list of operations on one register file.
//!
//! Immediates and allocation addresses become registers too, so that an operand is always an index. Within a bundle
//! all reads come before all writes: operations are ordered so that a reader precedes the writer of its register, and
//! a cycle is broken by a temporary.

mod lower;
mod order;
mod outside;
mod shadow;
mod shape;

use std::collections::HashMap;

use tilewright_diag::Result;

use crate::listing::{Listing, Symbol};

/// Index of a register of the executor's file.
pub type Index = u16;

/// First predicate in the file; scalars come before it.
pub const PREDICATES: Index = 64;
/// The register that always holds 1.
pub const TRUE: Index = 128;
/// The register that always holds 0.
pub const ZERO: Index = 129;
/// First register for temporaries, tokens and constants.
pub const FREE: Index = 130;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of `Meaning`, one for one")]
pub enum Code {
    Add,
    Sub,
    Mul,
    MulHigh,
    And,
    Or,
    Xor,
    Shl,
    ShlOnes,
    Shr,
    Sar,
    Rem,
    Div,
    Carry,
    Move,
    Eq,
    Ne,
    LtS,
    LeS,
    GtS,
    GeS,
    LtU,
    LeU,
    GtU,
    GeU,
    PredOr,
    PredNand,
    PredNot,
    Select,
    IntToFloat,
    Load,
    /// As `Load`, of the core's own number: 0 where nothing wrote it.
    LoadCore,
    Store,
    /// Reads a sync flag.
    ReadFlag,
    /// A value from outside, `extra` says which ([`Program::outside`]).
    Outside,
    Halt,
    /// Only the guard matters (a predicated vector operation).
    Note,
    /// `extra` is an index into [`Program::transfers`].
    Dma,
    /// `a` the flag, `b` the count.
    Wait,
    /// `a` the flag, `b` the amount.
    SyncAdd,
    /// `a` the flag, `b` the value.
    SyncSet,
    /// `extra` is an index into [`Program::branches`].
    Branch,
    /// Runs the listing that instruction `extra` names.
    Call,
    /// Ends the path word, so that it never overflows.
    Flush,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub code: Code,
    /// Whether it has a guard; its outcome is then one bit of the path.
    pub guarded: bool,
    /// Whether the guard is negated.
    pub negated: bool,
    /// The guard's register.
    pub guard: Index,
    /// Written register.
    pub dst: Index,
    /// First operand.
    pub a: Index,
    /// Second operand.
    pub b: Index,
    /// Third operand.
    pub c: Index,
    /// Index of the instruction, or of the entry in a side table.
    pub extra: u32,
}

/// Which way a transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// HBM to vector memory.
    HbmToVmem,
    /// Vector memory to HBM.
    VmemToHbm,
    /// HBM to scalar memory.
    HbmToSmem,
    /// Scalar memory to HBM.
    SmemToHbm,
    /// Vector memory to scalar memory.
    VmemToSmem,
    /// Any other way between vector and scalar memory.
    OnChip,
    /// Both ends in HBM.
    HbmToHbm,
    /// To the host.
    Host,
}

impl Direction {
    /// Whether it reads HBM.
    pub fn reads_hbm(self) -> bool {
        matches!(self, Direction::HbmToVmem | Direction::HbmToSmem | Direction::HbmToHbm)
    }

    /// Whether it writes HBM.
    pub fn writes_hbm(self) -> bool {
        matches!(self, Direction::VmemToHbm | Direction::SmemToHbm | Direction::HbmToHbm)
    }
}

/// A transfer's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Which way.
    pub direction: Direction,
    /// Whether it is spelled `dma.general`.
    pub general: bool,
    /// Its instruction.
    pub instr: u32,
    /// Source address.
    pub src: Index,
    /// Destination address.
    pub dst: Index,
    /// Size in granules.
    pub size: Index,
    /// Flag that counts its granules.
    pub flag: Index,
    /// Source stride, destination stride and steps a stride, where given.
    pub strides: Option<[Index; 3]>,
}

/// A branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its bundle.
    pub bundle: u32,
    /// First bundle that does not run before the jump.
    pub stop: u32,
    /// The bundle that it goes to; `None` where no mark says where its region starts.
    pub target: Option<u32>,
    /// Its region.
    pub region: u32,
}

/// A value that the listing alone does not give.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// Address of an operand in its memory.
    Address {
        /// The operand's index.
        index: u32,
        /// Its memory: hbm, vmem, smem.
        space: String,
    },
    /// Value of a scalar operand.
    Scalar {
        /// The operand's index.
        index: u32,
    },
    /// A vector element pushed to the scalar side, by line.
    Vector {
        /// Line of the pop.
        line: u32,
    },
    /// A word that the loader patches or a parameter's address, by line.
    Loader {
        /// Line.
        line: u32,
    },
}

/// An operand of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its number: inputs, then outputs.
    pub index: u32,
    /// hbm, vmem, smem, or empty for a scalar in a register.
    pub space: String,
    /// Its shape as printed, e.g. `bf16[512,512]`.
    pub shape: String,
    /// Whether it is an output.
    pub output: bool,
    /// Its address, in units of its memory as the listing uses them.
    pub address: u32,
}

/// Where allocations lie. The default spreads them out; an observer that moves data places them for real.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// Addresses of allocations, in units of their memory; others get the spread address.
    pub bases: HashMap<u32, u32>,
}

impl Placement {
    /// The address of a symbol.
    pub fn address(&self, symbol: Symbol) -> u32 {
        let base = self.bases.get(&symbol.allocation).copied();
        let base = base.unwrap_or_else(|| symbol.allocation.wrapping_add(1).wrapping_mul(1 << 16));
        base.wrapping_add_signed(symbol.offset)
    }
}

/// How many bundles after a taken branch still run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shadow {
    /// Always this many.
    Fixed(u32),
    /// tpu7x: six, or fewer where the listing's marks and empty tails say so.
    Marks,
}

/// A listing made ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// Operations of every bundle, in order.
    pub ops: Vec<Op>,
    /// First operation of each bundle, and one more entry for the end.
    pub first: Vec<u32>,
    /// Guarded instructions in the order of their path bits, by bundle: index of the instruction.
    pub guards: Vec<u32>,
    /// First entry of `guards` of each bundle, and one more for the end.
    pub first_guard: Vec<u32>,
    /// Registers at the start: constants are set, the rest is 0.
    pub registers: Vec<u64>,
    /// Transfers.
    pub transfers: Vec<Transfer>,
    /// Branches.
    pub branches: Vec<Branch>,
    /// The branch of each bundle that has one: index into `branches`.
    pub branch_of: HashMap<u32, u32>,
    /// Values from outside.
    pub outside: Vec<Source>,
    /// Operands.
    pub operands: Vec<Operand>,
}

impl Program {
    /// Makes `listing` ready.
    pub fn new(listing: &Listing, shadow: Shadow, placement: &Placement) -> Result<Program> {
        lower::lower(listing, shadow, placement)
    }
}
