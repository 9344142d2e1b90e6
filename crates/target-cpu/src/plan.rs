//! What becomes of each value: a scalar in a register, an expression that is evaluated inside the loops of its users,
//! or a buffer in the arena; which folds update their carried tiles in place; where each buffer lies.
//!
//! *Positions* number the ops in the order of the text; a fold or an `if` also takes a position at its end. A *root* is an
//! op that runs loops: one that fills a buffer, or a store.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tilewright_dtype::DType;
use tilewright_ir::range::Ranges;
use tilewright_ir::{BinaryOp, Block, Const, Kernel, Op, OpKind, Role, Shape, TileType, UnaryOp, Value};

use crate::layout::{self, Buffer};

/// Where a value is to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An LLVM value, made where its op stands.
    Scalar,
    /// Evaluated in the loops of its users.
    Inline,
    /// In the arena: an index into [`Plan::buffers`].
    Buffer(usize),
}

/// How a fold hands a carried tile to its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carry {
    /// A scalar: a phi.
    Scalar,
    /// The yielded tile was computed in the carried tile's buffer.
    InPlace,
    /// The yielded tile is copied at the end of the step.
    Copy,
}

/// The plan of one kernel.
pub struct Plan {
    /// Indexed by value.
    pub place: Vec<Place>,
    /// Every buffer.
    pub buffers: Vec<Buffer>,
    /// Per fold (keyed by its index value): how each carried tile is handed on.
    pub carries: HashMap<Value, Vec<Carry>>,
    /// Carried tiles (keyed by the region argument) that need no initialisation: the first step's dot starts from zero.
    pub zero_first: BTreeSet<Value>,
    /// Carried tiles whose next value is another carried tile: the buffer through which it passes.
    pub swaps: HashMap<Value, usize>,
    /// Intervals of scalars.
    pub ranges: Ranges,
    /// Bytes of all buffers.
    pub buffer_bytes: usize,
}

/// An expression this costly (in ops weighted as in [`own_cost`]) is computed once where it has several uses.
const COSTLY: usize = 4;
/// An expression of more ops than this is cut.
const LARGEST: usize = 48;

impl Plan {
    /// Plans a kernel that the target accepts. `pad`: elements to which rows of buffers are padded.
    pub fn of(kernel: &Kernel, pad: usize) -> Plan {
        let mut p = Planner {
            kernel,
            pad,
            facts: Facts::of(kernel),
            place: vec![Place::Inline; kernel.values.len()],
            size: vec![1; kernel.values.len()],
            cost: vec![0; kernel.values.len()],
            buffers: Vec::new(),
            carries: HashMap::new(),
            zero_first: BTreeSet::new(),
            swaps: HashMap::new(),
        };
        for &arg in &kernel.body.args {
            p.place[arg.0 as usize] = Place::Scalar;
        }
        p.block(&kernel.body);
        p.fold_carries(&kernel.body);
        p.lives();
        let buffer_bytes = layout::place(&mut p.buffers);
        Plan {
            place: p.place,
            buffers: p.buffers,
            carries: p.carries,
            zero_first: p.zero_first,
            swaps: p.swaps,
            ranges: Ranges::of(kernel),
            buffer_bytes,
        }
    }

    /// Where `v` is to be had.
    pub fn place(&self, v: Value) -> Place {
        self.place[v.0 as usize]
    }

    /// The buffer of `v`, if it has one.
    pub fn buffer(&self, v: Value) -> Option<&Buffer> {
        match self.place(v) {
            Place::Buffer(b) => Some(&self.buffers[b]),
            _ => None,
        }
    }
}

/// What is known of a value's definition and uses.
#[derive(Clone, Default)]
struct Use {
    /// Position, and how many folds and ifs enclose it.
    sites: Vec<(usize, usize)>,
    /// Read by a `broadcast` that repeats it, as a product of a `dot`, by a `transpose`.
    by_broadcast: bool,
    by_dot: bool,
    by_shuffle: bool,
}

