//! Shows what the verdict makes of this machine's noise: a spin loop against itself, and against one that is 5 % longer.

use std::hint::black_box;

use tilewright_measure::compare::{faster, ratio};
use tilewright_measure::timing::{Contestant, Plan, clock_tick, interleave};

fn main() {
    println!("clock tick {:.0} ns", clock_tick() * 1e9);
    let spin = |name: &str, steps: u64| {
        Contestant::new(name, move |_| {
            black_box((0..steps).fold(1u64, |x, i| black_box(x.wrapping_mul(0x9e37_79b9).wrapping_add(i))));
            Ok(())
        })
    };
    const STEPS: u64 = 200_000;
    let mut contestants = [
        spin("spin", STEPS),
        spin("the same", STEPS),
        spin("5 % longer", STEPS + STEPS / 20),
        spin("tiny", 1),
    ];
    let series = interleave(&mut contestants, &Plan::default());
    for s in &series {
        let (Some(t), Some(r)) = (s.summary(), ratio(s, &series[0])) else { continue };
        println!(
            "{:<10} {:.3e} s [{:.3e}, {:.3e}] n={} x{:<6} {:.4} [{:.4}, {:.4}] of spin: {:?}",
            t.name,
            t.median,
            t.ci.lo,
            t.ci.hi,
            t.n,
            t.inner_repeats,
            r.value,
            r.ci.lo,
            r.ci.hi,
            faster(s, &series[0]),
        );
    }
}
