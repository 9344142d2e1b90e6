//! LLVM IR text: one function per kernel that runs a range of grid cells.
//!
//! | file | what it writes |
//! |---|---|
//! | `control` | the loop over grid cells, folds, ifs, scalars |
//! | `expr` | one vector of an inline expression |
//! | `memory` | reads and writes of operands and buffers, with their bounds |
//! | `nest` | loops over a tile, with a tail, and with checked loads where a block may pass an edge |
//! | `reduce` | reductions |
//! | `dot` | packed panels and micro-kernel calls |
//! | `view` | tiles as they lie in memory |

mod control;
mod dot;
mod expr;
mod memory;
mod nest;
mod reduce;
mod text;
mod view;

use std::collections::HashMap;

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{Kernel, Op, OperandId, Program, Role, Value};

use crate::lower::{Lowered, LoweredKernel, Options};
use crate::plan::{self, Plan};
use crate::runtime::{Runtime, storage_type};
use text::Text;

/// Emits every kernel of a program that the target accepts, by its plan.
pub fn program(program: &Program, plans: Vec<Plan>, options: Options) -> Result<Lowered> {
    let mut rt = Runtime::new(options.features);
    let mut functions = String::new();
    let mut kernels = Vec::new();
    for (number, (kernel, plan)) in program.kernels.iter().zip(plans).enumerate() {
        let entry = format!("tw_{number}_{}", kernel.name);
        let (text, arena_bytes) = Cell::emit(kernel, plan, &entry, options, &mut rt)?;
        functions.push_str(&text);
        functions.push('\n');
        kernels.push(LoweredKernel {
            name: kernel.name.clone(),
            entry,
            cells: kernel.cells(),
            arena_bytes,
            arrays: kernel.operands.iter().filter(|o| !o.is_scalar()).map(|o| o.name.clone()).collect(),
            scalars: kernel.operands.iter().filter(|o| o.is_scalar()).map(|o| o.name.clone()).collect(),
            serial: kernel.operands.iter().any(|o| matches!(o.role, Role::Output { combine: Some(_) })),
        });
    }
    Ok(Lowered { text: format!("{functions}{}", rt.text()), kernels })
}

/// One vector: `lanes` elements of a tile.
#[derive(Clone, Debug)]
struct Reg {
    text: String,
    dtype: DType,
    /// A narrow float in its storage bits; otherwise floats are f32 vectors.
    stored: bool,
}

/// Which elements of a tile a vector holds.
#[derive(Clone, Debug)]
struct At {
    /// First element, per dimension: an i64 value or literal.
    coords: Vec<String>,
    /// The dimension that lanes run along; all lanes hold one element where there is none.
    vector: Option<usize>,
    /// Lanes that matter; all where absent.
    mask: Option<String>,
}

/// The body of one kernel under construction.
struct Cell<'a> {
    kernel: &'a Kernel,
    plan: Plan,
    rt: &'a mut Runtime,
    options: Options,
    t: Text,
    lanes: usize,
    /// The op that makes each value.
    defs: Vec<Option<&'a Op>>,
    /// Rank-0 values: i32 and bool as LLVM scalars, others as vectors of one element.
    scalars: HashMap<Value, Reg>,
    /// Grid indices, scalar operands and folds' indices as i64 too.
    indices: HashMap<Value, String>,
    /// Addresses of arrays and tables.
    arrays: HashMap<OperandId, String>,
    /// Carried tiles whose first step starts from zero: whether this is the first step.
    first: HashMap<Value, String>,
    /// Expressions already evaluated in the loop body being written.
    memo: HashMap<(Value, String), Reg>,
    /// Whether loads compare their elements with the operands' edges.
    checked: bool,
    /// Bytes of the arena used so far: buffers, then kept panels, then tags.
    arena: usize,
    /// Bytes of scratch that one dot needs at a time; lies behind the rest of the arena.
    scratch: usize,
    /// Tag words (offset, count) that an entry clears.
    tags: Vec<(usize, usize)>,
    /// Enclosing folds, outermost first.
    folds: Vec<Enclosing>,
    /// The linear number of the running cell.
    cell: String,
}

/// A fold around the op being emitted.
#[derive(Clone, Debug)]
struct Enclosing {
    /// Its index as the kernel's value, and as an i64.
    value: Value,
    index: String,
    /// The least index that any step has, and how many indices there may be.
    first: i64,
    indices: usize,
}

impl<'a> Cell<'a> {
    fn emit(
        kernel: &'a Kernel,
        plan: Plan,
        entry: &str,
        options: Options,
        rt: &'a mut Runtime,
    ) -> Result<(String, usize)> {
        if cfg!(debug_assertions) {
            plan::verify(kernel, &plan)?;
        }
        let mut defs = vec![None; kernel.values.len()];
        kernel.walk(&mut |op| {
            for &r in &op.results {
                defs[r.0 as usize] = Some(op);
            }
        });
        let arena = plan.buffer_bytes;
        let cell = Cell {
            kernel,
            plan,
            lanes: options.features.lanes(DType::F32),
            rt,
            options,
            t: Text::new(),
            defs,
            scalars: HashMap::new(),
            indices: HashMap::new(),
            arrays: HashMap::new(),
            first: HashMap::new(),
            memo: HashMap::new(),
            checked: false,
            arena,
            scratch: 0,
            tags: Vec::new(),
            folds: Vec::new(),
            cell: String::new(),
        };
        cell.function(entry)
    }

    fn def(&self, v: Value) -> Option<&'a Op> {
        self.defs[v.0 as usize]
    }

    /// The LLVM vector type of a register.
    fn vector_type(&self, dtype: DType, stored: bool) -> String {
        let element = match dtype {
            DType::Bool => "i1",
            d if d.is_float() && !stored => "float",
            d => storage_type(d),
        };
        format!("<{} x {element}>", self.lanes)
    }

    fn reg(&self, text: String, dtype: DType, stored: bool) -> Reg {
        Reg { text, dtype, stored: stored && dtype.is_float() && dtype != DType::F32 }
    }

    /// `<ty> text` of a register.
    fn typed(&self, r: &Reg) -> String {
        format!("{} {}", self.vector_type(r.dtype, r.stored), r.text)
    }
}

/// The value of an i64 literal.
fn is_literal(text: &str) -> Option<i64> {
    text.parse().ok()
}
