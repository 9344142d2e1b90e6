//! Places in vector memory that are loaded soon after they are stored.

use std::collections::HashMap;

use super::{CELLS, FIRST_CELL};
use crate::listing::{Listing, Operand, Part};
use crate::ops::{Gives, Slot};

/// Bundles within which a load can still meet a store's latency.
const CLOSE: usize = 16;

/// A place in vector memory as a listing spells it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Place {
    base: (u8, u32),
    offset: i64,
}

/// The place that a memory operand names, where it names one.
pub(super) fn place(listing: &Listing, operand: Operand) -> Option<Place> {
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
pub(super) fn close_places(listing: &Listing) -> HashMap<Place, u16> {
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
