//! A kernel as loops over traffic and arithmetic, in the form that the CPU's lowering gives it: products as panels and
//! register tiles, all else as passes over vectors.

use std::collections::{HashMap, HashSet};

use tilewright_dtype::DType;
use tilewright_ir::range::Ranges;
use tilewright_ir::{BinaryOp, Block, Kernel, Op, OpKind, OperandId, TileType, UnaryOp, Value};
use tilewright_measure::ceilings::PeakClass;
use tilewright_target_cpu::Options;
use tilewright_target_cpu::features::{CpuFeatures, Isa};
use tilewright_target_cpu::micro::{MicroSpec, Unit};

use super::class_of;
use super::traffic::{Access, Loop, Node};

/// Multiply-adds that a core must have under way to be busy: a latency of 4 cycles on 2 ports (Intel and AMD cores since
/// 2015, by Fog's instruction tables). A register tile of fewer sums waits.
const UNDER_WAY: usize = 8;

/// Vector instructions by which a register tile is longer than its products: loads and stores of sums, a loop's start.
const TILE_START: f64 = 40.0;

/// Vector instructions by which an op on a tile, or a cell, is longer than its elements ask.
const OP_START: f64 = 8.0;

/// One core's arithmetic.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub options: Options,
    /// Vector multiply-adds per second, whatever the vectors' width.
    pub rate: f64,
    /// How many of them one multiply-add of another class takes.
    cost: HashMap<PeakClass, f64>,
}

impl Core {
    /// A core that runs code for `features` and reaches `peak` operations per second of a class, a multiply-add as two.
    pub fn new(features: CpuFeatures, peak: impl Fn(PeakClass) -> Option<f64>) -> Core {
        // Peaks were measured with the widest vectors that the machine has.
        let lanes = CpuFeatures::detect().lanes(DType::F32) as f64;
        let rate = peak(PeakClass::F32).unwrap_or(1e9) / (2.0 * lanes);
        let classes = [(PeakClass::Bf16, 2.0), (PeakClass::I8, 4.0)];
        let cost =
            |(class, group): (PeakClass, f64)| Some((class, rate / (peak(class)? / (2.0 * lanes * group))));
        Core { options: Options::new(features), rate, cost: classes.into_iter().filter_map(cost).collect() }
    }

    fn lanes(&self) -> usize {
        self.options.features.lanes(DType::F32)
    }

    /// Vector multiply-adds that one multiply-add of `unit` takes.
    fn cost_of(&self, unit: Unit) -> f64 {
        let fused = self.options.features.isa != Isa::Baseline;
        match unit {
            Unit::F32 if fused => 1.0,
            // A product and a sum.
            Unit::F32 | Unit::I16x2 => 2.0,
            Unit::Bf16x2 | Unit::I8x4 => self.cost.get(&class_of(unit)).copied().unwrap_or(1.0),
        }
    }
}

/// What the first `share` cells of a kernel do, and the FLOP that the products of one cell issue.
pub(super) fn kernel(kernel: &Kernel, core: &Core, share: usize) -> (Vec<Node>, f64) {
    let mut w = Walker {
        kernel,
        core,
        ranges: Ranges::of(kernel),
        follows: vec![0; kernel.values.len()],
        defs: HashMap::new(),
        products: HashSet::new(),
        readers: HashMap::new(),
        grid: Vec::new(),
        folds: Vec::new(),
        loops: 0,
        buffers: kernel.operands.len(),
        times: 1.0,
        flops: 0.0,
    };
    kernel.walk(&mut |op| w.defs.extend(op.results.iter().map(|&r| (r, op))));
    let mut roots = HashSet::new();
    kernel.walk(&mut |op| {
        if let OpKind::Dot = op.kind {
            roots.extend(op.operands[..2].iter().filter_map(|&v| w.block_of(v)).map(|op| op.results[0]));
        }
    });
    w.products = roots;
    kernel.walk(&mut |op| op.operands.iter().for_each(|&v| *w.readers.entry(v).or_default() += 1));
    let mut left = share as f64;
    let trips: Vec<f64> = kernel
        .grid
        .iter()
        .rev()
        .map(|dim| {
            let trips = left.min(dim.extent as f64);
            left = (left / dim.extent as f64).max(1.0);
            trips
        })
        .collect();
    for (&arg, trips) in kernel.body.args.iter().zip(trips.iter().rev()) {
        let bit = w.next_bit();
        w.follows[arg.0 as usize] = bit;
        w.grid.push((bit, *trips));
    }
    let mut nodes = vec![Node::Slots(OP_START)];
    nodes.extend(w.block(&kernel.body));
    for &(bit, trips) in w.grid.iter().rev() {
        nodes = vec![Node::Loop(Loop { trips, bit, body: nodes })];
    }
    (nodes, w.flops)
}

