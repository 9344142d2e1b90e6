//! The authoring surface: ordinary Rust that records tile IR.
//!
//! ```
//! use tilewright_ir::{Builder, DType};
//!
//! let k = Builder::new("scale");
//! let x = k.input("x", DType::F32, &[1000, 64]);
//! let y = k.output("y", DType::F32, &[1000, 64]);
//! let [i] = k.grid([("i", 1000usize.div_ceil(8))]);
//! y.store((i, 0), x.load((i, 0), &[8, 64]) * 2.0);
//! let kernel = k.finish().unwrap();
//! assert_eq!(kernel.cells(), 125);
//! ```
//!
//! A [`Tile`] is a copyable handle. Operators and methods record one op each, with the caller's source line; where the
//! shapes of two operands differ, the `broadcast` that joins them is recorded too. A broken rule does not stop the
//! recording: [`Builder::finish`] returns the first one, with the line that broke it.

use std::cell::RefCell;
use std::panic::Location;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;

use crate::ops::ReduceOp;
use crate::program::{
    Block, Const, GridDim, Kernel, Loc, Op, OpKind, Operand, OperandId, Role, Value, ValueInfo,
};
use crate::rules::{self, TypeError};
use crate::types::{MAX_RANK, Shape, TileType};
use crate::verify;

mod tile;
pub use tile::{Indices, Like, Tile};

/// Records one kernel.
pub struct Builder {
    state: RefCell<State>,
}

struct State {
    name: String,
    operands: Vec<Operand>,
    scalars: Vec<Value>,
    grid: Vec<GridDim>,
    indices: Vec<Value>,
    values: Vec<ValueInfo>,
    blocks: Vec<Block>,
    loc: Loc,
    fault: Option<Box<Diagnostic>>,
}

/// An input or output array of the kernel under construction.
#[derive(Clone, Copy)]
pub struct Array<'k> {
    b: &'k Builder,
    id: OperandId,
}

/// A run-time i32 table of the kernel under construction.
#[derive(Clone, Copy)]
pub struct Table<'k> {
    b: &'k Builder,
    id: OperandId,
}

impl Builder {
    /// Starts a kernel called `name` (an identifier).
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Builder {
        Builder {
            state: RefCell::new(State {
                name: name.into(),
                operands: Vec::new(),
                scalars: Vec::new(),
                grid: Vec::new(),
                indices: Vec::new(),
                values: Vec::new(),
                blocks: vec![Block::default()],
                loc: caller(),
                fault: None,
            }),
        }
    }

