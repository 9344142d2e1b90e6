//! What each bundle means for time, prepared once.

use std::collections::HashMap;

use super::params::{Lift, Params};
use crate::listing::{Class, Instr, Listing, Operand, Part, Reg, Value};
use crate::ops::{Gives, Meaning, RowBits, Slot, Unit};
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
/// Bundles within which a load can still meet a store's latency.
const CLOSE: usize = 16;

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

/// A place in vector memory as a listing spells it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Place {
    base: (u8, u32),
    offset: i64,
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
    let mut merged = false;
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
        let join = params
            .lifts
            .iter()
            .any(|l| matches!(l, Lift::ExtraSlot(s) if only(&slots, *s) && guards.is_empty()));
        merged = join && !merged;
        out.cost.push(if counted && !merged { 1 } else { params.empty.min(255) as u8 });
        out.slots.push(slots);
        out.spills.push(spills);
    }
    out.first.push(out.items.len() as u32);
    out
}

/// Whether a bundle's operations are all of one class.
fn only(slots: &[u8; 11], slot: Slot) -> bool {
    let total: u32 = slots.iter().take(10).map(|n| u32::from(*n)).sum();
    total > 0 && slots.get(slot as usize).is_some_and(|n| u32::from(*n) == total)
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

impl Items {
    #[allow(clippy::too_many_arguments, reason = "one instruction's place in three lists")]
    fn instr(
        &mut self,
        listing: &Listing,
        params: &Params,
        instr: &Instr,
        (guard, start): (u8, u32),
        reads: &mut Vec<Item>,
        rest: &mut Vec<Item>,
        slots: &mut [u8; 11],
    ) {
        let Some(family) = listing.entry(instr) else { return };
        let item = |act, unit, n, m| Item { act, guard, unit, n, m };
        if family.slot != Slot::Pseudo {
            match slots.get_mut(family.slot as usize) {
                Some(n) if guard == 0 => *n = n.saturating_add(1),
                _ => rest.push(item(Act::Count, 0, family.slot as u16, 0)),
            }
        }
        if family.meaning == Meaning::Alias {
            return;
        }
        let mut read = |v: Value, guard: u8| {
            let n = match v.reg {
                Some(r) => register(r),
                None if matches!(family.meaning, Meaning::Pop | Meaning::PopRemainder) => token(v.id),
                None => return,
            };
            reads.push(Item { act: Act::Read, guard, unit: 0, n, m: 0 });
        };
        if let Some(g) = instr.guard {
            read(g.value, guard);
            if let Some(o) = g.otherwise {
                read(o, guard);
            }
        }
        // A pointer cast may stand in the bundle of its producer; it costs nothing.
        if family.slot != Slot::Pseudo {
            for arg in listing.args(instr) {
                match arg.operand {
                    Operand::Value(v) => read(v, guard),
                    Operand::Mem(m) => {
                        let Some(mem) = listing.mems.get(m as usize) else { continue };
                        for part in [mem.base, mem.index, mem.mask] {
                            if let Part::Value(v) = part {
                                read(v, guard);
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        let unit = instr.op.unit;
        match family.unit {
            Unit::None | Unit::MatrixFeed => {}
            Unit::MatrixPush => {
                let turned = usize::from(listing.name(instr).contains(".xpose"));
                rest.push(item(Act::NeedWeights, unit, 0, 0));
                rest.push(item(Act::Push, unit, 0, pick(&params.matpush, turned) as u32));
            }
            Unit::Matmul(bits) => {
                let row = Params::row(bits);
                rest.push(item(Act::NeedMatrix, unit, 0, 0));
                let (occupancy, results) = (pick(&params.matmul, row), pick(&params.results, row));
                let results = results | if bits == RowBits::B8 { u64::from(NARROW) } else { 0 };
                if instr.op.has_slot && listing.name(instr).contains("mrb") {
                    let m = (occupancy << 16 | results) as u32;
                    rest.push(item(Act::MatmulSlot, unit, instr.op.slot, m));
                } else {
                    rest.push(item(Act::Matmul, unit, results as u16, occupancy as u32));
                }
            }
            Unit::MatrixPop if instr.op.has_slot => rest.push(item(Act::SlotPop, unit, instr.op.slot, 0)),
            Unit::MatrixPop => {
                rest.push(item(Act::MatrixPop, unit, 0, 0));
                if let Some(second) = instr.op.unit2 {
                    rest.push(item(Act::MatrixPop, second, 0, 0));
                }
            }
            Unit::Transpose { last } => {
                let width = listing.labelled(instr, "width").and_then(|a| match a.operand {
                    Operand::Int(w) => Some(w.clamp(0, 4096) as u32),
                    _ => None,
                });
                if let Some(w) = width {
                    self.widths.insert(unit, w);
                }
                let width = listing.labelled(instr, "width").and_then(|a| match a.operand {
                    Operand::Int(w) => Some(w.clamp(0, 4096) as u32),
                    _ => None,
                });
                if let Some(w) = width {
                    self.widths.insert(unit, w);
                }
                let name = listing.name(instr);
                let first = name.contains(".start");
                rest.push(item(Act::NeedXlu, unit, if first { 2 } else { 1 }, 0));
                let width = self.widths.get(&unit).copied().unwrap_or(128);
                let packed = name.contains(".c.b16");
                let binary = name.contains("binary");
                let rows = width / if packed { 16 } else { 8 } * if binary { 2 } else { 1 };
                let rows = rows.clamp(1, 1024) as u16;
                if first {
                    // A whole tile is 128 rows, whatever the transpose at hand pushes.
                    let pushes = if packed { 8 } else { 16 };
                    let m = (params.transpose << 16) as u32 | pushes;
                    rest.push(item(Act::TransposeStart, unit, rows, m));
                }
                if last {
                    rest.push(item(Act::TransposeEnd, unit, rows, params.transpose as u32));
                } else if !first {
                    rest.push(item(Act::Transpose, unit, 0, params.transpose as u32));
                }
            }
            Unit::TransposePop => rest.push(item(Act::TransposePop, unit, 0, 0)),
            Unit::XluReduce => {
                rest.push(item(Act::NeedXlu, unit, 0, 0));
                rest.push(item(
                    Act::Xlu,
                    unit,
                    0,
                    (params.xlu << 16 | pick(&params.xlu_reduce_latency, far(unit))) as u32,
                ));
            }
            Unit::XluPermute => {
                rest.push(item(Act::NeedXlu, unit, 0, 0));
                rest.push(item(
                    Act::Xlu,
                    unit,
                    0,
                    (params.xlu << 16 | pick(&params.xlu_permute_latency, far(unit))) as u32,
                ));
            }
            Unit::XluPop => rest.push(item(Act::XluPop, unit, 0, 0)),
            Unit::Eup => rest.push(item(Act::Eup, 0, 0, params.eup_latency as u32)),
            Unit::EupPop => rest.push(item(Act::EupPop, 0, 0, 0)),
            Unit::ToScalar => {
                let which = usize::from(listing.name(instr) == "vpush");
                let m = pick(&params.to_scalar, which) as u32;
                rest.push(item(Act::Write, 0, token(instr.dest.map_or(0, |d| d.id)), m));
            }
        }
        let load = matches!(family.slot, Slot::Vload) && family.gives == Gives::Vector;
        if load || family.slot == Slot::Vstore {
            let cell = listing.args(instr).first().and_then(|a| place(listing, a.operand));
            let cell = cell.and_then(|p| self.cells.get(&p).copied());
            if load {
                reads.push(Item { act: Act::Read, guard, unit: 0, n: WAITED, m: 0 });
                reads.extend(cell.map(|n| Item { act: Act::Read, guard, unit: 0, n, m: 0 }));
            } else {
                rest.extend(cell.map(|n| item(Act::Write, 0, n, params.vmem_forward as u32)));
            }
        }
        match family.meaning {
            Meaning::Dma | Meaning::DmaGeneral => rest.push(item(Act::Start, 0, 0, start)),
            Meaning::DmaWait => {
                rest.push(item(Act::Wait, 0, 0, 0));
                rest.push(item(Act::Write, 0, WAITED, params.vmem_forward as u32));
            }
            Meaning::SyncAdd => rest.push(item(Act::Add, 0, 0, 0)),
            Meaning::Call => rest.push(item(Act::Call, 0, 0, 0)),
            Meaning::Branch => rest.push(item(Act::Branch, 0, 0, 0)),
            _ => {}
        }
        if family.gives != Gives::Nothing
            && family.slot != Slot::Pseudo
            && let Some(reg) = instr.dest.and_then(|d| d.reg)
        {
            rest.push(item(Act::Write, 0, register(reg), params.latency(family.latency) as u32));
        }
    }
}

/// Whether a unit is of the second half of its kind (matrix and cross-lane units 2 and 3), whose results take another
/// way on chips that have them.
fn far(unit: u8) -> usize {
    usize::from(unit >= 2)
}

fn pick<const N: usize>(list: &[u64; N], at: usize) -> u64 {
    list.get(at).copied().unwrap_or(0)
}

/// The place that a memory operand names, where it names one.
fn place(listing: &Listing, operand: Operand) -> Option<Place> {
    let Operand::Mem(m) = operand else { return None };
    let mem = listing.mems.get(m as usize)?;
    let offset = match mem.index {
        Part::None => 0,
        Part::Imm(i) => i,
        _ => return None,
    };
    match mem.base {
        Part::Symbol(s) => Some(Place { base: (0, s.allocation), offset: offset + i64::from(s.offset) }),
        Part::Value(v) => Some(Place { base: (1, v.id), offset }),
        _ => None,
    }
}

/// Places that are loaded within a few bundles of a store to them.
fn close_places(listing: &Listing) -> HashMap<Place, u16> {
    let mut stored: HashMap<Place, usize> = HashMap::new();
    let mut cells = HashMap::new();
    for (b, bundle) in listing.bundles.iter().enumerate() {
        for instr in listing.of(bundle) {
            let Some(family) = listing.entry(instr) else { continue };
            if family.slot != Slot::Vload || family.gives != Gives::Vector {
                continue;
            }
            let Some(p) = listing.args(instr).first().and_then(|a| place(listing, a.operand)) else {
                continue;
            };
            if stored.get(&p).is_some_and(|at| b - at <= CLOSE) {
                let next = FIRST_CELL + (cells.len() % CELLS) as u16;
                cells.entry(p).or_insert(next);
            }
        }
        for instr in
            listing.of(bundle).iter().filter(|i| listing.entry(i).is_some_and(|f| f.slot == Slot::Vstore))
        {
            if let Some(p) = listing.args(instr).first().and_then(|a| place(listing, a.operand)) {
                stored.insert(p, b);
            }
        }
    }
    cells
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
