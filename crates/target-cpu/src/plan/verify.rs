//! Holds a plan to what it must keep: whoever reads a value finds it where the plan says, untouched since it was made.
//!
//! The checker runs the kernel in the order in which the code runs, and follows which value each buffer holds; bodies of
//! folds run twice, so that one step's writes meet the next step's reads. It knows nothing of positions and lives.

use tilewright_diag::{Diagnostic, Result};
use tilewright_ir::{Block, Kernel, Op, OpKind, Value};

use super::reads::{operands_read, reads};
use super::{Carry, Place, Plan};
use crate::layout::UNUSED;

/// Checks the plan of `kernel`.
///
/// Errors (class tool): `cpu/plan`, a fault of this crate.
pub fn verify(kernel: &Kernel, plan: &Plan) -> Result<()> {
    let mut def = vec![None; kernel.values.len()];
    kernel.walk(&mut |op| op.results.iter().for_each(|&r| def[r.0 as usize] = Some(op)));
    let mut m = Machine { kernel, plan, def, holds: vec![None; plan.buffers.len()] };
    m.block(&kernel.body)
}

struct Machine<'a> {
    kernel: &'a Kernel,
    plan: &'a Plan,
    def: Vec<Option<&'a Op>>,
    /// The value in each buffer.
    holds: Vec<Option<Value>>,
}

impl<'a> Machine<'a> {
    fn fault(&self, message: String) -> Box<Diagnostic> {
        Diagnostic::tool("cpu/plan", format!("{message} in kernel `{}`", self.kernel.name))
            .rule("a value lies where the plan says from when it is made until it is last read")
    }

    fn block(&mut self, block: &'a Block) -> Result<()> {
        block.ops.iter().try_for_each(|op| self.op(op).map_err(|d| d.at_if_absent(Some(op.loc.span()))))
    }

    fn op(&mut self, op: &'a Op) -> Result<()> {
        match op.kind {
            OpKind::Fold => return self.fold(op),
            OpKind::If => return self.branch(op),
            _ => {}
        }
        let place = op.results.first().map(|&r| self.plan.place(r));
        if place == Some(Place::Inline) {
            return Ok(());
        }
        let target = match place {
            Some(Place::Buffer(b)) => Some(b),
            _ => None,
        };
        let mut found = Vec::new();
        operands_read(op, true, &self.plan.place, &|v| self.def[v.0 as usize], &mut |v, b, same| {
            found.push((v, b, same));
        });
        for (v, b, same) in found {
            self.read(v, b)?;
            if let Some(target) = target {
                self.undisturbed(v, b, target, same)?;
            }
        }
        match target {
            Some(b) => self.write(op.results[0], b),
            None => Ok(()),
        }
    }

    fn fold(&mut self, fold: &'a Op) -> Result<()> {
        let body = &fold.regions[0];
        let carried = || body.args[1..].iter().zip(&fold.operands[2..]);
        for (&arg, &init) in carried() {
            let Place::Buffer(b) = self.plan.place(arg) else { continue };
            if !self.plan.zero_first.contains(&arg) {
                self.copy(init, b)?;
            }
            self.write(arg, b)?;
        }
        let skipped = self.holds.clone();
        for _ in 0..2 {
            self.block(body)?;
            self.hand_on(body)?;
        }
        self.join(&skipped);
        for (&r, (&arg, _)) in fold.results.iter().zip(carried()) {
            if let Place::Buffer(b) = self.plan.place(arg) {
                self.read(arg, b)?;
                self.holds[b] = Some(r);
            }
        }
        Ok(())
    }

    /// What the end of a fold's step does, in its order: swaps are filled first.
    fn hand_on(&mut self, body: &Block) -> Result<()> {
        let modes = self.plan.carries.get(&body.args[0]).map(Vec::as_slice).unwrap_or_default();
        let all: Vec<(Value, Value, Carry)> =
            body.args[1..].iter().zip(&body.yields).zip(modes).map(|((&a, &y), &m)| (a, y, m)).collect();
        let swap = |arg: Value| self.plan.swaps.get(&arg).copied();
        let copied = |m: &&(Value, Value, Carry)| m.2 == Carry::Copy;
        for &(arg, y, _) in all.iter().filter(copied) {
            if let Some(s) = swap(arg) {
                self.copy(y, s)?;
                self.write(y, s)?;
            }
        }
        for &(arg, y, _) in all.iter().filter(copied) {
            let Place::Buffer(b) = self.plan.place(arg) else { continue };
            match swap(arg) {
                Some(s) => self.read(y, s)?,
                None => self.copy(y, b)?,
            }
            self.write(arg, b)?;
        }
        for &(arg, y, mode) in &all {
            let Place::Buffer(b) = self.plan.place(arg) else { continue };
            if mode == Carry::InPlace {
                self.read(y, b)?;
                self.holds[b] = Some(arg);
            } else {
                self.read(arg, b)?;
            }
        }
        Ok(())
    }

    fn branch(&mut self, op: &'a Op) -> Result<()> {
        let before = self.holds.clone();
        let mut ends = Vec::new();
        for region in &op.regions {
            self.holds.clone_from(&before);
            self.block(region)?;
            for (&r, &y) in op.results.iter().zip(&region.yields) {
                if let Place::Buffer(b) = self.plan.place(r) {
                    self.copy(y, b)?;
                    self.write(r, b)?;
                }
            }
            ends.push(self.holds.clone());
        }
        ends.iter().for_each(|end| self.join(end));
        Ok(())
    }

    /// Keeps what the buffers hold on both paths.
    fn join(&mut self, other: &[Option<Value>]) {
        for (mine, theirs) in self.holds.iter_mut().zip(other) {
            if mine != theirs {
                *mine = None;
            }
        }
    }

    /// Reads all that `v` is made of, element by element, for a copy to buffer `to`.
    fn copy(&mut self, v: Value, to: usize) -> Result<()> {
        let mut found = Vec::new();
        reads(v, true, &self.plan.place, &|v| self.def[v.0 as usize], &mut |v, b, same| {
            found.push((v, b, same))
        });
        for (v, b, same) in found {
            self.read(v, b)?;
            self.undisturbed(v, b, to, same)?;
        }
        Ok(())
    }

    fn read(&self, v: Value, b: usize) -> Result<()> {
        if self.holds[b] == Some(v) {
            return Ok(());
        }
        let found = self.holds[b].map_or("nothing of use".to_string(), |v| format!("value {}", v.0));
        Err(self.fault(format!("value {} is read in buffer {b}, which holds {found}", v.0)))
    }

    /// While `target` is filled, `b` is read: they must not meet, unless each element is read just before it is written.
    fn undisturbed(&self, v: Value, b: usize, target: usize, same: bool) -> Result<()> {
        let (read, written) = (&self.plan.buffers[b], &self.plan.buffers[target]);
        let in_place = b == target && same;
        if in_place || !read.overlaps(written) {
            return Ok(());
        }
        Err(self
            .fault(format!("value {} in buffer {b} is read while buffer {target} is written over it", v.0)))
    }

    fn write(&mut self, v: Value, b: usize) -> Result<()> {
        let written = &self.plan.buffers[b];
        if written.live == UNUSED || written.offset + written.bytes > self.plan.buffer_bytes {
            return Err(self.fault(format!("value {} is written to buffer {b}, which has no place", v.0)));
        }
        for (other, held) in self.plan.buffers.iter().zip(&mut self.holds) {
            if other.live != UNUSED && other.overlaps(written) {
                *held = None;
            }
        }
        self.holds[b] = Some(v);
        Ok(())
    }
}