struct Walker<'a> {
    kernel: &'a Kernel,
    core: &'a Core,
    ranges: Ranges,
    /// Per value: the loops that it may differ by.
    follows: Vec<u64>,
    defs: HashMap<Value, &'a Op>,
    /// Loads whose blocks products read where they lie.
    products: HashSet<Value>,
    /// How many ops read a value: each in a pass of its own over it.
    readers: HashMap<Value, usize>,
    /// Bit and trips of each grid dimension.
    grid: Vec<(u64, f64)>,
    /// Bit and trips of each fold around the current op.
    folds: Vec<(u64, f64)>,
    loops: u32,
    /// The next array number: operands come first, then buffers.
    buffers: usize,
    /// How often the current op runs in a cell.
    times: f64,
    flops: f64,
}

impl<'a> Walker<'a> {
    fn next_bit(&mut self) -> u64 {
        // Loops past the 63rd share a bit: their accesses then count as following all of them.
        self.loops = (self.loops + 1).min(64);
        1 << (self.loops - 1)
    }

    fn next_buffer(&mut self) -> usize {
        self.buffers += 1;
        self.buffers - 1
    }

    fn ty(&self, v: Value) -> TileType {
        self.kernel.ty(v)
    }

    fn follows(&self, values: &[Value]) -> u64 {
        values.iter().fold(0, |all, v| all | self.follows[v.0 as usize])
    }

    fn block(&mut self, block: &'a Block) -> Vec<Node> {
        let mut nodes = Vec::new();
        for op in &block.ops {
            let follows = self.follows(&op.operands);
            match &op.kind {
                OpKind::Fold => {
                    let (trips, bit) = (self.trips(op), self.next_bit());
                    nodes.push(self.fold(op, trips, bit));
                    continue;
                }
                OpKind::If => {
                    // Which body runs is not known: each counts half.
                    let times = self.times;
                    self.times /= 2.0;
                    for region in &op.regions {
                        let bit = self.next_bit();
                        nodes.push(Node::Loop(Loop { trips: 0.5, bit, body: self.block(region) }));
                    }
                    self.times = times;
                }
                OpKind::Dot => nodes.extend(self.dot(op)),
                OpKind::Load { array } if !self.products.contains(&op.results[0]) => {
                    let (ty, times) = (self.ty(op.results[0]), self.passes(op.results[0]));
                    nodes.push(self.access(*array, ty, follows, times, 1.0));
                }
                OpKind::Store { array } => {
                    if let Some((&tile, index)) = op.operands.split_last() {
                        // A store reads its line before it writes it back.
                        let follows = self.follows(index);
                        nodes.push(self.access(*array, self.ty(tile), follows, 1.0, 2.0));
                        nodes.push(Node::Slots(self.vectors(self.ty(tile))));
                    }
                }
                OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Select | OpKind::Cast => {
                    nodes.extend(self.intermediate(op.results[0]));
                }
                _ => {}
            }
            let slots = self.pass(op);
            if slots > 0.0 {
                nodes.push(Node::Slots(slots + OP_START));
            }
            for &r in &op.results {
                self.follows[r.0 as usize] = follows;
            }
        }
        nodes
    }

