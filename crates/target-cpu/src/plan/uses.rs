//! Definitions, uses and positions of a kernel's values.

use std::collections::HashMap;

use tilewright_ir::{Block, Kernel, Op, OpKind, Value};

/// What is known of a value's uses.
#[derive(Clone, Default)]
pub(super) struct Use {
    /// How many folds and ifs enclose each use.
    pub depths: Vec<usize>,
    /// Read by a `broadcast` that repeats it.
    pub by_broadcast: bool,
    /// Read as a product of a `dot`.
    pub by_dot: bool,
    /// Read by a `transpose`.
    pub by_transpose: bool,
}

/// What happens at a position.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    /// The op runs, or begins if it is a fold or an `if`.
    Op(&'a Op),
    /// The fold or `if` hands on what its regions yield: a fold's at the end of each step, an `if`'s at the end of either
    /// region, of which the later one's position serves for both.
    End(&'a Op),
}

/// A kernel's ops in order, and what is known of its values.
pub(super) struct Uses<'a> {
    /// Indexed by position; the first is 0.
    pub steps: Vec<Step<'a>>,
    /// Per value: the op that makes it.
    pub def: Vec<Option<&'a Op>>,
    /// Per value: how many folds and ifs enclose its op.
    pub depth: Vec<usize>,
    /// Per value.
    pub uses: Vec<Use>,
    /// Folds and ifs by position (start, end), inner ones first.
    pub spans: Vec<(usize, usize)>,
    /// Per op: its position.
    position: HashMap<*const Op, usize>,
    /// Per fold or if: the position of its end.
    end: HashMap<*const Op, usize>,
}

impl<'a> Uses<'a> {
    pub fn of(kernel: &'a Kernel) -> Uses<'a> {
        let n = kernel.values.len();
        let mut f = Uses {
            steps: Vec::new(),
            def: vec![None; n],
            depth: vec![0; n],
            uses: vec![Use::default(); n],
            spans: Vec::new(),
            position: HashMap::new(),
            end: HashMap::new(),
        };
        f.block(kernel, &kernel.body, 0);
        f
    }

    /// The position of an op of this kernel.
    pub fn position(&self, op: &Op) -> usize {
        self.position[&(op as *const Op)]
    }

    /// The position of the end of a fold or `if` of this kernel.
    pub fn end(&self, op: &Op) -> usize {
        self.end[&(op as *const Op)]
    }

    /// The op that makes `v`; none for arguments.
    pub fn def(&self, v: Value) -> Option<&'a Op> {
        self.def[v.0 as usize]
    }

    fn block(&mut self, kernel: &Kernel, block: &'a Block, depth: usize) {
        for op in &block.ops {
            let position = self.steps.len();
            self.steps.push(Step::Op(op));
            self.position.insert(op, position);
            for (i, &v) in op.operands.iter().enumerate() {
                let u = &mut self.uses[v.0 as usize];
                u.depths.push(depth);
                match op.kind {
                    OpKind::Broadcast => u.by_broadcast |= kernel.ty(v).shape.rank() > 0,
                    OpKind::Dot if i < 2 => u.by_dot = true,
                    OpKind::Transpose { .. } => u.by_transpose = true,
                    _ => {}
                }
            }
            for region in &op.regions {
                for &arg in &region.args {
                    self.depth[arg.0 as usize] = depth + 1;
                }
                self.block(kernel, region, depth + 1);
                for &y in &region.yields {
                    self.uses[y.0 as usize].depths.push(depth + 1);
                }
            }
            if !op.regions.is_empty() {
                self.end.insert(op, self.steps.len());
                self.spans.push((position, self.steps.len()));
                self.steps.push(Step::End(op));
            }
            for &r in &op.results {
                self.def[r.0 as usize] = Some(op);
                self.depth[r.0 as usize] = depth;
            }
        }
    }
}