/// Ops in order, with their places.
struct Facts<'a> {
    ops: Vec<&'a Op>,
    /// Per value: the op that makes it.
    def: Vec<Option<&'a Op>>,
    /// Per value: its position and nesting depth.
    at: Vec<(usize, usize)>,
    uses: Vec<Use>,
    /// Per op (keyed by address order in `ops`): position.
    position: HashMap<*const Op, usize>,
    /// Per fold or if: position of its end.
    end: HashMap<*const Op, usize>,
    /// Folds and ifs by (start, end).
    spans: Vec<(usize, usize)>,
    next: usize,
}

impl<'a> Facts<'a> {
    fn of(kernel: &'a Kernel) -> Facts<'a> {
        let n = kernel.values.len();
        let mut f = Facts {
            ops: Vec::new(),
            def: vec![None; n],
            at: vec![(0, 0); n],
            uses: vec![Use::default(); n],
            position: HashMap::new(),
            end: HashMap::new(),
            spans: Vec::new(),
            next: 1,
        };
        f.block(kernel, &kernel.body, 0);
        f
    }

    fn block(&mut self, kernel: &Kernel, block: &'a Block, depth: usize) {
        for op in &block.ops {
            let position = self.next;
            self.next += 1;
            self.ops.push(op);
            self.position.insert(op, position);
            for (i, &v) in op.operands.iter().enumerate() {
                let u = &mut self.uses[v.0 as usize];
                u.sites.push((position, depth));
                match op.kind {
                    OpKind::Broadcast => u.by_broadcast |= kernel.ty(v).shape.rank() > 0,
                    OpKind::Dot if i < 2 => u.by_dot = true,
                    OpKind::Transpose { .. } => u.by_shuffle = true,
                    _ => {}
                }
            }
            for region in &op.regions {
                for &arg in &region.args {
                    self.at[arg.0 as usize] = (position, depth + 1);
                }
                self.block(kernel, region, depth + 1);
                for &y in &region.yields {
                    self.uses[y.0 as usize].sites.push((self.next, depth + 1));
                }
            }
            if !op.regions.is_empty() {
                self.end.insert(op, self.next);
                self.spans.push((position, self.next));
                self.next += 1;
            }
            for &r in &op.results {
                self.def[r.0 as usize] = Some(op);
                self.at[r.0 as usize] = (position, depth);
            }
        }
    }
}

/// For a reshape that only adds or drops dimensions of 1: for each result dimension, the operand dimension it is, or
/// `None` where it is new. `None` for any other reshape.
pub fn unit_map(from: TileType, to: TileType) -> Option<Vec<Option<usize>>> {
    let sizes = |t: TileType| -> Vec<usize> { t.shape.dims().iter().copied().filter(|&d| d != 1).collect() };
    if sizes(from) != sizes(to) {
        return None;
    }
    let mut rest = (0..from.shape.rank()).filter(|&d| from.shape.dims()[d] != 1);
    Some(to.shape.dims().iter().map(|&d| if d == 1 { None } else { rest.next() }).collect())
}

/// What evaluating the op once costs, in vector instructions, roughly.
fn own_cost(kernel: &Kernel, op: &Op) -> usize {
    let narrow = op
        .operands
        .iter()
        .chain(&op.results)
        .any(|&v| !matches!(kernel.ty(v).dtype, DType::F32 | DType::I32 | DType::Bool));
    let base = match op.kind {
        OpKind::Unary(UnaryOp::Exp | UnaryOp::Log | UnaryOp::Tanh | UnaryOp::Erf) => 16,
        OpKind::Unary(UnaryOp::Sqrt | UnaryOp::Rsqrt) | OpKind::Binary(BinaryOp::Div | BinaryOp::Rem) => 6,
        OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(_) | OpKind::Select | OpKind::Cast => 1,
        _ => 0,
    };
    if narrow && base > 0 { base + 1 } else { base }
}

struct Planner<'a> {
    kernel: &'a Kernel,
    pad: usize,
    facts: Facts<'a>,
    place: Vec<Place>,
    /// Ops in the inline expression of a value, and their cost.
    size: Vec<usize>,
    cost: Vec<usize>,
    buffers: Vec<Buffer>,
    carries: HashMap<Value, Vec<Carry>>,
    zero_first: BTreeSet<Value>,
    swaps: HashMap<Value, usize>,
}

