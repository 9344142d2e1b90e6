//! Delay slots: how many bundles after a taken branch still run.

use super::Shadow;
use crate::listing::{Listing, Mark};

/// Where the delay slots of branches end.
pub struct Shadows {
    rule: Shadow,
    starts: Vec<bool>,
    ends: Vec<bool>,
    empty: Vec<bool>,
}

impl Shadows {
    /// The marks and empty bundles of a listing.
    pub fn new(listing: &Listing, rule: Shadow) -> Shadows {
        let n = listing.bundles.len();
        let mut s =
            Shadows { rule, starts: vec![false; n], ends: vec![false; n], empty: Vec::with_capacity(n) };
        for (bundle, mark) in &listing.marks {
            let b = *bundle as usize;
            let list = match mark {
                Mark::Start(_) | Mark::Empty(_) => &mut s.starts,
                Mark::End(_) => &mut s.ends,
            };
            if let Some(m) = list.get_mut(b) {
                *m = true;
            }
        }
        s.empty.extend(listing.bundles.iter().map(|b| b.instrs.is_empty()));
        s
    }

    /// The first bundle after the delay slots of a branch in `bundle`.
    pub fn stop(&self, bundle: u32) -> u32 {
        let at = |list: &[bool], i: u32| list.get(i as usize).copied().unwrap_or(false);
        let slots = match self.rule {
            Shadow::Fixed(n) => n,
            Shadow::Marks => {
                let start = (1..=6).find(|d| at(&self.starts, bundle + d));
                match start {
                    Some(d) => d - 1,
                    None if at(&self.ends, bundle + 6) => 6,
                    None => (1..=6).find(|d| at(&self.empty, bundle + d)).unwrap_or(6),
                }
            }
        };
        bundle.saturating_add(1).saturating_add(slots)
    }
}