    /// Declares an input array. Loads past its edge yield poison.
    #[track_caller]
    pub fn input(&self, name: &str, dtype: DType, dims: &[usize]) -> Array<'_> {
        self.array(name, dtype, dims, Role::Input { pad: None })
    }

    /// Declares an input array whose elements past the edge read as `pad`.
    #[track_caller]
    pub fn input_padded(&self, name: &str, dtype: DType, dims: &[usize], pad: f64) -> Array<'_> {
        self.array(name, dtype, dims, Role::Input { pad: Some(constant(pad, dtype)) })
    }

    /// Declares an output array; each of its elements is written by one grid cell.
    #[track_caller]
    pub fn output(&self, name: &str, dtype: DType, dims: &[usize]) -> Array<'_> {
        self.array(name, dtype, dims, Role::Output { combine: None })
    }

    /// Declares an output array to whose elements several grid cells may write, combined by `combine`.
    #[track_caller]
    pub fn output_combined(&self, name: &str, dtype: DType, dims: &[usize], combine: ReduceOp) -> Array<'_> {
        self.array(name, dtype, dims, Role::Output { combine: Some(combine) })
    }

    /// Declares a run-time i32 that lies in `min ..= max`.
    #[track_caller]
    pub fn scalar(&self, name: &str, min: i32, max: i32) -> Tile<'_> {
        self.array(name, DType::I32, &[], Role::Scalar { min, max });
        let value = self.new_value(TileType::INDEX, Some(name.to_string()));
        self.state.borrow_mut().scalars.push(value);
        Tile::new(self, value)
    }

    /// Declares a run-time i32 table of `len` elements that lie in `min ..= max`.
    #[track_caller]
    pub fn table(&self, name: &str, len: usize, min: i32, max: i32) -> Table<'_> {
        let id = self.array(name, DType::I32, &[len], Role::Table { min, max }).id;
        Table { b: self, id }
    }

    #[track_caller]
    fn array(&self, name: &str, dtype: DType, dims: &[usize], role: Role) -> Array<'_> {
        let shape = self.ruled(rules::shape_of(dims)).unwrap_or_default();
        let mut state = self.state.borrow_mut();
        let id = OperandId(state.operands.len() as u32);
        state.operands.push(Operand { name: name.to_string(), dtype, shape, role, loc: caller() });
        Array { b: self, id }
    }

    /// Declares the grid and returns the index of the cell along each dimension. The last dimension varies fastest.
    pub fn grid<const N: usize>(&self, dims: [(&str, usize); N]) -> [Tile<'_>; N] {
        dims.map(|(name, extent)| {
            let value = self.new_value(TileType::INDEX, Some(name.to_string()));
            let mut state = self.state.borrow_mut();
            state.grid.push(GridDim { name: name.to_string(), extent });
            state.indices.push(value);
            Tile::new(self, value)
        })
    }

    /// A tile of one constant.
    #[track_caller]
    pub fn splat(&self, value: f64, dtype: DType, dims: &[usize]) -> Tile<'_> {
        let shape = self.ruled(rules::shape_of(dims)).unwrap_or_default();
        self.record(OpKind::Splat(constant(value, dtype)), &[], Some(TileType::new(dtype, shape)))
    }

    /// An i32 scalar constant.
    #[track_caller]
    pub fn int(&self, value: i32) -> Tile<'_> {
        self.record(OpKind::Splat(Const::Int(value.into())), &[], Some(TileType::INDEX))
    }

    /// An i32 tile whose elements are their own index along `dim`.
    #[track_caller]
    pub fn iota(&self, dim: usize, dims: &[usize]) -> Tile<'_> {
        let shape = self.ruled(rules::shape_of(dims)).unwrap_or_default();
        self.record(OpKind::Iota { dim }, &[], Some(TileType::new(DType::I32, shape)))
    }

    /// Runs `body` for each index `lo .. hi` with the carried tiles, and returns their last values.
    #[track_caller]
    pub fn fold<'k, const N: usize>(
        &'k self,
        name: &str,
        lo: impl Like<'k>,
        hi: impl Like<'k>,
        init: [Tile<'k>; N],
        body: impl FnOnce(Tile<'k>, [Tile<'k>; N]) -> [Tile<'k>; N],
    ) -> [Tile<'k>; N] {
        let loc = caller();
        let like = Tile::new(self, Value(u32::MAX));
        let (lo, hi) = (lo.as_index(like), hi.as_index(like));
        let index = self.new_value(TileType::INDEX, Some(name.to_string()));
        let carried = init.map(|t| self.new_value(self.ty(t.value()), None));
        let mut args = vec![index];
        args.extend(carried);
        let block = self.region(args, || {
            body(Tile::new(self, index), carried.map(|v| Tile::new(self, v))).map(|t| t.value()).to_vec()
        });
        let results = init.map(|t| self.new_value(self.ty(t.value()), None));
        let mut operands = vec![lo.value(), hi.value()];
        operands.extend(init.map(|t| t.value()));
        self.push(Op { kind: OpKind::Fold, operands, results: results.to_vec(), regions: vec![block], loc });
        results.map(|v| Tile::new(self, v))
    }

    /// Runs `then` where the scalar `cond` is true, else `otherwise`, and returns what the body that ran yields.
    #[track_caller]
    pub fn when<'k, const N: usize>(
        &'k self,
        cond: Tile<'k>,
        then: impl FnOnce() -> [Tile<'k>; N],
        otherwise: impl FnOnce() -> [Tile<'k>; N],
    ) -> [Tile<'k>; N] {
        let loc = caller();
        let yes = self.region(Vec::new(), || then().map(|t| t.value()).to_vec());
        let no = self.region(Vec::new(), || otherwise().map(|t| t.value()).to_vec());
        let mut results = Vec::new();
        let tiles: [Tile<'k>; N] = std::array::from_fn(|i| {
            let value = self.new_value(self.ty(yes.yields[i]), None);
            results.push(value);
            Tile::new(self, value)
        });
        let operands = vec![cond.value()];
        self.push(Op { kind: OpKind::If, operands, results, regions: vec![yes, no], loc });
        tiles
    }

    /// The verified kernel, or the first rule that the recording broke.
    pub fn finish(self) -> Result<Kernel> {
        let state = self.state.into_inner();
        if let Some(fault) = state.fault {
            return Err(fault);
        }
        let mut body = state.blocks.into_iter().next().unwrap_or_default();
        body.args = [state.indices, state.scalars].concat();
        let mut kernel = Kernel {
            name: state.name,
            operands: state.operands,
            grid: state.grid,
            body,
            values: state.values,
            loc: state.loc,
        };
        outputs_last(&mut kernel);
        verify::kernel(&kernel)?;
        verify::written(&kernel)?;
        Ok(kernel)
    }

    fn region(&self, args: Vec<Value>, body: impl FnOnce() -> Vec<Value>) -> Block {
        self.state.borrow_mut().blocks.push(Block { args, ..Block::default() });
        let yields = body();
        let mut block = self.state.borrow_mut().blocks.pop().unwrap_or_default();
        block.yields = yields;
        block
    }

    fn new_value(&self, ty: TileType, name: Option<String>) -> Value {
        let mut state = self.state.borrow_mut();
        state.values.push(ValueInfo { ty, name });
        Value(state.values.len() as u32 - 1)
    }

    fn ty(&self, value: Value) -> TileType {
        self.state.borrow().values.get(value.0 as usize).map_or(TileType::INDEX, |v| v.ty)
    }

    fn push(&self, op: Op) {
        if let Some(block) = self.state.borrow_mut().blocks.last_mut() {
            block.ops.push(op);
        }
    }

    #[track_caller]
    fn record(&self, kind: OpKind, operands: &[Tile<'_>], declared: Option<TileType>) -> Tile<'_> {
        if operands.iter().any(|t| !std::ptr::eq(t.builder(), self)) {
            let rule = "a kernel is made of its own builder's tiles";
            let message = format!("`{}` takes a tile of another kernel", kind.form().name());
            self.ruled::<()>(Err(TypeError { code: "ir/foreign-tile", message, rule }));
        }
        let types: Vec<TileType> = operands.iter().map(|t| self.ty(t.value())).collect();
        let made = rules::result_type(&kind, &types, declared, &self.state.borrow().operands);
        let ty = match self.ruled(made) {
            Some(made) => made,
            None => declared.or(types.first().copied()),
        };
        let result = self.new_value(ty.unwrap_or(TileType::INDEX), None);
        let results =
            if ty.is_some() && !matches!(kind, OpKind::Store { .. }) { vec![result] } else { Vec::new() };
        let operands = operands.iter().map(|t| t.value()).collect();
        self.push(Op { kind, operands, results, regions: Vec::new(), loc: caller() });
        Tile::new(self, result)
    }

    #[track_caller]
    fn ruled<T>(&self, result: std::result::Result<T, TypeError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(e) => {
                let mut state = self.state.borrow_mut();
                let message = format!("{} in kernel `{}`", e.message, state.name);
                let fault = Diagnostic::request(e.code, message).rule(e.rule).at(caller().span());
                state.fault.get_or_insert(fault);
                None
            }
        }
    }
}

