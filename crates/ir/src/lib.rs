//! The tile IR: one table of ops, the builder that records kernels from Rust, the text form, the verifier.
//!
//! A [`Kernel`] is a pure function of one grid cell. Values are tiles of static shape; memory is touched only by blocks
//! of the kernel's operands; accumulation is a `fold` that carries tiles. Every operand is row-major.

mod build;
pub mod ops;
mod parse;
mod print;
mod program;
pub mod range;
pub mod rules;
mod types;
mod verify;

pub use build::{Array, Builder, Indices, Like, Table, Tile};
pub use ops::{BinaryOp, CmpOp, Form, OPS, OpDecl, ReduceOp, Rounding, UnaryOp};
pub use parse::parse;
pub use print::{PrintOptions, print, print_with};
pub use program::{
    Block, Const, GridDim, Kernel, Loc, Op, OpKind, Operand, OperandId, Program, ProgramOperand, Role, Value,
    ValueInfo,
};
pub use tilewright_dtype::DType;
pub use types::{MAX_RANK, Shape, TileType};
pub use verify::{kernel as verify_kernel, program as verify_program};
