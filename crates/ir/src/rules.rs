//! Type rules: what each op accepts and what it makes. The builder, the parser and the verifier ask the same function.

use tilewright_dtype::DType;

use crate::ops::{BinaryOp, CmpOp, Form, ReduceOp, UnaryOp};
use crate::program::{Const, OpKind, Operand, OperandId, Role};
use crate::types::{Shape, TileType};

/// A broken type rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    /// Diagnostic code.
    pub code: &'static str,
    /// What is wrong, naming the types.
    pub message: String,
    /// The rule.
    pub rule: &'static str,
}

type Ruled<T> = Result<T, TypeError>;

fn fail<T>(code: &'static str, rule: &'static str, message: String) -> Ruled<T> {
    Err(TypeError { code, message, rule })
}

/// Whether elementwise arithmetic is defined on `dtype`; the narrower types only move, convert and feed `dot`.
pub fn is_arithmetic(dtype: DType) -> bool {
    matches!(dtype, DType::F64 | DType::F32 | DType::BF16 | DType::F16 | DType::I32)
}

/// The dtypes that `dot` takes: (x, y, accumulator).
pub fn dot_accepts(x: DType, y: DType, acc: DType) -> bool {
    use DType::*;
    match acc {
        F64 => x == F64 && y == F64,
        F32 => {
            matches!((x, y), (F32, F32) | (BF16, BF16) | (F16, F16))
                || (matches!(x, F8E4M3 | F8E5M2) && matches!(y, F8E4M3 | F8E5M2))
        }
        I32 => matches!(x, I8 | U8 | I4) && matches!(y, I8 | I4),
        _ => false,
    }
}

/// The type of an op's one result (`None` for `store`, `fold` and `if`, whose results the verifier checks), from its
/// operands' types. `declared` is the type that ops such as `splat`, `load` or `cast` state themselves; where the
/// result follows from the operands a declared type must agree with it.
pub fn result_type(
    kind: &OpKind,
    operands: &[TileType],
    declared: Option<TileType>,
    arrays: &[Operand],
) -> Ruled<Option<TileType>> {
    let inferred = match kind {
        OpKind::Splat(value) => Some(splat(*value, declared)?),
        OpKind::Iota { dim } => Some(iota(*dim, declared)?),
        OpKind::Load { array } => Some(load(operand(arrays, *array)?, operands, declared)?),
        OpKind::Store { array } => {
            store(operand(arrays, *array)?, operands)?;
            None
        }
        OpKind::Lookup { table } => Some(lookup(operand(arrays, *table)?, operands)?),
        OpKind::Cast => Some(cast(unary(operands)?, declared)?),
        OpKind::Unary(op) => Some(elementwise_unary(*op, unary(operands)?)?),
        OpKind::Binary(op) => Some(elementwise_binary(*op, binary(operands)?)?),
        OpKind::Compare(op) => Some(compare(*op, binary(operands)?)?),
        OpKind::Select => Some(select(operands)?),
        OpKind::Broadcast => Some(broadcast(unary(operands)?, declared)?),
        OpKind::Reshape => Some(reshape(unary(operands)?, declared)?),
        OpKind::Transpose { perm } => Some(transpose(unary(operands)?, perm)?),
        OpKind::Slice { start } => Some(slice(unary(operands)?, start, declared)?),
        OpKind::Concat { dim } => Some(concat(binary(operands)?, *dim)?),
        OpKind::Reduce { op, dim } => Some(reduce(unary(operands)?, *op, *dim)?),
        OpKind::Dot => Some(dot(operands)?),
        OpKind::Fold | OpKind::If => None,
    };
    if let (None, Some(stated)) = (inferred, declared) {
        return fail(
            "ir/type-mismatch",
            "an op without a result states no type",
            format!("`{}` makes nothing, stated as {stated}", kind.form().name()),
        );
    }
    if let (Some(made), Some(stated)) = (inferred, declared)
        && made != stated
    {
        return fail(
            "ir/type-mismatch",
            "a stated type is the type that follows from the operands",
            format!("`{}` makes {made}, stated as {stated}", kind.form().name()),
        );
    }
    if let Some(made) = inferred
        && storage_bytes(made).is_none()
    {
        return fail("ir/index-overflow", "offsets are 64-bit", format!("{made} has 2^63 bytes or more"));
    }
    Ok(inferred)
}

