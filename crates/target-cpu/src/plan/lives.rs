//! From where to where each buffer's content matters.

use tilewright_ir::{Op, Value};

use super::Place;
use super::places::Planner;
use super::reads::{Reads, operands_read, reads};
use super::uses::Step;

impl Planner<'_> {
    /// The buffers that evaluating `v` reads.
    pub(super) fn value_reads(&self, v: Value) -> Reads {
        let mut all = Reads::new();
        reads(v, true, &self.place, &|v| self.uses.def(v), &mut |_, b, same| {
            *all.entry(b).or_insert(true) &= same
        });
        all
    }

    /// The buffers that the root `op` reads where it stands.
    pub(super) fn root_reads(&self, op: &Op) -> Reads {
        let mut all = Reads::new();
        let def = |v| self.uses.def(v);
        operands_read(op, true, &self.place, &def, &mut |_, b, same| *all.entry(b).or_insert(true) &= same);
        all
    }

    /// The buffers that are read at a position.
    pub(super) fn step_reads(&self, step: Step<'_>) -> Reads {
        match step {
            Step::Op(op) if self.is_root(op) => self.root_reads(op),
            Step::Op(_) => Reads::new(),
            Step::End(op) => {
                let yields = op.regions.iter().flat_map(|r| &r.yields);
                yields.flat_map(|&y| self.value_reads(y)).map(|(b, _)| (b, true)).collect()
            }
        }
    }

    /// Whether `op` runs loops where it stands, or evaluates a scalar there.
    fn is_root(&self, op: &Op) -> bool {
        op.results.first().is_none_or(|&r| self.place(r) != Place::Inline)
    }

    /// Finds the life of every buffer.
    pub(super) fn lives(&mut self) {
        let mut touched: Vec<(usize, usize)> = Vec::new();
        for (at, &step) in self.uses.steps.iter().enumerate() {
            touched.extend(self.step_reads(step).keys().map(|&b| (b, at)));
            let (Step::Op(op) | Step::End(op)) = step;
            let args = op.regions.iter().flat_map(|r| &r.args);
            for &v in op.results.iter().chain(args) {
                if let Place::Buffer(b) = self.place(v) {
                    touched.push((b, at));
                }
                touched.extend(self.swaps.get(&v).filter(|_| matches!(step, Step::End(_))).map(|&b| (b, at)));
            }
        }
        for &(b, at) in &touched {
            self.buffers[b].touch(at);
        }
        // What is made before a loop and read in it is read until the loop's end.
        for buffer in &mut self.buffers {
            let (start, mut last) = buffer.live;
            for &(from, to) in &self.uses.spans {
                if start < from && last > from && last < to {
                    last = to;
                }
            }
            buffer.live.1 = last;
        }
    }
}
