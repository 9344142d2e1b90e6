//! The order of a bundle's operations.

use tilewright_diag::Result;

use super::lower::{Lower, Pending, plain};
use super::{Code, Index, Op};

impl Lower<'_> {
    /// Orders a bundle's operations so that every read comes before the write of its register. Operations without a
    /// result come first, in the listing's order.
    pub(super) fn order(&mut self, pending: Vec<Pending>) -> Result<()> {
        let (mut writers, others): (Vec<_>, Vec<_>) = pending.into_iter().partition(|p| p.writes);
        for p in others {
            self.push(p);
        }
        let mut moves = Vec::new();
        while !writers.is_empty() {
            let free = writers.iter().enumerate().position(|(i, w)| {
                !writers.iter().enumerate().any(|(j, r)| i != j && self.reads(&r.op, w.op.dst))
            });
            let at = free.unwrap_or(0);
            let mut p = writers.remove(at);
            if free.is_none() {
                // A cycle: the result goes to a temporary until every reader has run.
                let n = moves.len();
                let temporary = match self.temporaries.get(n) {
                    Some(t) => *t,
                    None => {
                        let t = self.register(0)?;
                        self.temporaries.push(t);
                        t
                    }
                };
                let mut late = plain(Code::Move);
                late.dst = p.op.dst;
                late.a = temporary;
                if p.op.guarded {
                    // The temporary must hold the old value where the guard does not.
                    let mut early = plain(Code::Move);
                    early.dst = temporary;
                    early.a = p.op.dst;
                    self.out.ops.push(early);
                }
                p.op.dst = temporary;
                moves.push(late);
            }
            self.push(p);
        }
        self.out.ops.extend(moves);
        Ok(())
    }

    fn push(&mut self, p: Pending) {
        if p.op.guarded {
            self.out.guards.push(p.instr);
        }
        self.out.ops.push(p.op);
    }

    fn reads(&self, op: &Op, register: Index) -> bool {
        (op.guarded && op.guard == register) || op.a == register || op.b == register || op.c == register
    }
}
