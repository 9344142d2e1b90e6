//! What one instruction means for time.

use super::places::place;
use super::{Act, Item, Items, NARROW, WAITED, register, token};
use crate::listing::{Instr, Listing, Operand, Part, Value};
use crate::ops::{Gives, Meaning, RowBits, Slot, Unit};
use crate::timing::params::Params;

impl Items {
    #[allow(clippy::too_many_arguments, reason = "one instruction's place in three lists")]
    pub(super) fn instr(
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