impl Planner<'_> {
    fn new_buffer(&mut self, v: Value, dense: bool) {
        let mut ty = self.kernel.ty(v);
        if ty.dtype == DType::I4 {
            ty = ty.with_dtype(DType::I8);
        }
        self.place[v.0 as usize] = Place::Buffer(self.buffers.len());
        self.buffers.push(Buffer::new(ty, self.pad, dense));
    }

    fn block(&mut self, block: &Block) {
        for op in &block.ops {
            for region in &op.regions {
                for (i, &arg) in region.args.iter().enumerate() {
                    if i == 0 || self.kernel.ty(arg).shape.rank() == 0 {
                        self.place[arg.0 as usize] = Place::Scalar;
                    } else {
                        self.new_buffer(arg, false);
                    }
                }
                self.block(region);
                for &y in &region.yields {
                    // A yielded expression is computed where its op stands, so that it may be computed in place.
                    let outside = self.facts.def[y.0 as usize].is_none();
                    if matches!(op.kind, OpKind::Fold)
                        && self.place[y.0 as usize] == Place::Inline
                        && !outside
                    {
                        self.new_buffer(y, false);
                    }
                }
            }
            self.op(op);
        }
    }

    fn op(&mut self, op: &Op) {
        let Some(&result) = op.results.first() else { return };
        let ty = self.kernel.ty(result);
        match op.kind {
            OpKind::Fold => {
                for (&r, &arg) in op.results.iter().zip(&op.regions[0].args[1..]) {
                    self.place[r.0 as usize] = self.place[arg.0 as usize];
                }
            }
            OpKind::If => {
                for &r in &op.results {
                    if self.kernel.ty(r).shape.rank() == 0 {
                        self.place[r.0 as usize] = Place::Scalar;
                    } else {
                        self.new_buffer(r, false);
                    }
                }
            }
            _ if ty.shape.rank() == 0 => self.place[result.0 as usize] = Place::Scalar,
            OpKind::Dot | OpKind::Reduce { .. } | OpKind::Concat { .. } => self.new_buffer(result, false),
            OpKind::Reshape if unit_map(self.kernel.ty(op.operands[0]), ty).is_none() => {
                self.new_buffer(result, true);
            }
            _ => self.expression(op, result),
        }
    }

    fn expression(&mut self, op: &Op, result: Value) {
        let inner = |all: &[usize]| -> usize { op.operands.iter().map(|v| all[v.0 as usize]).sum() };
        let cost = own_cost(self.kernel, op) + inner(&self.cost);
        let size = 1 + inner(&self.size);
        let u = &self.facts.uses[result.0 as usize];
        let depth = self.facts.at[result.0 as usize].1;
        let repeated = u.sites.len() > 1 || u.by_broadcast || u.sites.iter().any(|s| s.1 > depth);
        let direct = self.is_view(op) && (!u.by_dot || self.has_contiguous_rows(result));
        let buffered = (u.by_dot && !direct)
            || (u.by_shuffle && !direct && cost > 0)
            || (repeated && cost >= COSTLY)
            || size > LARGEST;
        if buffered {
            self.new_buffer(result, false);
            self.cost[result.0 as usize] = 0;
            self.size[result.0 as usize] = 1;
        } else {
            self.cost[result.0 as usize] = cost;
            self.size[result.0 as usize] = size;
        }
    }

    /// Whether the value is a block of an operand as it lies in memory, up to transposition, slicing and dimensions of 1.
    fn is_view(&self, op: &Op) -> bool {
        match &op.kind {
            OpKind::Load { array } => {
                let operand = self.kernel.operand(*array);
                let zero = |c: Const| c.as_f64() == 0.0;
                let even = |shape: Shape| shape.dims().last().is_some_and(|n| n % 2 == 0);
                let bytes = operand.dtype != DType::I4
                    || even(operand.shape) && even(self.kernel.ty(op.results[0]).shape);
                bytes && matches!(operand.role, Role::Input { pad } if pad.is_none_or(zero))
            }
            OpKind::Transpose { .. } => self.operand_is_view(op),
            OpKind::Slice { .. } => self.kernel.ty(op.results[0]).dtype != DType::I4 && self.operand_is_view(op),
            OpKind::Reshape => {
                unit_map(self.kernel.ty(op.operands[0]), self.kernel.ty(op.results[0])).is_some()
                    && self.operand_is_view(op)
            }
            _ => false,
        }
    }

    fn operand_is_view(&self, op: &Op) -> bool {
        let v = op.operands[0];
        match self.place[v.0 as usize] {
            Place::Buffer(_) => true,
            Place::Inline => self.facts.def[v.0 as usize].is_some_and(|d| self.is_view(d)),
            Place::Scalar => false,
        }
    }

    /// Whether neighbours along one of a view's last two dimensions are neighbours in memory, as packing needs it.
    fn has_contiguous_rows(&self, v: Value) -> bool {
        let shape = self.kernel.ty(v).shape;
        self.view_strides(v).is_some_and(|strides| {
            (shape.rank().saturating_sub(2)..shape.rank()).any(|d| strides[d] == 1 || shape.dims()[d] == 1)
        })
    }

    /// Elements between neighbours along each dimension of a view.
    fn view_strides(&self, v: Value) -> Option<Vec<usize>> {
        if let Place::Buffer(b) = self.place[v.0 as usize] {
            return Some(self.buffers[b].strides[..self.kernel.ty(v).shape.rank()].to_vec());
        }
        let op = self.facts.def[v.0 as usize]?;
        match &op.kind {
            OpKind::Load { array } => {
                let shape = self.kernel.operand(*array).shape;
                Some(shape.strides()[..shape.rank()].to_vec())
            }
            OpKind::Transpose { perm } => {
                let inner = self.view_strides(op.operands[0])?;
                Some(perm[..inner.len()].iter().map(|&p| inner[p]).collect())
            }
            OpKind::Reshape => {
                let inner = self.view_strides(op.operands[0])?;
                let map = unit_map(self.kernel.ty(op.operands[0]), self.kernel.ty(v))?;
                Some(map.into_iter().map(|d| d.map_or(1, |d| inner[d])).collect())
            }
            OpKind::Slice { .. } => self.view_strides(op.operands[0]),
            _ => None,
        }
    }

    /// The buffers that evaluating `v` reads; `true` where each is read at the element that is being computed.
    fn reads(&self, v: Value, same: bool, all: &mut BTreeMap<usize, bool>) {
        match self.place[v.0 as usize] {
            Place::Buffer(b) => {
                let entry = all.entry(b).or_insert(true);
                *entry &= same;
            }
            Place::Scalar => {}
            Place::Inline => {
                if let Some(op) = self.facts.def[v.0 as usize] {
                    self.operands_read(op, same, all);
                }
            }
        }
    }

    fn operands_read(&self, op: &Op, same: bool, all: &mut BTreeMap<usize, bool>) {
        for (i, &v) in op.operands.iter().enumerate() {
            let moved = match op.kind {
                OpKind::Broadcast
                | OpKind::Reshape
                | OpKind::Transpose { .. }
                | OpKind::Slice { .. }
                | OpKind::Concat { .. }
                | OpKind::Reduce { .. } => true,
                OpKind::Dot => i < 2,
                _ => false,
            };
            self.reads(v, same && !moved, all);
        }
    }

    /// The buffers that the root `op` reads.
    fn root_reads(&self, op: &Op) -> BTreeMap<usize, bool> {
        let mut all = BTreeMap::new();
        self.operands_read(op, true, &mut all);
        all
    }

    /// Whether `op` runs loops where it stands, or evaluates a scalar there.
    fn is_root(&self, op: &Op) -> bool {
        match op.results.first() {
            None => true,
            Some(r) => self.place[r.0 as usize] != Place::Inline,
        }
    }

    fn fold_carries(&mut self, block: &Block) {
        for op in &block.ops {
            for region in &op.regions {
                self.fold_carries(region);
            }
            if matches!(op.kind, OpKind::Fold) {
                self.one_fold(op);
            }
        }
    }

    fn one_fold(&mut self, fold: &Op) {
        let body = &fold.regions[0];
        let mut modes = Vec::new();
        for (i, (&arg, &y)) in body.args[1..].iter().zip(&body.yields).enumerate() {
            let Place::Buffer(carried) = self.place[arg.0 as usize] else {
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
                    let end = self.facts.end[&(fold as *const Op)];
                    let mut swap = Buffer::new(self.buffers[carried].ty, self.pad, false);
                    swap.touch(end);
                    self.swaps.insert(arg, self.buffers.len());
                    self.buffers.push(swap);
                }
                continue;
            };
            self.place[y.0 as usize] = Place::Buffer(carried);
            modes.push(Carry::InPlace);
            let only_use = self.facts.uses[arg.0 as usize].sites.len() == 1;
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
    fn in_place_maker<'f>(&self, fold: &'f Op, carried: usize, y: Value) -> Option<&'f Op> {
        let body = &fold.regions[0];
        let maker = body.ops.iter().find(|op| op.results.first() == Some(&y) && op.regions.is_empty())?;
        let Place::Buffer(own) = self.place[y.0 as usize] else { return None };
        if self.buffers[own].strides != self.buffers[carried].strides
            || body.yields.iter().filter(|&&v| v == y).count() > 1
            || self.root_reads(maker).get(&carried) == Some(&false)
        {
            return None;
        }
        let made = self.facts.position[&(maker as *const Op)];
        let end = self.facts.end[&(fold as *const Op)];
        let read_later = self.facts.ops.iter().any(|op| {
            let at = self.facts.position[&(*op as *const Op)];
            at > made && at < end && self.is_root(op) && self.root_reads(op).contains_key(&carried)
        });
        let yielded_too = body.yields.iter().any(|&v| {
            let mut all = BTreeMap::new();
            self.reads(v, true, &mut all);
            v != y && all.contains_key(&carried)
        });
        (!read_later && !yielded_too).then_some(maker)
    }

    fn starts_at_zero(&self, init: Value) -> bool {
        let op = self.facts.def[init.0 as usize];
        matches!(op.map(|o| &o.kind), Some(OpKind::Splat(c)) if c.as_f64() == 0.0)
    }

    fn lives(&mut self) {
        let mut touched: Vec<(usize, usize)> = Vec::new();
        for op in self.facts.ops.clone() {
            let at = self.facts.position[&(op as *const Op)];
            if self.is_root(op) {
                for &b in self.root_reads(op).keys() {
                    touched.push((b, at));
                }
            }
            for &r in &op.results {
                if let Place::Buffer(b) = self.place[r.0 as usize] {
                    touched.push((b, at));
                }
            }
            let Some(&end) = self.facts.end.get(&(op as *const Op)) else { continue };
            for region in &op.regions {
                for &v in region.args.iter().chain(&op.results) {
                    if let Place::Buffer(b) = self.place[v.0 as usize] {
                        touched.extend([(b, at), (b, end)]);
                    }
                }
                for &y in &region.yields {
                    let mut all = BTreeMap::new();
                    self.reads(y, true, &mut all);
                    touched.extend(all.keys().map(|&b| (b, end)));
                }
            }
        }
        for &(b, at) in &touched {
            self.buffers[b].touch(at);
        }
        // What is made before a loop and read in it is read until the loop's end.
        for buffer in &mut self.buffers {
            let (start, mut last) = buffer.live;
            for &(from, to) in &self.facts.spans {
                if start < from && last > from && last < to {
                    last = to;
                }
            }
            buffer.live.1 = last;
        }
    }
}