fn operand(all: &[Operand], id: OperandId) -> Ruled<&Operand> {
    match all.get(id.0 as usize) {
        Some(o) => Ok(o),
        None => fail("ir/unknown-operand", "an op names a declared operand", format!("operand {}", id.0)),
    }
}

fn arity<const N: usize>(operands: &[TileType]) -> Ruled<[TileType; N]> {
    match <[TileType; N]>::try_from(operands) {
        Ok(all) => Ok(all),
        Err(_) => fail(
            "ir/operand-count",
            "an op takes the number of operands that the table of ops states",
            format!("{} operands where {N} belong", operands.len()),
        ),
    }
}

fn unary(operands: &[TileType]) -> Ruled<TileType> {
    arity::<1>(operands).map(|[x]| x)
}

fn binary(operands: &[TileType]) -> Ruled<[TileType; 2]> {
    arity::<2>(operands)
}

fn stated(declared: Option<TileType>) -> Ruled<TileType> {
    match declared {
        Some(t) if t.shape.dims().contains(&0) => {
            fail("ir/shape-mismatch", "tile dimensions are at least 1", format!("{t} has a dimension of 0"))
        }
        Some(t) => Ok(t),
        None => fail("ir/type-missing", "this op states its result's type", "no type is stated".to_string()),
    }
}

fn splat(value: Const, declared: Option<TileType>) -> Ruled<TileType> {
    let t = stated(declared)?;
    constant(value, t.dtype)?;
    Ok(t)
}

/// Whether `value` is a constant of `dtype`.
pub fn constant(value: Const, dtype: DType) -> Ruled<()> {
    let fits = match value {
        Const::Float(_) => dtype.is_float(),
        Const::Int(v) => dtype.int_range().is_some_and(|(lo, hi)| (lo..=hi).contains(&v)),
    };
    if fits {
        return Ok(());
    }
    fail(
        "ir/constant",
        "a constant is a float for float dtypes, an integer in range for integer dtypes, true or false for bool",
        match value {
            Const::Float(v) => format!("{v:?} is no {dtype}"),
            Const::Int(v) => format!("{v} is no {dtype}"),
        },
    )
}

/// The bytes of a tile or an array of type `t` in memory; `None` where they need more than 63 bits.
pub fn storage_bytes(t: TileType) -> Option<usize> {
    let bytes = t.dtype.storage_bytes(t.shape.checked_elements()?)?;
    i64::try_from(bytes).ok().map(|_| bytes)
}

fn iota(dim: usize, declared: Option<TileType>) -> Ruled<TileType> {
    let t = stated(declared)?;
    check_dim(t, dim)?;
    if t.dtype != DType::I32 {
        return fail("ir/dtype-mismatch", "`iota` makes i32", format!("{t} is not of i32"));
    }
    Ok(t)
}

fn check_dim(t: TileType, dim: usize) -> Ruled<()> {
    if dim < t.shape.rank() {
        return Ok(());
    }
    fail("ir/dimension", "a dimension lies below the rank", format!("dimension {dim} of {t}"))
}

fn check_indices(array: &Operand, indices: &[TileType]) -> Ruled<()> {
    if indices.len() != array.shape.rank() {
        return fail(
            "ir/block-rank",
            "a block has one index per dimension of its array",
            format!("{} block indices for `{}` of rank {}", indices.len(), array.name, array.shape.rank()),
        );
    }
    match indices.iter().find(|&&t| t != TileType::INDEX) {
        None => Ok(()),
        Some(t) => fail(
            "ir/index-type",
            "block indices are i32 scalars",
            format!("{t} as a block index of `{}`", array.name),
        ),
    }
}

