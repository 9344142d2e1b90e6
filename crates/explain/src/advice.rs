//! What to change, from what holds an op back and from its shapes.

use tilewright_hlo::{Array, Computation, Instruction, Shape};

use crate::report::{Advice, OpReport, Saving};

/// Waste below this share of an array is not spoken of.
const WORTH_SAYING: f64 = 0.05;

/// The change that a constraint calls for, in one sentence.
pub fn of_limiter(limiter: &Saving) -> Option<Advice> {
    let text = match limiter.of {
        "HBM bandwidth" => {
            "the memory is the limit: fuse what reads and writes the same array, keep operands in a narrower type, or choose \
             blocks that are reused more often"
        }
        "transfer latency" => {
            "each step waits for its transfers to begin: larger blocks, so that there are fewer of them, or more buffers in flight"
        }
        "spills" => {
            "vector registers go to memory and back: smaller tiles inside the step, or less unrolling"
        }
        "scalar latency" => {
            "addresses, counters and branches wait for each other: fewer, larger steps, or loops unrolled"
        }
        "vector latency" => {
            "vector operations wait for each other: more independent work in the loop body, such as two rows at once"
        }
        "cross-lane units" => {
            "reductions and permutes across lanes hold it up: reduce along the other dimension, or once for several tiles"
        }
        "latencies in a chain" => {
            "results of different units wait for each other in a chain: more independent work in the loop body, such as two \
             blocks at once, one a step behind the other"
        }
        "transcendental latency" => {
            "exp and its like are waited for: more independent work in the loop body, such as two rows at once"
        }
        "matrix units" => "the matrix units hold it up: only fewer or narrower multiplications help",
        "matrix results" => {
            "the code waits for matrix results: more rows for each set of weights, so that results of one meet the work of the next"
        }
        "transposes" => {
            "a transposed operand costs cross-lane work: store it transposed, or contract along its other dimension"
        }
        "load slots" => {
            "all load slots are taken: keep accumulators in registers over more of the sum, or load wider types"
        }
        "store slots" => {
            "the store slots are the limit: write less often (a larger block of a summed dimension writes its accumulator less often), \
             or avoid the copy"
        }
        "vector slots" => {
            "the vector units are the limit: fewer conversions and masks, or work moved to the matrix units"
        }
        "links between chips" => {
            "the links between chips are the limit: shard so that less is exchanged, exchange a narrower type, or let the exchange run \
             beside work that does not need it"
        }
        "scalar slots" => "addresses and counters are the limit: fewer, larger steps",
        "transcendental slots" => "exp and its like are the limit: fewer of them, or in a narrower type",
        "cross-lane slots" => {
            "cross-lane work is the limit: reduce along the other dimension, or change the layout"
        }
        _ => return None,
    };
    Some(Advice { text: text.to_string(), saving: limiter.share })
}

/// Matrix work that nobody asked for: padding, and products that are made more than once.
pub fn of_waste(op: &OpReport, side: f64) -> Option<Advice> {
    let useful = op.useful_flops.filter(|u| *u > 0.0)?;
    let waste = 1.0 - useful / op.flops.max(1.0);
    // No part of the matrix work saves more than all of it.
    let all = op.savings.iter().find(|s| s.of == "matrix units").map_or(1.0, |s| s.share);
    let saving = (waste * op.matrix_fraction).min(all);
    (waste > WORTH_SAYING && saving > 0.01).then(|| Advice {
        text: format!(
            "the matrix units do {:.2} times what the shapes ask for: pad less (sizes that are multiples of the unit's {side}), or \
             let no product be made twice",
            op.flops / useful
        ),
        saving,
    })
}

/// The array whose padding wastes most of what an op moves, among its operands and its result: `hbm` is the share of the
/// op's time in which the memory is busy.
pub fn of_padding(computation: &Computation, instruction: &Instruction, hbm: f64) -> Option<Advice> {
    let operands = instruction.operands.iter().filter_map(|o| computation.instruction(o));
    let arrays: Vec<&Array> = operands.chain([instruction]).flat_map(|i| i.shape.arrays()).collect();
    let all: usize = arrays.iter().map(|a| a.padded_bytes()).sum();
    let wasted = |a: &Array| (a.padded_bytes() - a.bytes().min(a.padded_bytes())) as f64 / all.max(1) as f64;
    let worst = arrays.into_iter().max_by(|a, b| wasted(a).total_cmp(&wasted(b)))?;
    let (_, dim, size, padded) = waste(worst)?;
    let share = wasted(worst);
    (share > WORTH_SAYING).then(|| Advice {
        text: format!(
            "dimension {dim} (of size {size}) of {} is padded to {padded} by its layout: {:.0} % of the bytes that are moved are that \
             padding",
            Shape::Array(worst.clone()),
            share * 100.0
        ),
        saving: share * hbm,
    })
}

/// The share of an array that is padding, and the dimension that is padded most: its place, size and padded size.
fn waste(array: &Array) -> Option<(f64, usize, usize, usize)> {
    let layout = array.layout.as_ref()?;
    // Small arrays cost nothing, whatever their padding.
    if array.padded_bytes() < 1 << 16 {
        return None;
    }
    let share = 1.0 - array.elements() as f64 / array.padded_elements() as f64;
    let tile = layout.tiles.first()?;
    let dims = layout.minor_to_major.iter().zip(tile.0.iter().rev());
    let padded = dims.filter_map(|(&d, &t)| {
        let size = *array.dims.get(d)?;
        Some((d, size, size.next_multiple_of(t.max(1))))
    });
    let (dim, size, padded) = padded.max_by(|a, b| (a.2 * b.1).cmp(&(b.2 * a.1)))?;
    (share > WORTH_SAYING).then_some((share, dim, size, padded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_padded_dimension_is_named_with_its_share() {
        let text = "HloModule m

ENTRY %main (a: bf16[64,2048,96]) -> bf16[64,2048,96] {
  %a = bf16[64,2048,96]{2,1,0:T(8,128)(2,1)} parameter(0)
  ROOT %n = bf16[64,2048,96]{2,1,0:T(8,128)(2,1)} negate(%a)
}
";
        let module = tilewright_hlo::parse(text, "t").unwrap();
        let advice = of_padding(module.entry(), module.entry().root(), 0.5).unwrap();
        let says = "dimension 2 (of size 96) of bf16[64,2048,96] is padded to 128 by its layout: 12 %";
        assert!(advice.text.starts_with(says), "{}", advice.text);
        // A quarter of one of two arrays of the same size, half of the time.
        assert_eq!(advice.saving, 0.0625);
        let whole = text.replace("96", "128");
        let module = tilewright_hlo::parse(&whole, "t").unwrap();
        assert!(of_padding(module.entry(), module.entry().root(), 0.5).is_none());
    }
}
