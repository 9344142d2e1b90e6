//! One more slot of a class: which bundles would join the one before them.

use std::collections::HashSet;

use crate::listing::{Listing, Mark};
use crate::ops::{Meaning, Slot};
use crate::program::Program;
use crate::timing::params::{Lift, Params};

/// Operations of every class in a bundle, guarded ones included.
type Used = [u32; 11];

/// Joins bundles, in order. A bundle joins the last one before it that is not empty where both together hold one operation
/// of the class more than a bundle has slots for, and of no other class too many. Control flow must pass from the one to
/// the other always: no branch is in the first, no region starts at the second, and no delay slots end between them. Each
/// bundle joins at most one other. That operands are ready is left to time itself: the first costs nothing then, and the
/// second still waits for its results.
pub(super) struct Merger<'l> {
    listing: &'l Listing,
    capacity: [u32; 9],
    extra: Vec<Slot>,
    across_empty: bool,
    /// Bundles that are reached in another way than from the one before.
    entered: HashSet<u32>,
    /// The bundle that the next one may join.
    open: Option<(u32, Used)>,
}

impl<'l> Merger<'l> {
    /// For the lifts of `params`.
    pub(super) fn new(listing: &'l Listing, program: &Program, params: &Params) -> Merger<'l> {
        let extra: Vec<Slot> = params
            .lifts
            .iter()
            .filter_map(|l| match l {
                Lift::ExtraSlot(slot) => Some(*slot),
                _ => None,
            })
            .collect();
        let mut entered = HashSet::new();
        if !extra.is_empty() {
            let starts = listing.marks.iter().filter(|(_, m)| !matches!(m, Mark::End(_)));
            entered.extend(starts.map(|(b, _)| *b));
            entered.extend(program.branches.iter().map(|b| b.stop));
        }
        Merger {
            listing,
            capacity: params.slots,
            extra,
            across_empty: params.empty == 0,
            entered,
            open: None,
        }
    }

    /// The earlier bundle that bundle `b` joins; to be asked for every bundle in order.
    pub(super) fn bundle(&mut self, b: u32) -> Option<u32> {
        if self.extra.is_empty() {
            return None;
        }
        let bundle = self.listing.bundles.get(b as usize)?;
        if self.entered.contains(&b) {
            self.open = None;
        }
        if bundle.instrs.is_empty() {
            self.open = self.open.filter(|_| self.across_empty);
            return None;
        }
        let mut used: Used = [0; 11];
        let mut branches = false;
        for family in self.listing.of(bundle).iter().filter_map(|i| self.listing.entry(i)) {
            if let Some(n) = used.get_mut(family.slot as usize) {
                *n += 1;
            }
            branches |= family.meaning == Meaning::Branch;
        }
        let before = self.open.take();
        if let Some((before, other)) = before
            && self.joins(&used, &other)
        {
            return Some(before);
        }
        self.open = (!branches).then_some((b, used));
        None
    }

    fn joins(&self, used: &Used, other: &Used) -> bool {
        let mut over = 0;
        for slot in Slot::ALL {
            let both = used[slot as usize] + other[slot as usize];
            // Transfers and sync flags: nothing says how many a bundle holds, so one.
            let capacity = match slot {
                Slot::Pseudo => continue,
                Slot::Misc => 1,
                _ => self.capacity.get(slot as usize).copied().unwrap_or(0),
            };
            let extra = u32::from(self.extra.contains(&slot));
            if both > capacity + extra {
                return false;
            }
            over += both.saturating_sub(capacity);
        }
        // What fits without the slot is apart for another reason.
        over > 0
    }
}
