//! Opcodes: one declared entry for each family, with its slot, unit, latency and scalar meaning.
//!
//! A family's pattern lists its variants in braces (`v{add,sub}.{f32,s32}`). Unit and queue numbers are not part of
//! a name: `mxu0`, `xlu1`, `mrb[12]` and trailing numbers are taken off before the look-up and kept beside it.

mod table;

use std::collections::HashMap;
use std::sync::OnceLock;

pub use table::FAMILIES;

/// The slot class that an operation takes in a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// Matrix multiply (and the staging of its operand).
    Matmul,
    /// Weights into a matrix unit.
    Matpush,
    /// Cross-lane unit.
    Xlu,
    /// Vector arithmetic.
    Valu,
    /// Pop of a result queue.
    Vpop,
    /// Transcendental unit.
    Eup,
    /// Vector load.
    Vload,
    /// Vector store.
    Vstore,
    /// Scalar arithmetic, scalar memory, branches.
    Salu,
    /// Transfers, sync flags, traces: what the vendor's utilization table does not count.
    Misc,
    /// No hardware: names that the compiler keeps (phi, pointer casts, operands).
    Pseudo,
}

impl Slot {
    /// Every class, in the order of the vendor's table.
    pub const ALL: [Slot; 11] = [
        Slot::Matmul,
        Slot::Matpush,
        Slot::Xlu,
        Slot::Valu,
        Slot::Vpop,
        Slot::Eup,
        Slot::Vload,
        Slot::Vstore,
        Slot::Salu,
        Slot::Misc,
        Slot::Pseudo,
    ];

    /// Stable lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            Slot::Matmul => "matmul",
            Slot::Matpush => "matpush",
            Slot::Xlu => "xlu",
            Slot::Valu => "valu",
            Slot::Vpop => "vpop",
            Slot::Eup => "eup",
            Slot::Vload => "vload",
            Slot::Vstore => "vstore",
            Slot::Salu => "salu",
            Slot::Misc => "misc",
            Slot::Pseudo => "pseudo",
        }
    }
}

/// What an operation defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// Nothing, or a name without a register (a token).
    Nothing,
    /// A scalar register.
    Scalar,
    /// A predicate register.
    Predicate,
    /// A vector register.
    Vector,
    /// A vector mask register.
    Mask,
}

/// Which number of the machine file says when the result can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// The next bundle.
    One,
    /// `scalar_load`.
    ScalarLoad,
    /// `compare`.
    Compare,
    /// `scalar_multiply`.
    ScalarMultiply,
    /// `vector_float`.
    VectorFloat,
}

/// What an operation does to a unit that the timing models keep state for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No unit with state.
    None,
    /// A multiply of rows of the given width in bits: takes its matrix unit and queues results.
    Matmul(RowBits),
    /// Staging of a matrix unit.
    MatrixFeed,
    /// Weights into a matrix unit.
    MatrixPush,
    /// Pops a result of a matrix unit.
    MatrixPop,
    /// A transpose push; `last` ends the transpose and queues its results.
    Transpose {
        /// Whether this push ends it.
        last: bool,
    },
    /// Pops a transposed row.
    TransposePop,
    /// A reduction over lanes.
    XluReduce,
    /// A rotate, permute or broadcast over lanes.
    XluPermute,
    /// Pops a cross-lane result.
    XluPop,
    /// A transcendental.
    Eup,
    /// Pops a transcendental.
    EupPop,
    /// Moves a vector value, or a sync flag's, to the scalar side's queue.
    ToScalar,
}

/// Element width of the rows that a multiply takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowBits {
    /// 8-bit.
    B8,
    /// bf16.
    B16,
    /// f32.
    B32,
}

/// What the executor does for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Vector side or no effect on scalar state.
    None,
    /// No effect: the same physical register under a new name.
    Alias,
    /// `a + b`, wrapping.
    Add,
    /// `a - b`, wrapping.
    Sub,
    /// Low 32 bits of `a * b`.
    Mul,
    /// High 32 bits of the unsigned product.
    MulHigh,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// `a << b`; 0 from 32.
    Shl,
    /// `a << b` with ones shifted in.
    ShlOnes,
    /// Logical `a >> b`; 0 from 32.
    Shr,
    /// Arithmetic `a >> b`; the sign from 31.
    Sar,
    /// Unsigned quotient, its remainder queued for `spop.drf`.
    DivRem,
    /// Carry out of `a + b`, a predicate.
    Carry,
    /// A copy.
    Move,
    /// `a == b`.
    Eq,
    /// `a != b`.
    Ne,
    /// Signed `a < b`.
    LtS,
    /// Signed `a <= b`.
    LeS,
    /// Signed `a > b`.
    GtS,
    /// Signed `a >= b`.
    GeS,
    /// Unsigned `a < b`.
    LtU,
    /// Unsigned `a <= b`.
    LeU,
    /// Unsigned `a > b`.
    GtU,
    /// Unsigned `a >= b`.
    GeU,
    /// `a | b` of predicates.
    PredOr,
    /// `!(a & b)` of predicates.
    PredNand,
    /// `!a` of a predicate.
    PredNot,
    /// `p ? a : b`.
    Select,
    /// Sum of address parts.
    Lea,
    /// Signed integer to f32 bits.
    IntToFloat,
    /// Scalar memory load.
    Load,
    /// Scalar memory store.
    Store,
    /// An operand of the program.
    Operand,
    /// A value only the loader or the host knows.
    Loader,
    /// Pop of a value that the vector side or a queue gives.
    Pop,
    /// Pop of a division's second result.
    PopRemainder,
    /// A branch.
    Branch,
    /// Halts when its guard holds.
    Halt,
    /// A transfer.
    Dma,
    /// A transfer whose two ends are in HBM or that a descriptor shapes.
    DmaGeneral,
    /// Waits until a flag has counted a transfer.
    DmaWait,
    /// Adds to a sync flag.
    SyncAdd,
    /// Sets a sync flag.
    SyncSet,
    /// Waits on a sync flag that another agent sets.
    SyncWait,
    /// Runs another listing.
    Call,
}

