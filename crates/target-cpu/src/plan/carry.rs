//! How folds hand carried tiles to their next step.

use tilewright_ir::{Block, Op, OpKind, Value};

use super::places::Planner;
use super::{Carry, Place};
use crate::layout::Rows;

impl<'a> Planner<'a> {
    /// Decides for every fold, inner ones first, which carried tiles are updated in place.
    pub(super) fn carries(&mut self) {
        self.carries_of(&self.kernel.body);
    }

    fn carries_of(&mut self, block: &'a Block) {
        for op in &block.ops {
            for region in &op.regions {
                self.carries_of(region);
            }
            if matches!(op.kind, OpKind::Fold) {
                self.fold(op);
            }
        }
    }

    fn fold(&mut self, fold: &'a Op) {
        let body = &fold.regions[0];
        let mut modes = Vec::new();
        for (i, (&arg, &y)) in body.args[1..].iter().zip(&body.yields).enumerate() {
            let Place::Buffer(carried) = self.place(arg) else {
                modes.push(Carry::Scalar);
                continue;
            };
            if arg == y {
                modes.push(Carry::InPlace);
                continue;
            }
            let Some(maker) = self.in_place_maker(fold, carried, y) else {
                modes.push(Carry::Copy);
                if body.args.contains(&y) {
                    let swap = self.new_buffer(arg, Rows::Vectors);
                    self.swaps.insert(arg, swap);
                }
                continue;
            };
            self.place[y.0 as usize] = Place::Buffer(carried);
            modes.push(Carry::InPlace);
            let only_use = self.uses.uses[arg.0 as usize].depths.len() == 1;
            if matches!(maker.kind, OpKind::Dot)
                && maker.operands[2] == arg
                && only_use
                && self.starts_at_zero(fold.operands[2 + i])
            {
                self.zero_first.insert(arg);
            }
        }
        self.carries.insert(body.args[0], modes);
    }

    /// The op in the fold's own body that may compute `y` in the buffer `carried`: it reads that buffer only at the element
    /// it computes, and nothing after it reads the old content.
    fn in_place_maker(&self, fold: &'a Op, carried: usize, y: Value) -> Option<&'a Op> {
        let body = &fold.regions[0];
        let maker = body.ops.iter().find(|op| op.results.first() == Some(&y) && op.regions.is_empty())?;
        let Place::Buffer(own) = self.place(y) else { return None };
        if self.buffers[own].strides != self.buffers[carried].strides
            || body.yields.iter().filter(|&&v| v == y).count() > 1
            || self.root_reads(maker).get(&carried) == Some(&false)
        {
            return None;
        }
        let after = self.uses.position(maker) + 1..self.uses.end(fold);
        let read_later =
            self.uses.steps[after].iter().any(|&step| self.step_reads(step).contains_key(&carried));
        let yielded_too = body.yields.iter().any(|&v| v != y && self.value_reads(v).contains_key(&carried));
        (!read_later && !yielded_too).then_some(maker)
    }

    fn starts_at_zero(&self, init: Value) -> bool {
        let op = self.uses.def(init);
        matches!(op.map(|o| &o.kind), Some(OpKind::Splat(c)) if c.as_f64() == 0.0)
    }
}
