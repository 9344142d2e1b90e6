//! Programs, kernels, blocks and ops: the data that the builder records and everything else reads.

use std::fmt;
use std::sync::Arc;

use tilewright_diag::Span;
use tilewright_dtype::DType;

use crate::ops::{BinaryOp, CmpOp, Form, ReduceOp, UnaryOp};
use crate::types::{MAX_RANK, Shape, TileType};

/// Kernels that run one after another. An input named like an earlier kernel's output reads that output; outputs that
/// no later kernel reads, and all outputs of the last kernel, are the program's outputs.
#[derive(Clone, Debug)]
pub struct Program {
    /// In execution order; never empty.
    pub kernels: Vec<Kernel>,
}

/// A pure function of one grid cell over the kernel's operands.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// Name, an identifier.
    pub name: String,
    /// Operands in declaration order: inputs, scalars and tables, then outputs.
    pub operands: Vec<Operand>,
    /// Grid dimensions; the last varies fastest.
    pub grid: Vec<GridDim>,
    /// Runs once per cell. Its arguments are the grid indices, then one value per scalar operand in declaration order.
    pub body: Block,
    /// Every value of the kernel, indexed by [`Value`].
    pub values: Vec<ValueInfo>,
    /// Where the author began it.
    pub loc: Loc,
}

/// An operand's place in [`Kernel::operands`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperandId(pub u32);

/// A value's place in [`Kernel::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// A named array, scalar or table that a kernel takes or makes. Equality asks for all but the place.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Name, an identifier.
    pub name: String,
    /// Element type; i32 for scalars and tables.
    pub dtype: DType,
    /// Shape; rank 0 for scalars, rank 1 for tables.
    pub shape: Shape,
    /// What the kernel does with it.
    pub role: Role,
    /// Where the author declared it.
    pub loc: Loc,
}

impl PartialEq for Operand {
    fn eq(&self, other: &Operand) -> bool {
        (&self.name, self.dtype, self.shape, &self.role)
            == (&other.name, other.dtype, other.shape, &other.role)
    }
}

/// What a kernel does with an operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// Read by blocks; `pad` is the value of elements past the edge, which are poison where it is absent.
    Input {
        /// Value past the edge.
        pad: Option<Const>,
    },
    /// Written by blocks; each block by one cell unless `combine` says how writes add up.
    Output {
        /// How several writes of one element combine; the operand starts from the combination's identity.
        combine: Option<ReduceOp>,
    },
    /// A run-time i32; the caller promises `min <= value <= max`.
    Scalar {
        /// Least value.
        min: i32,
        /// Greatest value.
        max: i32,
    },
    /// A run-time vector of i32 read by `lookup`; each element lies in `min ..= max`.
    Table {
        /// Least element.
        min: i32,
        /// Greatest element.
        max: i32,
    },
}

impl Role {
    /// Narrows a scalar's or a table's range to what `other` allows too.
    fn narrow(&mut self, other: &Role) {
        if let (
            Role::Scalar { min, max } | Role::Table { min, max },
            Role::Scalar { min: least, max: greatest } | Role::Table { min: least, max: greatest },
        ) = (self, other)
        {
            *min = (*min).max(*least);
            *max = (*max).min(*greatest);
        }
    }
}

impl Operand {
    /// Whether the kernel writes it.
    pub fn is_output(&self) -> bool {
        matches!(self.role, Role::Output { .. })
    }

    /// Whether it is a run-time scalar.
    pub fn is_scalar(&self) -> bool {
        matches!(self.role, Role::Scalar { .. })
    }
}

/// One grid dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridDim {
    /// Name, an identifier.
    pub name: String,
    /// Number of cells along it, at least 1.
    pub extent: usize,
}

/// What is known of a value apart from the op that makes it.
#[derive(Clone, Debug)]
pub struct ValueInfo {
    /// Its type.
    pub ty: TileType,
    /// The author's name for it, if any.
    pub name: Option<String>,
}

/// A list of ops with arguments and yielded values.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Values defined on entry: grid indices and scalars, or a fold's index and carried tiles.
    pub args: Vec<Value>,
    /// In execution order.
    pub ops: Vec<Op>,
    /// What the block hands back; empty for a kernel's body.
    pub yields: Vec<Value>,
}

/// One op.
#[derive(Clone, Debug)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// Values it reads.
    pub operands: Vec<Value>,
    /// Values it makes.
    pub results: Vec<Value>,
    /// Bodies of `fold` (one) and `if` (two).
    pub regions: Vec<Block>,
    /// The author's source line.
    pub loc: Loc,
}

/// An op with its attributes. Operand order is stated per variant.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// No operands.
    Splat(Const),
    /// No operands.
    Iota {
        /// Dimension counted along.
        dim: usize,
    },
    /// Operands: one block index per dimension of the array.
    Load {
        /// The array read.
        array: OperandId,
    },
    /// Operands: one block index per dimension of the array, then the tile.
    Store {
        /// The array written.
        array: OperandId,
    },
    /// Operand: the element index.
    Lookup {
        /// The table read.
        table: OperandId,
    },
    /// Operand: the tile.
    Cast,
    /// Operand: the tile.
    Unary(UnaryOp),
    /// Operands: two tiles of one type.
    Binary(BinaryOp),
    /// Operands: two tiles of one type.
    Compare(CmpOp),
    /// Operands: condition (bool), value where true, value where false.
    Select,
    /// Operand: the tile.
    Broadcast,
    /// Operand: the tile.
    Reshape,
    /// Operand: the tile.
    Transpose {
        /// Result dimension `d` is operand dimension `perm[d]`; entries past the rank are 0.
        perm: [usize; MAX_RANK],
    },
    /// Operand: the tile.
    Slice {
        /// First element along each dimension; entries past the rank are 0.
        start: [usize; MAX_RANK],
    },
    /// Operands: the two tiles.
    Concat {
        /// Dimension along which the second follows the first.
        dim: usize,
    },
    /// Operand: the tile.
    Reduce {
        /// How elements combine.
        op: ReduceOp,
        /// Dimension that becomes 1.
        dim: usize,
    },
    /// Operands: x, y, accumulator.
    Dot,
    /// Operands: lower bound, upper bound, initial carried tiles. Region arguments: index, carried tiles.
    Fold,
    /// Operand: condition (bool scalar). Regions: then, else.
    If,
}