fn check_block(array: &Operand, t: TileType) -> Ruled<()> {
    if t.shape.rank() != array.shape.rank() {
        return fail(
            "ir/block-rank",
            "a block has the rank of its array; `reshape` drops dimensions of 1",
            format!("{t} as a block of `{}: {}{}`", array.name, array.dtype, array.shape),
        );
    }
    if t.dtype != array.dtype {
        return fail(
            "ir/dtype-mismatch",
            "a block has the dtype of its array; `cast` converts",
            format!("{t} as a block of `{}: {}{}`", array.name, array.dtype, array.shape),
        );
    }
    Ok(())
}

fn load(array: &Operand, indices: &[TileType], declared: Option<TileType>) -> Ruled<TileType> {
    let t = stated(declared)?;
    if !matches!(array.role, Role::Input { .. }) {
        return fail(
            "ir/operand-role",
            "`load` reads inputs, `lookup` reads tables, scalars are values",
            format!("`load` of `{}`, which is no input", array.name),
        );
    }
    check_indices(array, indices)?;
    check_block(array, t)?;
    Ok(t)
}

fn store(array: &Operand, operands: &[TileType]) -> Ruled<()> {
    if !array.is_output() {
        return fail(
            "ir/operand-role",
            "`store` writes outputs",
            format!("`store` to `{}`, which is no output", array.name),
        );
    }
    let Some((tile, indices)) = operands.split_last() else {
        return fail("ir/operand-count", "`store` takes block indices and a tile", "no operands".to_string());
    };
    check_indices(array, indices)?;
    check_block(array, *tile)
}

fn lookup(table: &Operand, operands: &[TileType]) -> Ruled<TileType> {
    if !matches!(table.role, Role::Table { .. }) {
        return fail(
            "ir/operand-role",
            "`lookup` reads tables",
            format!("`lookup` in `{}`, which is no table", table.name),
        );
    }
    check_indices(table, operands)?;
    Ok(TileType::INDEX)
}

fn cast(x: TileType, declared: Option<TileType>) -> Ruled<TileType> {
    let t = stated(declared)?;
    if t.shape != x.shape {
        return fail("ir/shape-mismatch", "`cast` keeps the shape", format!("`cast` of {x} to {t}"));
    }
    Ok(t)
}

fn elementwise_unary(op: UnaryOp, x: TileType) -> Ruled<TileType> {
    let ok = match op {
        UnaryOp::Not => matches!(x.dtype, DType::Bool | DType::I32),
        UnaryOp::Neg | UnaryOp::Abs => is_arithmetic(x.dtype),
        _ => is_arithmetic(x.dtype) && x.dtype.is_float(),
    };
    if ok {
        return Ok(x);
    }
    let rule = match op {
        UnaryOp::Not => "`not` takes bool or i32",
        UnaryOp::Neg | UnaryOp::Abs => "arithmetic takes f64, f32, bf16, f16 or i32; `cast` first",
        _ => "this function takes f64, f32, bf16 or f16; `cast` first",
    };
    fail("ir/dtype-mismatch", rule, format!("`{}` of {x}", Form::Unary(op).name()))
}

/// Where two shapes of one rank differ, as a clause.
fn difference(x: Shape, y: Shape) -> String {
    let mut dims = x.dims().iter().zip(y.dims()).enumerate();
    match dims.find(|(_, (a, b))| a != b) {
        Some((d, (a, b))) if x.rank() == y.rank() => format!(": dimension {d} is {a} and {b}"),
        _ => String::new(),
    }
}