    fn passes(&self, v: Value) -> f64 {
        self.readers.get(&v).map_or(1.0, |&n| n.max(1) as f64)
    }

    /// A tile that several ops read is kept in a buffer: written once, read by each.
    fn intermediate(&mut self, v: Value) -> Option<Node> {
        let (ty, passes) = (self.ty(v), self.passes(v));
        if ty.shape.rank() == 0 || passes < 2.0 {
            return None;
        }
        let bytes = ty.shape.elements() as f64 * f64::from(ty.dtype.bits()).max(8.0) / 8.0;
        Some(packed(self.next_buffer(), bytes, 1.0 + passes, 0, bytes))
    }

    fn fold(&mut self, op: &'a Op, trips: f64, bit: u64) -> Node {
        let body = &op.regions[0];
        let around = self.follows(&op.operands);
        for (i, &arg) in body.args.iter().enumerate() {
            self.follows[arg.0 as usize] = if i == 0 { around | bit } else { around };
        }
        self.folds.push((bit, trips));
        self.times *= trips;
        let nodes = self.block(body);
        self.times /= if trips > 0.0 { trips } else { 1.0 };
        self.folds.pop();
        for (&r, &y) in op.results.iter().zip(&body.yields) {
            self.follows[r.0 as usize] = around | (self.follows[y.0 as usize] & !bit);
        }
        Node::Loop(Loop { trips, bit, body: nodes })
    }

    /// Steps of a fold: between the middles of what its bounds may be.
    fn trips(&self, op: &Op) -> f64 {
        let middle = |v: Value| {
            let known = self.ranges.interval(v);
            if known.fits_i32() { Some((known.lo as f64 + known.hi as f64) / 2.0) } else { None }
        };
        match (middle(op.operands[0]), middle(op.operands[1])) {
            (Some(lo), Some(hi)) => (hi - lo).max(1.0),
            _ => 1.0,
        }
    }

    fn access(&self, array: OperandId, ty: TileType, follows: u64, times: f64, weight: f64) -> Node {
        let operand = self.kernel.operand(array);
        // Only what lies inside the operand is read.
        let inside: f64 = if ty.shape.rank() == operand.shape.rank() {
            ty.shape.dims().iter().zip(operand.shape.dims()).map(|(&t, &o)| t.min(o) as f64).product()
        } else {
            ty.shape.elements() as f64
        };
        let width = f64::from(operand.dtype.bits()) / 8.0;
        Node::Access(Access {
            array: array.0 as usize,
            bytes: inside * width,
            times,
            weight,
            follows,
            whole: operand.shape.elements() as f64 * width,
            hidden: false,
        })
    }

    /// Vectors of a tile; a row's tail takes a whole one.
    fn vectors(&self, ty: TileType) -> f64 {
        let Some((&last, outer)) = ty.shape.dims().split_last() else { return 0.0 };
        outer.iter().product::<usize>() as f64 * last.div_ceil(self.core.lanes()) as f64
    }

    /// Vector instructions of an op that is a pass over elements.
    fn pass(&self, op: &Op) -> f64 {
        let Some(&result) = op.results.first() else { return 0.0 };
        let ty = self.ty(result);
        if ty.shape.rank() == 0 {
            return 0.0;
        }
        let each = match &op.kind {
            // Polynomials of some ten terms and what brings the argument into their range.
            OpKind::Unary(UnaryOp::Exp | UnaryOp::Log | UnaryOp::Tanh | UnaryOp::Erf) => 18.0,
            OpKind::Unary(UnaryOp::Sqrt | UnaryOp::Rsqrt) | OpKind::Binary(BinaryOp::Div | BinaryOp::Rem) => {
                6.0
            }
            OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Compare(_)
            | OpKind::Select
            | OpKind::Iota { .. } => 1.0,
            OpKind::Cast => 2.0,
            OpKind::Concat { .. } => 2.0,
            OpKind::Load { .. } if !self.products.contains(&result) => 1.0,
            OpKind::Reduce { .. } => return self.vectors(self.ty(op.operands[0])),
            // Element by element, unless a product reads it as it lies.
            OpKind::Transpose { .. } if self.block_of(result).is_none() => return ty.shape.elements() as f64,
            _ => 0.0,
        };
        each * self.vectors(ty)
    }