impl<'k> Array<'k> {
    /// The block of `dims` at the block indices.
    #[track_caller]
    pub fn load(self, indices: impl Indices<'k>, dims: &[usize]) -> Tile<'k> {
        let shape = self.b.ruled(rules::shape_of(dims)).unwrap_or_default();
        let dtype = self.b.state.borrow().operands[self.id.0 as usize].dtype;
        let indices = indices.collect(self.b);
        self.b.record(OpKind::Load { array: self.id }, &indices, Some(TileType::new(dtype, shape)))
    }

    /// Writes `tile` to the block at the block indices.
    #[track_caller]
    pub fn store(self, indices: impl Indices<'k>, tile: Tile<'k>) {
        let mut operands = indices.collect(self.b);
        operands.push(tile);
        self.b.record(OpKind::Store { array: self.id }, &operands, None);
    }
}

impl<'k> Table<'k> {
    /// The element at `index`, as a scalar.
    #[track_caller]
    pub fn at(self, index: impl Like<'k>) -> Tile<'k> {
        let index = index.as_index(Tile::new(self.b, Value(u32::MAX)));
        self.b.record(OpKind::Lookup { table: self.id }, &[index], None)
    }
}

/// Brings the operands into the order that [`Kernel::operands`] states, however the author declared them.
fn outputs_last(kernel: &mut Kernel) {
    let mut order: Vec<usize> = (0..kernel.operands.len()).collect();
    order.sort_by_key(|&i| kernel.operands[i].is_output());
    let mut place = vec![OperandId(0); order.len()];
    for (to, &from) in order.iter().enumerate() {
        place[from] = OperandId(to as u32);
    }
    kernel.operands = order.iter().map(|&i| kernel.operands[i].clone()).collect();
    renumber(&mut kernel.body, &place);
}

fn renumber(block: &mut Block, place: &[OperandId]) {
    for op in &mut block.ops {
        if let OpKind::Load { array: id } | OpKind::Store { array: id } | OpKind::Lookup { table: id } =
            &mut op.kind
        {
            *id = place[id.0 as usize];
        }
        op.regions.iter_mut().for_each(|r| renumber(r, place));
    }
}

#[track_caller]
fn caller() -> Loc {
    let l = Location::caller();
    Loc { file: l.file().into(), line: l.line(), col: l.column() }
}

/// The constant `value` of `dtype`: integers and bools where it is whole, so that `x * 2.0` works on i32 too.
fn constant(value: f64, dtype: DType) -> Const {
    if !dtype.is_float() && value.fract() == 0.0 && value.abs() < 9e15 {
        Const::Int(value as i64)
    } else {
        Const::Float(value)
    }
}

fn padded(dims: &[usize]) -> [usize; MAX_RANK] {
    let mut all = [0; MAX_RANK];
    for (to, from) in all.iter_mut().zip(dims) {
        *to = *from;
    }
    all
}

fn shape_or_scalar(dims: &[usize]) -> Shape {
    Shape::new(dims).unwrap_or_default()
}
