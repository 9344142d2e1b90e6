//! Bundle listings: whatever the text is, a diagnostic, or a listing that is executed and timed to its end or its limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilewright_bundles::exec::{Inputs, execute};
use tilewright_bundles::observe::{Observer, Scalars};
use tilewright_bundles::program::{Placement, Program, Shadow};
use tilewright_bundles::timing::{Lift, Model};
use tilewright_bundles::{Options, parse, simulate};
use tilewright_diag::Result;
use tilewright_hw::Chip;

/// Bundles after which an execution is given up.
const LIMIT: u64 = 2_000;

/// Counts bundles one by one.
struct Counts(Vec<u64>);

impl Observer for Counts {
    const EVERY_BUNDLE: bool = true;

    fn bundle(&mut self, bundle: u32, _: Scalars<'_>) -> Result<()> {
        self.0[bundle as usize] += 1;
        Ok(())
    }
}

fuzz_target!(|text: &str| {
    for chip in Chip::ALL {
        let listing = match parse(text, "fuzz", chip) {
            Ok(listing) => listing,
            Err(d) => {
                assert_eq!(d.class.exit_status(), 2, "{d}");
                continue;
            }
        };
        let mut inputs = Inputs::unknown(LIMIT);
        inputs.give(0, (0..64).collect());
        inputs.give(1, vec![u32::MAX; 16]);
        for shadow in [Shadow::Fixed(4), Shadow::Marks] {
            let Ok(program) = Program::new(&listing, shadow, &Placement::default()) else { continue };
            let mut counts = Counts(vec![0; listing.bundles.len()]);
            if let Ok(outcome) = execute(&listing, &program, &inputs, &mut counts) {
                assert_eq!(outcome.counts, counts.0);
            }
        }
        for (model, lifts) in [
            (Model::Vendor, &[][..]),
            (Model::Calibrated, &[]),
            (Model::Calibrated, &[Lift::DmaBandwidth, Lift::Spills, Lift::OperandLatency]),
        ] {
            let mut options = Options::new(model);
            options.inputs = inputs.clone();
            options.lifts = lifts.to_vec();
            let fast = simulate(&listing, &options);
            options.fast_forward = false;
            if let (Ok(mut fast), Ok(slow)) = (fast, simulate(&listing, &options)) {
                let stalled: u64 = slow.stalls.iter().map(|s| s.1).sum();
                assert_eq!(slow.issue_cycles + stalled, slow.cycles);
                fast.simulated_bundles = slow.simulated_bundles;
                assert_eq!(fast, slow);
            }
        }
    }
});