/// One family of opcodes.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Names with their variants in braces.
    pub pattern: &'static str,
    /// The slot that it takes.
    pub slot: Slot,
    /// What it defines.
    pub gives: Gives,
    /// Fewest and most operands (annotations and attributes not counted).
    pub operands: (u8, u8),
    /// When the result can be used.
    pub latency: Latency,
    /// The unit with state that it touches.
    pub unit: Unit,
    /// What the executor does.
    pub meaning: Meaning,
}

/// An opcode as a listing spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcode {
    /// Index into [`FAMILIES`]; `None` for an opcode that the table does not know.
    pub family: Option<u16>,
    /// Number of the matrix or cross-lane unit; 0 where it has none.
    pub unit: u8,
    /// Second unit, of ops that pop two.
    pub unit2: Option<u8>,
    /// Result slot (`mrb[N]`), or the trailing number.
    pub slot: u16,
    /// Whether `slot` was printed.
    pub has_slot: bool,
}

impl Opcode {
    /// The family's entry.
    pub fn entry(&self) -> Option<&'static Family> {
        self.family.and_then(|f| FAMILIES.get(usize::from(f)))
    }
}

/// Reads an opcode's text.
pub fn opcode(text: &str) -> Opcode {
    let mut op = Opcode { family: None, unit: 0, unit2: None, slot: 0, has_slot: false };
    let mut stem = String::with_capacity(text.len());
    let mut units = 0;
    for piece in text.split('.') {
        if let Some(n) = number_after(piece, "mxu").or_else(|| number_after(piece, "xlu")) {
            if units == 0 {
                op.unit = n as u8;
            } else {
                op.unit2 = Some(n as u8);
            }
            units += 1;
            continue;
        }
        if let Some(n) =
            piece.strip_prefix("mrb[").and_then(|p| p.strip_suffix(']')).and_then(|p| p.parse().ok())
        {
            op.slot = n;
            op.has_slot = true;
            push(&mut stem, "mrb");
            continue;
        }
        let trailing = matches!(stem.as_str(), "vllmr" | "vmatmul.lmr.bf16.gmra");
        if let Some(n) = piece.parse().ok().filter(|_| trailing) {
            op.slot = n;
            op.has_slot = true;
            continue;
        }
        push(&mut stem, piece);
    }
    op.family = names().get(stem.as_str()).copied();
    op
}

fn push(stem: &mut String, piece: &str) {
    if !stem.is_empty() {
        stem.push('.');
    }
    stem.push_str(piece);
}

fn number_after(piece: &str, prefix: &str) -> Option<u32> {
    let digits = piece.strip_prefix(prefix)?;
    (digits.len() <= 2).then(|| digits.parse().ok()).flatten()
}

/// Every variant's name with its family.
fn names() -> &'static HashMap<String, u16> {
    static NAMES: OnceLock<HashMap<String, u16>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut map = HashMap::new();
        for (i, family) in FAMILIES.iter().enumerate() {
            for name in variants(family.pattern) {
                map.insert(name, i as u16);
            }
        }
        map
    })
}

/// The names that a pattern stands for.
pub fn variants(pattern: &str) -> Vec<String> {
    let Some((head, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let Some((choices, tail)) = rest.split_once('}') else { return vec![pattern.to_owned()] };
    let tails = variants(tail);
    choices.split(',').flat_map(|c| tails.iter().map(move |t| format!("{head}{c}{t}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_expand_to_distinct_names() {
        let all: Vec<String> = FAMILIES.iter().flat_map(|f| variants(f.pattern)).collect();
        assert_eq!(all.len(), names().len(), "a name stands in two families");
    }

    #[test]
    fn numbers_are_taken_off() {
        let op = opcode("vmatmul.mubr.bf16.vlgmr.msra.gmra.mrb[12].mxu1");
        assert_eq!((op.unit, op.slot, op.has_slot), (1, 12, true));
        assert_eq!(op.entry().map(|f| f.unit), Some(Unit::Matmul(RowBits::B16)));
        assert_eq!(opcode("vpop.add.s32.mrf.mxu0.mxu1").unit2, Some(1));
        assert!(opcode("vfrobnicate.f32").family.is_none());
    }
}
