//! A listing as values: bundles, instructions, operands, regions, all in flat arrays.

use std::collections::HashMap;
use std::ops::Range;

use serde::Serialize;
use tilewright_diag::Span;
use tilewright_hw::Chip;

use crate::ops::{Family, Opcode};

/// Class of a physical register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// 32-bit scalar, `s0` …
    Scalar,
    /// One-bit predicate, `p0` …
    Predicate,
    /// Vector of 8 × 128 words, `v0` …
    Vector,
    /// Vector mask, `vm0` …
    Mask,
}

/// A physical register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg {
    /// Its class.
    pub class: Class,
    /// Its number, below 64.
    pub index: u8,
}

/// A named value: the compiler's number, and the register it lives in, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    /// The compiler's number of the value.
    pub id: u32,
    /// Its register; `None` for tokens and queue entries.
    pub reg: Option<Reg>,
}

/// `#allocationN`, possibly with an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symbol {
    /// N.
    pub allocation: u32,
    /// Added to its address, in units of its memory.
    pub offset: i32,
    /// Whether the name ends in `_spill`.
    pub spill: bool,
}

/// Which memory an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Vector memory, in rows of 512 bytes.
    Vmem,
    /// Scalar memory, in words of 32 bits.
    Smem,
}

/// Part of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Absent.
    None,
    /// An immediate.
    Imm(i64),
    /// A register.
    Value(Value),
    /// An allocation.
    Symbol(Symbol),
}

/// A memory operand, e.g. `[vmem:[%s1 + $0x8] ss:$8 sps:$4 sm:$0xff]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mem {
    /// Which memory.
    pub space: Space,
    /// Where.
    pub base: Part,
    /// Added to it.
    pub index: Part,
    /// Sublane mask `sm:`.
    pub mask: Part,
    /// Sublane stride `ss:`.
    pub stride: Option<i64>,
    /// Sublanes a stride `sps:`.
    pub per_stride: Option<i64>,
    /// Shuffle pattern `pattern:`.
    pub pattern: Option<i64>,
}

/// Label before an operand, `/*name=*/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(pub u16);

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// A value.
    Value(Value),
    /// An integer, as printed.
    Int(i64),
    /// A float, as printed and rounded to f32.
    Float(f32),
    /// A packed pair, low half first.
    Pair(f32, f32),
    /// An allocation's address.
    Symbol(Symbol),
    /// Index into [`Listing::mems`].
    Mem(u32),
    /// A branch's region.
    Region(u32),
}

/// An operand with its label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arg {
    /// The label, where one is printed.
    pub label: Option<Label>,
    /// The operand.
    pub operand: Operand,
    /// A symbol after an operand (`8 [#allocation1]`) only names what it points into.
    pub names: Option<Symbol>,
}

/// When an instruction takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub value: Value,
    /// Whether it is negated.
    pub negated: bool,
    /// The value that the result keeps otherwise (`smov.u32 (!%p, %s), %t`).
    pub otherwise: Option<Value>,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instr {
    /// The opcode; its text is [`Listing::name`].
    pub op: Opcode,
    /// Index of the opcode's text.
    pub text: u32,
    /// Line of the listing.
    pub line: u32,
    /// What it defines.
    pub dest: Option<Value>,
    /// When it takes effect.
    pub guard: Option<Guard>,
    /// Its operands in [`Listing::args`].
    pub args: Range<u32>,
    /// Bytes of the attributes in brackets, of the listing's text (`[shape: …]`, `[thread:$0]`).
    pub attributes: Range<u32>,
    /// Bytes of the last comment, of the listing's text.
    pub note: Range<u32>,
}

/// One bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Line of the listing.
    pub line: u32,
    /// Its instructions in [`Listing::instrs`].
    pub instrs: Range<u32>,
    /// Printed nesting (the number of `>`); cosmetic, as empty bundles drop it.
    pub depth: u8,
}

/// A mark in a bundle's trailing comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A region starts with this bundle.
    Start(u32),
    /// A region ends with this bundle.
    End(u32),
    /// An empty region stands at this bundle.
    Empty(u32),
}

/// Shape of a window that a transfer moves, from the note on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Index of the transfer among the instructions.
    pub instr: u32,
    /// Named rows of numbers, e.g. `window_bounds` → 64, 8.
    pub fields: Vec<(String, Vec<i64>)>,
}

/// An opcode that the table does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// Its text.
    pub name: String,
    /// Line of its first occurrence.
    pub line: u32,
    /// Occurrences.
    pub count: u64,
}

/// A parsed listing.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The chip that it was compiled for.
    pub chip: Chip,
    /// The file's name, for diagnostics.
    pub file: String,
    /// The whole text.
    pub text: String,
    /// Bundles by address.
    pub bundles: Vec<Bundle>,
    /// Instructions in order.
    pub instrs: Vec<Instr>,
    /// Operands in order.
    pub args: Vec<Arg>,
    /// Memory operands.
    pub mems: Vec<Mem>,
    /// Opcode texts.
    pub names: Vec<String>,
    /// Label texts.
    pub labels: Vec<String>,
    /// Region marks: bundle and mark.
    pub marks: Vec<(u32, Mark)>,
    /// The bundle at which each region starts.
    pub regions: HashMap<u32, u32>,
    /// Windows of transfers.
    pub windows: Vec<Window>,
    /// The HLO instruction of the entry bundle's note.
    pub hlo: Option<String>,
    /// Opcodes that the table does not know.
    pub unknown: Vec<Unknown>,
    /// Notes after bundles that are not understood: line and text.
    pub unknown_notes: Vec<(u32, String)>,
}

impl Listing {
    /// The opcode text of an instruction.
    pub fn name(&self, instr: &Instr) -> &str {
        self.names.get(instr.text as usize).map_or("?", String::as_str)
    }

    /// The table's entry for an instruction.
    pub fn entry(&self, instr: &Instr) -> Option<&'static Family> {
        instr.op.entry()
    }

    /// The instructions of a bundle.
    pub fn of(&self, bundle: &Bundle) -> &[Instr] {
        self.instrs.get(bundle.instrs.start as usize..bundle.instrs.end as usize).unwrap_or(&[])
    }

    /// The operands of an instruction.
    pub fn args(&self, instr: &Instr) -> &[Arg] {
        self.args.get(instr.args.start as usize..instr.args.end as usize).unwrap_or(&[])
    }

    /// The operand of an instruction that carries `label`.
    pub fn labelled(&self, instr: &Instr, label: &str) -> Option<&Arg> {
        self.args(instr)
            .iter()
            .find(|a| a.label.and_then(|l| self.labels.get(usize::from(l.0))).is_some_and(|l| l == label))
    }

    /// A piece of the text.
    pub fn slice(&self, range: &Range<u32>) -> &str {
        self.text.get(range.start as usize..range.end as usize).unwrap_or("")
    }

    /// Where an instruction stands.
    pub fn span(&self, line: u32) -> Span {
        Span::new(self.file.clone(), line, 0)
    }

    /// The text of a bundle's first line.
    pub fn line_text(&self, line: u32) -> &str {
        self.text.lines().nth(line.saturating_sub(1) as usize).unwrap_or("")
    }
}