impl OpKind {
    /// The row of the table of ops that declares it.
    pub fn form(&self) -> Form {
        match self {
            OpKind::Splat(_) => Form::Splat,
            OpKind::Iota { .. } => Form::Iota,
            OpKind::Load { .. } => Form::Load,
            OpKind::Store { .. } => Form::Store,
            OpKind::Lookup { .. } => Form::Lookup,
            OpKind::Cast => Form::Cast,
            OpKind::Unary(op) => Form::Unary(*op),
            OpKind::Binary(op) => Form::Binary(*op),
            OpKind::Compare(op) => Form::Compare(*op),
            OpKind::Select => Form::Select,
            OpKind::Broadcast => Form::Broadcast,
            OpKind::Reshape => Form::Reshape,
            OpKind::Transpose { .. } => Form::Transpose,
            OpKind::Slice { .. } => Form::Slice,
            OpKind::Concat { .. } => Form::Concat,
            OpKind::Reduce { op, .. } => Form::Reduce(*op),
            OpKind::Dot => Form::Dot,
            OpKind::Fold => Form::Fold,
            OpKind::If => Form::If,
        }
    }
}

/// A constant: a float for float dtypes, an integer for integer dtypes, 0 or 1 for bool.
#[derive(Clone, Copy, Debug)]
pub enum Const {
    /// A float; two NaNs are the same constant.
    Float(f64),
    /// An integer or truth value.
    Int(i64),
}

impl Const {
    /// The constant as a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Const::Float(x) => x,
            Const::Int(x) => x as f64,
        }
    }
}

impl PartialEq for Const {
    fn eq(&self, other: &Const) -> bool {
        match (self, other) {
            (Const::Float(a), Const::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (Const::Int(a), Const::Int(b)) => a == b,
            _ => false,
        }
    }
}

/// Where an op, an operand or a kernel was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Loc {
    /// Source file.
    pub file: Arc<str>,
    /// 1-based line.
    pub line: u32,
    /// 1-based column.
    pub col: u32,
}

impl Loc {
    /// The span a diagnostic points at.
    pub fn span(&self) -> Span {
        Span::new(&*self.file, self.line, self.col)
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.col)
    }
}

impl Kernel {
    /// The type of a value.
    pub fn ty(&self, v: Value) -> TileType {
        self.values[v.0 as usize].ty
    }

    /// An operand.
    pub fn operand(&self, id: OperandId) -> &Operand {
        &self.operands[id.0 as usize]
    }

    /// The operand called `name`.
    pub fn operand_named(&self, name: &str) -> Option<(OperandId, &Operand)> {
        let i = self.operands.iter().position(|o| o.name == name)?;
        Some((OperandId(i as u32), &self.operands[i]))
    }

    /// The number of grid cells.
    pub fn cells(&self) -> usize {
        self.grid.iter().map(|g| g.extent).product()
    }

    /// The grid index of a cell given its linear number (last dimension fastest).
    pub fn cell_index(&self, cell: usize) -> Vec<usize> {
        let mut rest = cell;
        let mut index: Vec<usize> = self
            .grid
            .iter()
            .rev()
            .map(|g| {
                let i = rest % g.extent;
                rest /= g.extent;
                i
            })
            .collect();
        index.reverse();
        index
    }

    /// Calls `visit` on every op, outer ops before the ops of their regions.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Op)) {
        self.body.walk(visit);
    }
}

impl Block {
    /// Calls `visit` on every op in the block and its ops' regions, outer first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Op)) {
        for op in &self.ops {
            visit(op);
            for region in &op.regions {
                region.walk(visit);
            }
        }
    }
}

/// How a program's arrays are wired: who makes each, who reads each.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramOperand {
    /// Operand as first declared; a scalar's or a table's range is what all kernels that take it allow.
    pub operand: Operand,
    /// Whether the caller gives it.
    pub given: bool,
    /// Whether the caller receives it.
    pub returned: bool,
}

impl Program {
    /// A program of one kernel.
    pub fn single(kernel: Kernel) -> Program {
        Program { kernels: vec![kernel] }
    }

    /// Every operand of the program by name, in order of first appearance: those that the caller gives, temporaries
    /// (neither given nor returned), and those that the caller receives.
    pub fn operands(&self) -> Vec<ProgramOperand> {
        let mut all: Vec<ProgramOperand> = Vec::new();
        for (number, kernel) in self.kernels.iter().enumerate() {
            let last = number + 1 == self.kernels.len();
            for operand in &kernel.operands {
                let known = all.iter().position(|o| o.operand.name == operand.name);
                match (known, operand.is_output()) {
                    (Some(i), false) if !all[i].given => all[i].returned = false,
                    (Some(i), _) => all[i].operand.role.narrow(&operand.role),
                    (None, true) => {
                        all.push(ProgramOperand { operand: operand.clone(), given: false, returned: true });
                    }
                    (None, false) => {
                        all.push(ProgramOperand { operand: operand.clone(), given: true, returned: false });
                    }
                }
                if last
                    && operand.is_output()
                    && let Some(o) = all.iter_mut().find(|o| o.operand.name == operand.name)
                {
                    o.returned = true;
                }
            }
        }
        all
    }
}