    /// The load behind a value that is a block of an operand as it lies in memory.
    fn block_of(&self, v: Value) -> Option<&'a Op> {
        let op = *self.defs.get(&v)?;
        match op.kind {
            OpKind::Load { .. } => Some(op),
            OpKind::Transpose { .. } | OpKind::Reshape | OpKind::Slice { .. } => {
                self.block_of(op.operands[0])
            }
            _ => None,
        }
    }

    /// Whether the last two dimensions of a block are in the other order in memory.
    fn is_transposed(&self, v: Value) -> bool {
        let Some(op) = self.defs.get(&v) else { return false };
        match op.kind {
            OpKind::Transpose { .. } => !self.is_transposed(op.operands[0]),
            OpKind::Reshape | OpKind::Slice { .. } => self.is_transposed(op.operands[0]),
            _ => false,
        }
    }

    /// A product: its operands packed into panels, then panels of `b` by register tiles of rows.
    fn dot(&mut self, op: &'a Op) -> Vec<Node> {
        let [x, y, result] = [op.operands[0], op.operands[1], op.results[0]];
        let (tx, ty) = (self.ty(x), self.ty(result));
        let Some((batch, &[m, n])) = ty.shape.dims().split_last_chunk::<2>() else { return Vec::new() };
        let k = tx.shape.dims().last().copied().unwrap_or(1);
        let Ok(spec) = MicroSpec::new(tx.dtype, self.ty(y).dtype, self.core.options.features) else {
            return Vec::new();
        };
        let batch = batch.iter().product::<usize>() as f64;
        self.flops += self.times * batch * 2.0 * (m * n.next_multiple_of(spec.nr()) * k) as f64;

        let a_bytes = spec.a_panel_bytes(k) as f64;
        let b_bytes = spec.b_panel_bytes(k) as f64;
        let (panels, tiles) = (n.div_ceil(spec.nr()) as f64, m.div_ceil(spec.mr) as f64);
        let mut nodes = Vec::new();
        let (a, a_follows) = self.pack_a(x, &spec, (m, n, k), batch * tiles * a_bytes, &mut nodes);
        let (b, b_follows, b_whole) = self.pack_b(y, (n, k), batch * panels * b_bytes, &mut nodes);
        let sums = self.next_buffer();

        let (panel, tile) = (self.next_bit(), self.next_bit());
        let read = |array, bytes, weight, follows, whole| {
            Node::Access(Access { array, bytes, times: 1.0, weight, follows, whole, hidden: true })
        };
        let whole = (m * n * 4) as f64;
        let rows = self.rows(&spec, m) / tiles;
        let products = rows * (spec.nr_vectors * spec.units(k)) as f64 * self.core.cost_of(spec.unit);
        let inner = vec![
            read(a, a_bytes, 1.0, a_follows | tile, batch * tiles * a_bytes),
            // Read, and written back.
            read(sums, whole / (panels * tiles), 2.0, panel | tile, batch * whole),
            Node::Slots(products + TILE_START),
        ];
        let rows = Node::Loop(Loop { trips: tiles, bit: tile, body: inner });
        let body = vec![read(b, b_bytes, 1.0, b_follows | panel, b_whole), rows];
        nodes.push(Node::Loop(Loop { trips: panels * batch, bit: panel, body }));
        nodes
    }

    /// Rows' worth of products: in a last tile of few rows, sums wait for each other.
    fn rows(&self, spec: &MicroSpec, m: usize) -> f64 {
        let (whole, rest) = (m / spec.mr * spec.mr, m % spec.mr);
        let least = UNDER_WAY.div_ceil(spec.nr_vectors).min(spec.mr);
        (whole + if rest > 0 { rest.max(least) } else { 0 }) as f64
    }

    /// `a`: read where it lies, or packed where many panels of `b` read it. Returns the array that tiles are read from and
    /// the loops that choose its blocks.
    fn pack_a(
        &mut self,
        x: Value,
        spec: &MicroSpec,
        (m, n, k): (usize, usize, usize),
        bytes: f64,
        nodes: &mut Vec<Node>,
    ) -> (usize, u64) {
        let swapped = self.is_transposed(x);
        let Some((load, array)) = self.load_of(x) else { return (self.next_buffer(), 0) };
        let follows = self.follows(&load.operands);
        let block = self.access(array, self.ty(load.results[0]), follows, 1.0, 1.0);
        if spec.a_in_place() && !swapped && n <= 2 * spec.nr() {
            return (array.0 as usize, follows);
        }
        let buffer = self.next_buffer();
        nodes.push(block);
        nodes.push(packed(buffer, bytes, 1.0, 0, bytes));
        nodes.push(Node::Slots(self.packing(m * k, !swapped)));
        (buffer, 0)
    }

    /// `b`: always packed; kept for the next cells where its block does not depend on the fastest grid dimension and all
    /// steps of the fold fit. Returns the panels' array, the loops that choose a block of it, and its bytes.
    fn pack_b(
        &mut self,
        y: Value,
        (n, k): (usize, usize),
        bytes: f64,
        nodes: &mut Vec<Node>,
    ) -> (usize, u64, f64) {
        let swapped = self.is_transposed(y);
        let buffer = self.next_buffer();
        let Some((load, array)) = self.load_of(y) else {
            nodes.push(packed(buffer, bytes, 1.0, 0, bytes));
            nodes.push(Node::Slots(self.packing(n * k, swapped)));
            return (buffer, 0, bytes);
        };
        let follows = self.follows(&load.operands);
        let (mut times, mut chosen, mut whole) = (1.0, 0, bytes);
        let fastest = self.grid.iter().rev().find(|(_, trips)| *trips > 1.0).copied();
        if let Some((_, cells)) = fastest.filter(|(bit, _)| follows & bit == 0) {
            let steps = self.folds.first().map_or(1.0, |fold| fold.1);
            if self.folds.len() <= 1 && steps * bytes <= self.core.options.panel_bytes as f64 {
                times = 1.0 / cells;
                chosen = self.folds.first().map_or(0, |fold| fold.0);
                whole = steps * bytes;
            }
        }
        nodes.push(self.access(array, self.ty(load.results[0]), follows, times, 1.0));
        nodes.push(packed(buffer, bytes, times, chosen, whole));
        nodes.push(Node::Slots(times * self.packing(n * k, swapped)));
        (buffer, chosen, whole)
    }

    fn load_of(&self, v: Value) -> Option<(&'a Op, OperandId)> {
        let op = self.block_of(v)?;
        match op.kind {
            OpKind::Load { array } => Some((op, array)),
            _ => None,
        }
    }

    /// Vector instructions that bring elements into panels: whole vectors where their order in memory is the panels', else
    /// by shuffles, about one for each element.
    fn packing(&self, elements: usize, shuffled: bool) -> f64 {
        let elements = elements as f64;
        if shuffled { elements } else { 4.0 * elements / self.core.lanes() as f64 }
    }
}

/// Accesses to a buffer.
fn packed(array: usize, bytes: f64, times: f64, follows: u64, whole: f64) -> Node {
    Node::Access(Access { array, bytes, times, weight: 1.0, follows, whole, hidden: false })
}
