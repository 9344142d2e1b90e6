//! The hottest stretch of a listing: where its cycles go, bundle by bundle.

use std::collections::BTreeMap;

use tilewright_bundles::Report;
use tilewright_bundles::listing::Listing;
use tilewright_bundles::ops::Slot;
use tilewright_bundles::timing::Cause;

use crate::report::HotBundle;

/// Bundles that are shown at most.
const MOST: usize = 400;

/// The bundles of the loop that takes most cycles: the neighbours of the costliest bundle that run at least half as often.
pub fn bundles(listing: &Listing, report: &Report) -> Vec<HotBundle> {
    let count = |b: usize| report.outcome.counts.get(b).copied().unwrap_or(0);
    let stalls = |b: usize| report.bundle_stalls.get(b).copied().unwrap_or_default();
    // The loop is the set of bundles that run equally often; the one whose cycles are most is shown.
    let mut cycles: BTreeMap<u64, u64> = BTreeMap::new();
    for b in 0..listing.bundles.len() {
        *cycles.entry(count(b)).or_default() += count(b) + stalls(b).iter().sum::<u64>();
    }
    let Some((often, _)) = cycles.into_iter().max_by_key(|(_, cycles)| *cycles).filter(|(n, _)| *n > 0)
    else {
        return Vec::new();
    };
    let inside = |b: &usize| count(*b) >= often.div_ceil(2);
    let Some(first) = (0..listing.bundles.len()).find(|b| count(*b) == often) else { return Vec::new() };
    let last = (first..listing.bundles.len()).rfind(|b| count(*b) == often).unwrap_or(first);
    (first..=last)
        .filter(inside)
        .take(MOST)
        .filter_map(|b| {
            let bundle = listing.bundles.get(b)?;
            let stalls = Cause::ALL.iter().zip(stalls(b)).filter(|(_, n)| *n > 0);
            let mut slots = BTreeMap::new();
            for family in listing.of(bundle).iter().filter_map(|i| listing.entry(i)) {
                if family.slot != Slot::Pseudo {
                    *slots.entry(family.slot.name()).or_default() += 1;
                }
            }
            // `0x1a : > { … } /* regions */`
            let text = listing.line_text(bundle.line);
            let text = text.split_once('{').map_or(text, |(_, rest)| rest);
            let text = text.rsplit_once('}').map_or(text, |(inside, _)| inside);
            Some(HotBundle {
                line: bundle.line,
                count: count(b),
                stalls: stalls.map(|(cause, n)| (cause.name(), n)).collect(),
                slots,
                text: text.trim().to_string(),
            })
        })
        .collect()
}