fn same(name: &str, x: TileType, y: TileType) -> Ruled<()> {
    if x.dtype != y.dtype {
        return fail(
            "ir/dtype-mismatch",
            "elementwise operands have one dtype; `cast` converts",
            format!("`{name}` of {x} and {y}"),
        );
    }
    if x.shape != y.shape {
        return fail(
            "ir/shape-mismatch",
            "elementwise operands have one shape; `broadcast` repeats dimensions of 1",
            format!("`{name}` of {x} and {y}{}", difference(x.shape, y.shape)),
        );
    }
    Ok(())
}

fn elementwise_binary(op: BinaryOp, [x, y]: [TileType; 2]) -> Ruled<TileType> {
    let name = Form::Binary(op).name();
    same(name, x, y)?;
    let (ok, rule) = match op {
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
            (matches!(x.dtype, DType::Bool | DType::I32), "logic takes bool or i32")
        }
        BinaryOp::Rem => (x.dtype == DType::I32, "`rem` takes i32"),
        _ => (is_arithmetic(x.dtype), "arithmetic takes f64, f32, bf16, f16 or i32; `cast` first"),
    };
    if ok { Ok(x) } else { fail("ir/dtype-mismatch", rule, format!("`{name}` of {x}")) }
}

fn compare(op: CmpOp, [x, y]: [TileType; 2]) -> Ruled<TileType> {
    let name = Form::Compare(op).name();
    same(name, x, y)?;
    if is_arithmetic(x.dtype) {
        return Ok(x.with_dtype(DType::Bool));
    }
    fail(
        "ir/dtype-mismatch",
        "comparisons take f64, f32, bf16, f16 or i32; `cast` first",
        format!("`{name}` of {x}"),
    )
}

fn select(operands: &[TileType]) -> Ruled<TileType> {
    let [c, x, y] = arity::<3>(operands)?;
    same("select", x, y)?;
    if c == x.with_dtype(DType::Bool) {
        return Ok(x);
    }
    fail("ir/type-mismatch", "a condition is bool of the values' shape", format!("`select` of {x} by {c}"))
}

fn broadcast(x: TileType, declared: Option<TileType>) -> Ruled<TileType> {
    let t = stated(declared)?;
    let spreads = x.shape.rank() == 0
        || (x.shape.rank() == t.shape.rank()
            && x.shape.dims().iter().zip(t.shape.dims()).all(|(&a, &b)| a == b || a == 1));
    if spreads && x.dtype == t.dtype {
        return Ok(t);
    }
    fail(
        "ir/shape-mismatch",
        "`broadcast` keeps the dtype and repeats a scalar, or dimensions of 1 at the same rank",
        format!("`broadcast` of {x} to {t}"),
    )
}

fn reshape(x: TileType, declared: Option<TileType>) -> Ruled<TileType> {
    let t = stated(declared)?;
    if x.dtype == t.dtype && x.shape.checked_elements() == t.shape.checked_elements() {
        return Ok(t);
    }
    fail("ir/shape-mismatch", "`reshape` keeps dtype and element count", format!("`reshape` of {x} to {t}"))
}

fn transpose(x: TileType, perm: &[usize; 4]) -> Ruled<TileType> {
    let rank = x.shape.rank();
    let mut seen = [false; 4];
    let mut shape = x.shape;
    for (d, &p) in perm[..rank].iter().enumerate() {
        if p >= rank || std::mem::replace(&mut seen[p], true) {
            return fail(
                "ir/permutation",
                "a transpose names every dimension once",
                format!("permutation {:?} of {x}", &perm[..rank]),
            );
        }
        shape = shape.with_dim(d, x.shape.dims()[p]);
    }
    Ok(TileType::new(x.dtype, shape))
}

fn slice(x: TileType, start: &[usize; 4], declared: Option<TileType>) -> Ruled<TileType> {
    let t = stated(declared)?;
    let fits = t.shape.rank() == x.shape.rank()
        && t.dtype == x.dtype
        && (0..x.shape.rank())
            .all(|d| start[d].checked_add(t.shape.dims()[d]).is_some_and(|end| end <= x.shape.dims()[d]));
    if fits {
        return Ok(t);
    }
    fail(
        "ir/shape-mismatch",
        "a slice lies within its tile and keeps rank and dtype",
        format!("`slice` of {x} at {:?} to {t}", &start[..x.shape.rank()]),
    )
}

