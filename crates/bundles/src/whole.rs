//! A whole program: the top-level listing, and the listings that it calls, in order.

use std::path::Path;

use serde::Serialize;
use tilewright_diag::{Diagnostic, Result, Span};
use tilewright_hw::Chip;

use crate::exec::execute;
use crate::folder;
use crate::listing::Listing;
use crate::observe::{Observer, Segment};
use crate::ops::Meaning;
use crate::program::{Placement, Program};
use crate::report::{Options, Report, simulate};
use crate::timing::Params;

/// One operation of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Its name, as its listing's.
    pub name: String,
    /// Times that the top level calls it.
    pub calls: u64,
    /// What one call costs; `None` where it has no listing or cannot be simulated.
    pub report: Option<Report>,
    /// Why there is no report.
    pub fault: Option<Box<Diagnostic>>,
}

/// A whole program's operations in the order of their first call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Whole {
    /// The operations.
    pub parts: Vec<Part>,
    /// Sum of their cycles; calls do not overlap.
    pub cycles: u64,
    /// Transfers that the top level starts itself (copies that run beside operations): not in `cycles`.
    pub top_transfers: u64,
    /// Bytes that those read from and write to HBM.
    pub top_bytes: u64,
}

/// The name of the operation that a call runs, from its note: `%fusion.1 = fusion(…)` or `<late-initialization>`.
fn callee(note: &str) -> Option<&str> {
    let note = note.trim();
    match note.strip_prefix('%') {
        Some(rest) => rest.split(' ').next(),
        None => note.starts_with('<').then_some(note),
    }
}

/// The host's request word: a top level runs its program where it reads 1, and ends at once otherwise.
const REQUEST: u32 = 1;

struct Calls<'l> {
    listing: &'l Listing,
    order: Vec<(String, u64)>,
}

impl Observer for Calls<'_> {
    const EVERY_BUNDLE: bool = false;

    fn segment(&mut self, segment: Segment<'_>) -> Result<()> {
        for fact in segment.facts.chunks_exact(2) {
            let at = fact.first().map_or(0, |w| (w >> 32) as usize);
            let Some(instr) = self.listing.instrs.get(at) else { continue };
            if self.listing.entry(instr).is_none_or(|f| f.meaning != Meaning::Call) {
                continue;
            }
            let Some(name) = callee(self.listing.slice(&instr.note)) else { continue };
            match self.order.iter_mut().find(|(n, _)| n == name) {
                Some((_, calls)) => *calls += 1,
                None => self.order.push((name.to_owned(), 1)),
            }
        }
        Ok(())
    }
}

/// Simulates a folder of dumps as one program. What the host and the loader give the top level is unknown and taken
/// to be 1 (a request to run), so a loop of the top level whose length comes from memory ends with a diagnostic.
pub fn simulate_folder(path: &Path, chip: Chip, options: &Options) -> Result<Whole> {
    let listings = folder::listings(path)?;
    let Some(top) = listings.iter().find(|l| l.name == "TLP") else {
        return Err(Diagnostic::request("tpu/no-top-level", "the folder has no top-level listing")
            .at(Span::file(path.to_string_lossy()))
            .rule("a whole program has a `…-TLP-NN-final_bundles.txt`"));
    };
    let top = top.read(chip)?;
    let params = Params::new(chip, options.model, &options.lifts)?;
    let program = Program::new(&top, params.shadow, &Placement::default())?;
    let mut calls = Calls { listing: &top, order: Vec::new() };
    let mut inputs = options.inputs.clone();
    inputs.default = REQUEST;
    let outcome = execute(&top, &program, &inputs, &mut calls)?;
    let mut whole = Whole {
        parts: Vec::new(),
        cycles: 0,
        top_transfers: outcome.transfers,
        top_bytes: outcome.hbm_read + outcome.hbm_written,
    };
    for (name, calls) in calls.order {
        let run = match listings.iter().find(|l| l.name == name) {
            Some(entry) => entry.read(chip).and_then(|l| simulate(&l, options)),
            None => {
                Err(Diagnostic::request("tpu/no-listing", format!("`{name}` has no listing in the folder"))
                    .at(Span::file(path.to_string_lossy())))
            }
        };
        let (report, fault) = match run {
            Ok(r) => (Some(r), None),
            Err(e) => (None, Some(e)),
        };
        whole.cycles += report.as_ref().map_or(0, |r| r.cycles * calls);
        whole.parts.push(Part { name, calls, report, fault });
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::callee;

    #[test]
    fn notes_name_their_callee() {
        assert_eq!(callee(" %fusion.1 = fusion(%a, %b) "), Some("fusion.1"));
        assert_eq!(callee(" <late-initialization> "), Some("<late-initialization>"));
        assert_eq!(callee(" core id "), None);
    }
}
