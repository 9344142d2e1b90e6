//! What each bundle means for time, prepared once.

mod instr;
mod merge;
mod places;

use std::collections::HashMap;

use self::merge::Merger;
use self::places::{Place, close_places};
use super::params::{Lift, Params};
use crate::listing::{Class, Instr, Listing, Operand, Part, Reg};
use crate::ops::{Meaning, Slot};
use crate::program::Program;

/// Timed registers: scalars, predicates, vectors, masks, then tokens of the scalar side.
pub const REGISTERS: usize = FIRST_CELL as usize + CELLS;
/// Tokens that can be on their way to the scalar side; further ones share places.
const TOKENS: usize = 64;
/// The register that stands for the end of the last wait.
pub const WAITED: u16 = 256 + TOKENS as u16;
/// First register that stands for a place in vector memory.
const FIRST_CELL: u16 = WAITED + 1;
/// Places in vector memory whose stores are followed closely by a load; further ones share registers.
const CELLS: usize = 512;

/// What an item does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Needs register `n`.
    Read,
    /// Register `n` is ready `m` cycles later.
    Write,
    /// Takes matrix unit `unit` for `m` cycles and gives `n` results (a queue).
    Matmul,
    /// Takes matrix unit `unit` for `m >> 16` cycles; results go to slots from `n`, `m & 0xffff` of them.
    MatmulSlot,
    /// Pops matrix unit `unit`.
    MatrixPop,
    /// Reads result slot `n` of matrix unit `unit`.
    SlotPop,
    /// Takes cross-lane unit `unit` for `m` cycles.
    Transpose,
    /// As [`Act::Transpose`], and starts a transpose.
    TransposeStart,
    /// As [`Act::Transpose`], then `n` results follow.
    TransposeEnd,
    /// Pops a transposed row.
    TransposePop,
    /// Takes cross-lane unit `unit` for `m >> 16` cycles, result after `m & 0xffff`.
    Xlu,
    /// Pops a cross-lane result.
    XluPop,
    /// A transcendental, result after `m`.
    Eup,
    /// Pops it.
    EupPop,
    /// Needs matrix unit `unit`.
    NeedMatrix,
    /// Needs the weights of matrix unit `unit`.
    NeedWeights,
    /// Takes the weights of matrix unit `unit` for `m` cycles.
    Push,
    /// Needs cross-lane unit `unit`; `n` is 1 for a transpose, 2 for its first push.
    NeedXlu,
    /// Starts transfer `m`, the next fact.
    Start,
    /// Waits for the next fact.
    Wait,
    /// Adds the next fact to a flag.
    Add,
    /// Calls another listing; a fact without content.
    Call,
    /// The branch of this bundle.
    Branch,
    /// Counts an operation of slot class `n` (guarded operations only).
    Count,
}

impl Act {
    /// Whether it has a say in when the bundle issues.
    fn decides(self) -> bool {
        matches!(
            self,
            Act::Read
                | Act::NeedMatrix
                | Act::NeedXlu
                | Act::NeedWeights
                | Act::MatrixPop
                | Act::SlotPop
                | Act::TransposePop
                | Act::XluPop
                | Act::EupPop
                | Act::Start
                | Act::Wait
                | Act::Add
                | Act::Call
        )
    }
}

/// One effect of a bundle on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it does.
    pub act: Act,
    /// Which guard of the bundle decides it, counted from 1; 0 for none.
    pub guard: u8,
    /// Unit.
    pub unit: u8,
    /// See [`Act`].
    pub n: u16,
    /// See [`Act`].
    pub m: u32,
}

/// Everything about time, by bundle.
#[derive(Clone, Debug)]
pub struct Items {
    /// Items of all bundles.
    pub items: Vec<Item>,
    /// First item of each bundle, and one more.
    pub first: Vec<u32>,
    /// First item of each bundle that takes effect once it issues; those before decide when.
    pub effects: Vec<u32>,
    /// Cycles of each bundle without stalls.
    pub cost: Vec<u8>,
    /// Slots of each bundle's unguarded operations.
    pub slots: Vec<[u8; 11]>,
    /// Vector spill stores and loads, scalar spill stores and loads of each bundle.
    pub spills: Vec<[u8; 4]>,
    /// Transposed rows that a transpose still has to give, by its last push (only while compiling).
    widths: HashMap<u8, u32>,
    /// Registers that stand for places in vector memory.
    cells: HashMap<Place, u16>,
}