fn concat([x, y]: [TileType; 2], dim: usize) -> Ruled<TileType> {
    check_dim(x, dim)?;
    let (a, b) = (x.shape.dims(), y.shape.dims());
    if x.dtype == y.dtype && a.len() == b.len() && (0..a.len()).all(|d| d == dim || a[d] == b[d]) {
        return Ok(TileType::new(x.dtype, x.shape.with_dim(dim, a[dim].saturating_add(b[dim]))));
    }
    fail(
        "ir/shape-mismatch",
        "concatenated tiles agree in dtype and in every other dimension",
        format!("`concat` of {x} and {y} along {dim}"),
    )
}

fn reduce(x: TileType, op: ReduceOp, dim: usize) -> Ruled<TileType> {
    check_dim(x, dim)?;
    if !is_arithmetic(x.dtype) {
        return fail(
            "ir/dtype-mismatch",
            "reductions take f64, f32, bf16, f16 or i32; `cast` first",
            format!("`{}` of {x}", Form::Reduce(op).name()),
        );
    }
    Ok(TileType::new(x.dtype, x.shape.with_dim(dim, 1)))
}

fn dot(operands: &[TileType]) -> Ruled<TileType> {
    let [x, y, c] = arity::<3>(operands)?;
    let rank = x.shape.rank();
    if !(2..=4).contains(&rank) || y.shape.rank() != rank || c.shape.rank() != rank {
        return fail(
            "ir/shape-mismatch",
            "`dot` takes x [.., m, k], y [.., k, n] and c [.., m, n] of one rank from 2 to 4",
            format!("`dot` of {x}, {y}, {c}"),
        );
    }
    let (a, b, r): (&[usize], &[usize], &[usize]) = (x.shape.dims(), y.shape.dims(), c.shape.dims());
    let batch = rank - 2;
    let agrees = a[..batch] == b[..batch]
        && a[..batch] == r[..batch]
        && a[batch + 1] == b[batch]
        && r[batch] == a[batch]
        && r[batch + 1] == b[batch + 1];
    if !agrees {
        return fail(
            "ir/shape-mismatch",
            "`dot` takes x [.., m, k], y [.., k, n] and c [.., m, n]",
            format!("`dot` of {x}, {y}, {c}"),
        );
    }
    if !dot_accepts(x.dtype, y.dtype, c.dtype) {
        return fail(
            "ir/dtype-mismatch",
            "`dot` takes f32.f32, bf16.bf16, f16.f16 or f8.f8 into f32; i8|u8|i4 . i8|i4 into i32; f64.f64 into f64",
            format!("`dot` of {x}, {y}, {c}"),
        );
    }
    Ok(c)
}

/// The identity of a reduction in `dtype`, with which padding may be filled.
pub fn reduce_identity(op: ReduceOp, dtype: DType) -> Const {
    match (op, dtype.int_range()) {
        (ReduceOp::Add, None) => Const::Float(0.0),
        (ReduceOp::Max, None) => Const::Float(f64::NEG_INFINITY),
        (ReduceOp::Min, None) => Const::Float(f64::INFINITY),
        (ReduceOp::Add, Some(_)) => Const::Int(0),
        (ReduceOp::Max, Some((lo, _))) => Const::Int(lo),
        (ReduceOp::Min, Some((_, hi))) => Const::Int(hi),
    }
}

/// A shape from `dims`, or the rule that it breaks.
pub fn shape_of(dims: &[usize]) -> Ruled<Shape> {
    match Shape::new(dims) {
        Some(s) => Ok(s),
        None => fail("ir/rank", "tiles and arrays have rank 0 to 4", format!("rank {}", dims.len())),
    }
}