/// The bit beside the number of a multiply's results which says that its rows are of 8 bits.
pub const NARROW: u16 = 1 << 15;

/// Prepares a program.
pub fn compile(listing: &Listing, program: &Program, params: &Params) -> Items {
    let mut out = Items {
        items: Vec::with_capacity(listing.instrs.len() * 3),
        first: Vec::with_capacity(listing.bundles.len() + 1),
        effects: Vec::with_capacity(listing.bundles.len()),
        cost: Vec::with_capacity(listing.bundles.len()),
        slots: Vec::with_capacity(listing.bundles.len()),
        spills: Vec::with_capacity(listing.bundles.len()),
        widths: HashMap::new(),
        cells: close_places(listing),
    };
    let transfers: HashMap<u32, u32> =
        program.transfers.iter().enumerate().map(|(i, t)| (t.instr, i as u32)).collect();
    let mut merger = Merger::new(listing, program, params);
    for (b, bundle) in listing.bundles.iter().enumerate() {
        out.first.push(out.items.len() as u32);
        let range = program.first_guard.get(b).zip(program.first_guard.get(b + 1));
        let guards = range.and_then(|(x, y)| program.guards.get(*x as usize..*y as usize)).unwrap_or(&[]);
        let mut slots = [0u8; 11];
        let mut spills = [0u8; 4];
        let mut counted = false;
        let mut reads = Vec::new();
        let mut rest = Vec::new();
        for (i, instr) in listing.of(bundle).iter().enumerate() {
            let at = bundle.instrs.start + i as u32;
            let guard = guards.iter().position(|g| *g == at).map_or(0, |p| (p + 1).min(255) as u8);
            let spill = spill_kind(listing, instr);
            if let Some(n) = spill.and_then(|k| spills.get_mut(k)) {
                *n = n.saturating_add(1);
                if params.lifted(Lift::Spills) {
                    continue;
                }
            }
            counted = true;
            let start = transfers.get(&at).copied().unwrap_or(0);
            out.instr(listing, params, instr, (guard, start), &mut reads, &mut rest, &mut slots);
        }
        // Reads first, each register once: they decide when the bundle can issue.
        reads.sort_by_key(|i: &Item| (i.guard, i.n));
        reads.dedup();
        out.items.extend(reads);
        out.items.extend(rest.iter().filter(|i| i.act.decides()));
        out.effects.push(out.items.len() as u32);
        out.items.extend(rest.iter().filter(|i| !i.act.decides()));
        out.cost.push(if counted { 1 } else { params.empty.min(255) as u8 });
        if let Some(before) = merger.bundle(b as u32).and_then(|before| out.cost.get_mut(before as usize)) {
            *before = 0;
        }
        out.slots.push(slots);
        out.spills.push(spills);
    }
    out.first.push(out.items.len() as u32);
    out
}

/// 0 vector spill store, 1 vector reload, 2 scalar spill store, 3 scalar reload.
fn spill_kind(listing: &Listing, instr: &Instr) -> Option<usize> {
    let Some(Operand::Mem(m)) = listing.args(instr).first().map(|a| a.operand) else { return None };
    let mem = listing.mems.get(m as usize)?;
    if !matches!(mem.base, Part::Symbol(s) if s.spill) {
        return None;
    }
    let family = listing.entry(instr)?;
    Some(match (family.meaning, family.slot) {
        (Meaning::Store, _) => 2,
        (Meaning::Load, _) => 3,
        (_, Slot::Vstore) => 0,
        _ => 1,
    })
}

/// Place of a register among the timed ones.
pub fn register(reg: Reg) -> u16 {
    let base = match reg.class {
        Class::Scalar => 0,
        Class::Predicate => 64,
        Class::Vector => 128,
        Class::Mask => 192,
    };
    base + u16::from(reg.index)
}

fn token(id: u32) -> u16 {
    256 + (id as usize % TOKENS) as u16
}
